"""Data sets in buckets, on real servers: packed, read, checked and streamed as on a disk."""

from __future__ import annotations

import json
import subprocess

import pytest
from program import ROOT, ok, run
from servers.buckets import AZURITE_KEY, KEY, SECRET, azurite, fake_gcs, moto_s3, rclone_s3

SERVERS = {"rclone": rclone_s3, "moto": moto_s3, "fake-gcs": fake_gcs, "azurite": azurite}


@pytest.fixture(scope="module", params=SERVERS)
def server(request, tmp_path_factory):
    with SERVERS[request.param](tmp_path_factory.mktemp(request.param)) as started:
        yield started


@pytest.fixture(scope="module")
def bucket_set(server, files):
    """A packed data set in the bucket."""
    location = server.location + "/sets/animals"
    ok("pack", files[0], "--out", location, "--samples", "10", "--quiet", env=server.env)
    return location


def test_stores_behave_as_every_store_does(server, tmp_path):
    program = ROOT / "build/release/tests/cpp/test_io"
    if not program.is_file():
        pytest.skip("the C++ tests are not built")
    done = subprocess.run(
        [program, "--gtest_filter=*AnyStore*/2:LiveBucket.*:LiveUpload.*"],
        env={**server.env, "HEADRACE_TEST_STORE": server.location + "/" + tmp_path.name},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-8000:]
    assert "LiveBucket.AwkwardKeys" in done.stdout


def test_the_program_reads_what_it_packed(server, bucket_set, files):
    listed = ok("ls", bucket_set, env=server.env).decode().splitlines()
    assert sorted(line.split("\t")[0] for line in listed) == sorted(files[1])
    assert ok("cat", bucket_set, "cat/003", "bin", env=server.env) == files[1]["cat/003"]["bin"]
    assert json.loads(ok("info", bucket_set, "--json", env=server.env))["samples"] == 60
    assert b"all is well" in run("verify", bucket_set, env=server.env).stderr


def test_the_same_pack_again_has_nothing_to_do_and_another_is_refused(server, bucket_set, files):
    again = run("pack", files[0], "--out", bucket_set, "--samples", "10", env=server.env)
    assert again.returncode == 0 and b"nothing to do" in again.stderr
    other = run("pack", files[0], "--out", bucket_set, "--samples", "20", env=server.env)
    assert other.returncode == 2 and b"already holds another data set" in other.stderr


def test_gc_removes_what_is_old_enough(server, files, tmp_path):
    location = server.location + f"/gc/{tmp_path.name}"

    def gc(*options):
        return json.loads(ok("gc", location, *options, "--json", env=server.env))

    ok("pack", files[0], "--out", location, "--samples", "10", "--quiet", env=server.env)
    again = ["--samples", "20", "--replace", "--quiet"]
    ok("pack", files[0], "--out", location, *again, env=server.env)
    young = gc("--keep", "1")
    assert young["removed"] == [] and young["young_objects"] >= 6 and young["forgotten"] == []
    old = gc("--keep", "1", "--grace", "0s")
    assert len(old["removed"]) == young["young_objects"] and old["forgotten"] == ["1"]
    assert b"all is well" in run("verify", location, env=server.env).stderr
    assert gc("--keep", "1", "--grace", "0s")["removed"] == []


EPOCH = """
    import json, sys
    import headrace as hr

    location, folder = sys.argv[1:3]
    ds = hr.open(location)
    pipeline = ds.shuffle(seed=5, lanes=2).decode(n=hr.integer("cls")).batch(total=12)
    keys = []
    for rank in range(2):
        loader = pipeline.loader(rank=rank, world=2, audit=folder)
        for batch in loader:
            keys += batch.keys
            if batch.step == 1:
                state = loader.state_dict()
                break
    resumed = pipeline.loader(rank=0, world=1, audit=folder)
    resumed.load_state_dict(state)
    for batch in resumed:
        keys += batch.keys
    report = hr.audit_report([folder], ds)
    print(json.dumps({"passed": report.passed, "keys": keys, **report.epochs[0]}, default=str))
    """


def test_an_epoch_comes_exactly_once_also_when_it_goes_on_in_another_world(
    server, bucket_set, files, run_python, tmp_path
):
    done = run_python(EPOCH, bucket_set, tmp_path / "audit", env=server.env)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["passed"]
    assert answer["delivered"] == 60 and answer["missing"] == answer["duplicates"] == 0
    assert sorted(answer["keys"]) == sorted(files[1])


def test_credentials_never_show_in_errors(server, bucket_set):
    missing = run("info", server.location + "-nobody-has/this", env=server.env)
    assert missing.returncode == 3, missing.stderr
    if not server.wrong:
        pytest.skip("this server does not check signatures")
    refused = run("cat", bucket_set, "cat/003", "bin", env={**server.env, **server.wrong})
    assert refused.returncode == 7, refused.stderr
    secrets = [SECRET, KEY, AZURITE_KEY, "Signature=", *server.wrong.values()]
    for done in (missing, refused):
        assert not [text for text in secrets if text.encode() in done.stderr]
