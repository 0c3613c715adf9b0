"""ais:// against the strict fake of a cluster and, where AISTORE_ENDPOINT names one, a real one."""

from __future__ import annotations

import io
import json
import os
import random
import tarfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator

import headrace as hr
import pytest
from aistore.sdk import Client
from exactly_once import read_on_two_worlds
from program import ok, run
from servers.ais_fake import AisFake
from servers.ais_target import failure
from servers.web import Reply


class Bucket:
    """A bucket that is there for one test."""

    def __init__(self, endpoint: str, name: str, fake: AisFake | None):
        self.endpoint, self.name, self.fake = endpoint, name, fake
        self.url = f"ais://{name}"

    def put(self, name: str, data: bytes) -> None:
        path = urllib.parse.quote(name)
        where = f"{self.endpoint}/v1/objects/{self.name}/{path}"
        first = urllib.request.Request(where, method="PUT")
        try:
            urllib.request.build_opener(_NoRedirect).open(first)
        except urllib.error.HTTPError as answer:
            where = answer.headers["Location"]
        urllib.request.urlopen(urllib.request.Request(where, data, method="PUT")).read()

    def action(self, method: str, action: str) -> None:
        body = json.dumps({"action": action}).encode()
        headers = {"Content-Type": "application/json"}
        where = f"{self.endpoint}/v1/buckets/{self.name}"
        urllib.request.urlopen(urllib.request.Request(where, body, headers, method=method)).read()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


CLUSTERS = ["fake", *(["real"] if "AISTORE_ENDPOINT" in os.environ else [])]


@pytest.fixture(params=CLUSTERS)
def bucket(request, monkeypatch) -> Iterator[Bucket]:
    name = f"t{uuid.uuid4().hex[:8]}"
    if request.param == "real":
        real = Bucket(os.environ["AISTORE_ENDPOINT"], name, None)
        monkeypatch.setenv("AIS_ENDPOINT", real.endpoint)
        real.action("POST", "create-bck")
        yield real
        real.action("DELETE", "destroy-bck")
        return
    with AisFake() as ais:
        ais.buckets.add(name)
        monkeypatch.setenv("AIS_ENDPOINT", ais.endpoint)
        yield Bucket(ais.endpoint, name, ais)


@pytest.fixture
def ais(monkeypatch) -> Iterator[AisFake]:
    with AisFake() as fake:
        fake.buckets.add("b")
        monkeypatch.setenv("AIS_ENDPOINT", fake.endpoint)
        yield fake


def contents(location: object) -> dict[str, dict[str, bytes]]:
    return {
        sample.key: {name: bytes(sample[name]) for name in sample.fields}
        for sample in hr.open(location).samples()
    }


def test_a_data_set_is_packed_there_verified_and_read_back(bucket, files):
    folder, samples = files
    done = run("pack", folder, "--out", f"{bucket.url}/sets/one", "--samples", "10", "--quiet")
    assert done.returncode == 0, done.stderr.decode()
    assert contents(f"{bucket.url}/sets/one") == samples
    ok("verify", f"{bucket.url}/sets/one", "--quiet")
    again = run("pack", folder, "--out", f"{bucket.url}/sets/one", "--samples", "10", "--quiet")
    assert again.returncode == 0, again.stderr.decode()
    other = run("pack", folder, "--out", f"{bucket.url}/sets/one", "--samples", "7", "--quiet")
    assert other.returncode == 2 and b"already holds another data set" in other.stderr


def test_objects_of_a_prefix_are_pinned_by_their_checksums(bucket, tmp_path):
    for i in range(30):
        bucket.put(f"in/{i:03}.bin", b"%03d" % i)
    command = ["pack", f"{bucket.url}/in", "--out", tmp_path / "out", "--samples", "10"]
    assert run(*command, env={"HEADRACE_CRASH_AT": "shard_committed:2"}).returncode < 0
    bucket.put("in/029.bin", b"new")  # as large as it was
    assert run(*command).returncode == 2, "another plan than the one under way"
    ok(*command, "--replace")
    assert ok("cat", tmp_path / "out", "029", "bin") == b"new"


def test_the_weaker_promise_is_said_and_kept_by_unique_names(bucket, files):
    folder, _ = files
    done = run("pack", folder, "--out", f"{bucket.url}/one", "--samples", "10")
    assert done.returncode == 0
    assert b"cannot keep two jobs apart" in done.stderr
    listed = json.loads(ok("info", f"{bucket.url}/one", "--json"))
    assert listed
    if bucket.fake:
        shards = [n for n in bucket.fake.names(bucket.name) if n.endswith(".tar")]
        assert shards and all(name.startswith("one/v-") for name in shards)


def test_a_large_shard_goes_up_in_parts(bucket, tmp_path):
    (tmp_path / "in").mkdir()
    rng = random.Random(1)
    data = {f"k{i}": rng.randbytes(9_000_000) for i in range(5)}
    for key, value in data.items():
        (tmp_path / "in" / f"{key}.bin").write_bytes(value)
    ok("pack", tmp_path / "in", "--out", f"{bucket.url}/big", "--quiet")
    assert {key: fields["bin"] for key, fields in contents(f"{bucket.url}/big").items()} == data


def test_loose_objects_of_any_name_are_a_data_set(bucket):
    names = ["plain", "with space", "per%20cent", "a+b", "ques?tion", "hash#tag", "ümläut", "d/e"]
    for name in names:
        bucket.put(f"loose/{name}.txt", name.encode())
    got = contents(f"{bucket.url}/loose")
    assert {key: fields["txt"].decode() for key, fields in got.items()} == {n: n for n in names}


def test_every_loose_object_comes_once_an_epoch_whatever_the_world(bucket, tmp_path):
    for i in range(150):
        bucket.put(f"many/{i:04}.bin", bytes([i]) * (i * 7 % 3000))
    read_on_two_worlds(f"{bucket.url}/many", tmp_path)


def test_shards_without_a_manifest_are_read_by_ranges(bucket, make_tar, tmp_path):
    rows = [(f"k{i}", {"txt": b"%d" % i}) for i in range(50)]
    make_tar(tmp_path / "a.tar", rows)
    bucket.put("shards/a.tar", (tmp_path / "a.tar").read_bytes())
    want = {key: fields for key, fields in rows}
    assert contents(f"{bucket.url}/shards") == want
    assert contents(f"{bucket.url}/shards/a.tar") == want
    host = bucket.endpoint.removeprefix("http://")
    assert contents(f"ais://{host}/{bucket.name}/shards") == want


def test_an_archive_in_an_archive_is_read_in_place(bucket, make_tar, tmp_path):
    make_tar(tmp_path / "inner.tar", [("k1", {"txt": b"deep"})])
    make_tar(tmp_path / "outer.tar", [("inner", {"tar": (tmp_path / "inner.tar").read_bytes()})])
    bucket.put("outer.tar", (tmp_path / "outer.tar").read_bytes())
    assert contents(f"{bucket.url}/outer.tar/inner.tar") == {"k1": {"txt": b"deep"}}


def test_a_missing_bucket_and_a_missing_endpoint_are_named(bucket, monkeypatch):
    with pytest.raises(hr.Error, match="does not exist") as caught:
        hr.open(f"ais://not-{bucket.name}/x")
    assert caught.value.code == "not_found" and "bucket" in caught.value.hint
    monkeypatch.delenv("AIS_ENDPOINT")
    with pytest.raises(hr.UsageError, match="not known where"):
        hr.open(bucket.url)


def loose(ais: AisFake, count: int) -> None:
    for i in range(count):
        ais.put("b", f"o/{i:04}.bin", bytes([i % 251]) * 100)


def test_loose_objects_cost_one_request_each(ais):
    loose(ais, 200)
    ds = hr.open("ais://b/o")
    ais.log.clear()
    assert sum(1 for _ in ds.samples()) == 200
    gets = [entry for entry in ais.log if "/v1/objects/" in entry[2]]
    assert len(gets) == 200 and all(node != "p0fake" for node, _, _ in gets)


def test_an_object_that_a_rebalance_moved_is_found_through_the_gateway(ais):
    loose(ais, 40)
    ds = hr.open("ais://b/o")
    for target, other in [(ais.targets[0], ais.targets[1]), (ais.targets[1], ais.targets[0])]:
        for key in [key for key in target.objects if key[1].endswith("0.bin")]:
            other.objects[key] = target.objects.pop(key)
    ais.owner = lambda b, n: next(t for t in ais.targets if (b, n) in t.objects)
    assert sum(1 for _ in ds.samples()) == 40


def test_an_object_that_changes_between_two_ranges_is_an_error(ais, make_tar, tmp_path):
    rows = [(f"k{i}", {"bin": bytes(20_000)}) for i in range(200)]
    make_tar(tmp_path / "a.tar", rows)
    data = (tmp_path / "a.tar").read_bytes()
    ais.put("b", "a.tar", data)
    ds = hr.open("ais://b/a.tar")
    assert len(ds[0]["bin"]) == 20_000
    ais.put("b", "a.tar", data[:-1] + b"x")
    with pytest.raises(hr.Error, match="changed") as caught:
        ds[199]
    assert caught.value.code == "changed"


def test_answers_that_break_are_asked_for_again(ais, make_tar, tmp_path):
    rows = [(f"k{i:03}", {"bin": bytes([i]) * 3000}) for i in range(60)]
    make_tar(tmp_path / "a.tar", rows)
    ais.put("b", "a.tar", (tmp_path / "a.tar").read_bytes())
    ds = hr.open("ais://b/a.tar")
    rng, count = random.Random(4), [0]

    def fault(target, request, bucket, name):
        count[0] += 1
        if count[0] % 3 or request.method != "GET":
            return None
        ais.on_object = None
        reply = target._object(request, bucket, name)
        ais.on_object = fault
        if rng.random() < 0.5:
            return Reply(drop=True)
        reply.cut_after = rng.randrange(max(1, reply.size))
        return reply

    ais.on_object = fault
    assert {s.key: bytes(s["bin"]) for s in ds.samples()} == {k: f["bin"] for k, f in rows}


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_target_that_goes_away_and_comes_back_loses_nothing(ais, how):
    loose(ais, 300)
    ds = hr.open("ais://b/o")
    loader = ds.shuffle(seed=1, lanes=5).batch(10).loader()
    keys = []
    for batch in loader:
        keys += batch.keys
        if batch.step == 3:
            ais.stop_target(1) if how == "stop" else ais.kill_target(1)
            threading.Timer(1.0, ais.start_target, [1]).start()
    assert sorted(keys) == [f"{i:04}" for i in range(300)]


def test_an_object_that_was_removed_is_an_error_in_bounded_time(ais):
    loose(ais, 3)
    ds = hr.open("ais://b/o")
    for target in ais.targets:
        target.objects.pop(("b", "o/0001.bin"), None)
    begin = time.monotonic()
    with pytest.raises(hr.Error, match="does not exist"):
        ds[1]
    assert time.monotonic() - begin < 20


def test_a_listing_waits_for_a_target_that_restarts(ais):
    loose(ais, 20)
    ais.kill_target(0)
    threading.Timer(0.5, ais.start_target, [0]).start()
    assert len(hr.open("ais://b/o")) == 20


def test_the_token_goes_to_the_cluster_and_nowhere_else(monkeypatch, tmp_path):
    with AisFake(token="secret-token") as ais, AisFake() as stranger:
        ais.put("b", "o/1.txt", b"one")
        monkeypatch.setenv("AIS_ENDPOINT", ais.endpoint)
        with pytest.raises(hr.Error, match="token required"):
            hr.open("ais://b/o")
        path = tmp_path / "token"
        path.write_text("secret-token\n")
        monkeypatch.setenv("AIS_AUTHN_TOKEN_FILE", str(path))
        assert contents("ais://b/o") == {"1": {"txt": b"one"}}

        seen = []
        ais.put("b", "never read/1.txt", b"one")  # so that no place of it is remembered
        stranger.put("b", "never read/1.txt", b"one")
        stranger.on_object = lambda t, request, *_: seen.append(request.headers)
        ds = hr.open("ais://b/never read")
        ais.owner = lambda *_: stranger.owner("b", "never read/1.txt")
        ds[0]
        assert seen and all("authorization" not in headers for headers in seen)


def test_what_the_cluster_says_is_in_the_message(ais):
    loose(ais, 1)
    ds = hr.open("ais://b/o")
    ais.on_object = lambda t, request, *_: failure(400, "", "out of luck today", request)
    with pytest.raises(hr.Error, match="out of luck today"):
        ds[0]


def test_aistore_s_own_client_reads_what_was_packed_there(bucket, files):
    folder, samples = files
    ok("pack", folder, "--out", f"{bucket.url}/sets/one", "--samples", "10", "--quiet")
    theirs = Client(bucket.endpoint).bucket(bucket.name)
    shards = [entry.name for entry in theirs.list_all_objects() if entry.name.endswith(".tar")]
    members = set()
    for name in shards:
        content = theirs.object(name).get_reader().read_all()
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            members.update(archive.getnames())
    assert members == {f"{key}.{name}" for key, fields in samples.items() for name in fields}
