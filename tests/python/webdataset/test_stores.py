"""Shards in buckets, on AIStore and on the Hub: written and read by the same names as files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import headrace.webdataset as ours
import pytest
from servers.ais_fake import AisFake
from servers.buckets import azurite, fake_gcs, moto_s3, rclone_s3
from servers.hub_fake import HubFake
from small_archives import archive

SERVERS = {"rclone": rclone_s3, "moto": moto_s3, "fake-gcs": fake_gcs, "azurite": azurite}

# Shards of 10 MB, so that they come and go in parts.
SCRIPT = """
    import json, random, sys
    import headrace.webdataset as wds

    root = sys.argv[1]
    draw = random.Random(5)
    written = [
        {"__key__": f"s{i:03d}", "bin": draw.randbytes(2_000_000), "cls": str(i)} for i in range(10)
    ]
    finished = []
    with wds.ShardWriter(root + "/x-%02d.tar", maxcount=5, post=finished.append, verbose=0) as sink:
        for sample in written:
            sink.write(dict(sample))
    read = list(wds.WebDataset(root + "/x-{00..01}.tar", shardshuffle=False))
    same = [s["bin"] for s in read] == [s["bin"] for s in written]

    class Stop(Exception):
        pass

    try:
        with wds.gopen(root + "/half.bin", "wb") as sink:
            sink.write(bytes(12_000_000))
            raise Stop
    except Stop:
        pass
    missing = 0
    for name in ("half.bin", "nowhere.tar"):
        try:
            wds.gopen(f"{root}/{name}")
        except FileNotFoundError:
            missing += 1
    with wds.gopen(root + "/small.bin", "wb") as sink:
        sink.write(b"small")
    with wds.gopen(root + "/small.bin") as stream:
        small = stream.read().decode()
    keys = [s["__key__"] for s in read]
    print(json.dumps({"same": same, "keys": keys, "finished": finished, "missing": missing,
                      "small": small, "urls": sorted({s["__url__"] for s in read})}))
"""


def check(location: str, **env: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(SCRIPT), location],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    shards = [f"{location}/x-{i:02d}.tar" for i in range(2)]
    assert json.loads(done.stdout) == {
        "same": True,
        "keys": [f"s{i:03d}" for i in range(10)],
        "finished": shards,
        "missing": 2,
        "small": "small",
        "urls": shards,
    }


@pytest.mark.parametrize("name", SERVERS)
def test_buckets(name, tmp_path):
    with SERVERS[name](tmp_path / "scratch" if name != "rclone" else tmp_path) as server:
        check(server.location + "/some/place", **server.env)


def test_aistore():
    with AisFake() as fake:
        fake.buckets.add("b")
        check("ais://b/place", AIS_ENDPOINT=fake.endpoint)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith("HF_"):
            monkeypatch.delenv(name)
    with HubFake() as fake:
        monkeypatch.setenv("HF_ENDPOINT", fake.endpoint)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("HF_TOKEN", "hf_writer")
        yield fake
        assert fake.leaks == []


def test_the_hub(hub):
    hub.add("datasets", "org/name", {"README.md": b"#"})
    check("hf://datasets/org/name/place")


@pytest.mark.parametrize("place", ["train", "resolve/main/train", "raw/main/train", "@main/train"])
def test_the_hub_s_addresses_as_the_original_has_them(hub, place):
    shards = {
        f"train/{i:05d}.tar": archive([(f"{i}.txt", b"%d" % i), (f"{i}.cls", b"1")])
        for i in range(3)
    }
    hub.add("datasets", "org/shards", dict(shards))
    root = "hf://datasets/org/shards" + ("" if place.startswith("@") else "/") + place
    found = ours.WebDataset(root + "/{00000..00002}.tar", shardshuffle=False)
    assert [(s["__key__"], s["txt"]) for s in found] == [(str(i), b"%d" % i) for i in range(3)]


def test_what_is_not_closed_is_not_written_and_says_so(tmp_path):
    with AisFake() as fake:
        fake.buckets.add("b")
        code = """
            import headrace.webdataset as wds
            sink = wds.gopen("ais://b/x.bin", "wb")
            sink.write(b"1")
            del sink
        """
        done = subprocess.run(
            [sys.executable, "-W", "always", "-c", textwrap.dedent(code)],
            env={**os.environ, "AIS_ENDPOINT": fake.endpoint},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 0 and "ais://b/x.bin was not closed" in done.stderr
