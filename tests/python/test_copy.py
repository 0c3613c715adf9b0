"""headrace cp: mirrors that are whole, checked and resumable."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from pathlib import Path

import headrace as hr
import pytest
from conftest import write_tar
from program import HEADRACE, ok, run
from servers.nginx import nginx


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_copy_is_the_same_and_a_second_one_has_nothing_to_do(packed, tmp_path):
    out = tmp_path / "copy"
    planned = json.loads(ok("cp", packed, out, "--dry-run", "--json"))
    assert not out.exists()
    report = json.loads(ok("cp", packed, out, "--json"))
    assert tree(out) == tree(packed)
    assert report["copied_objects"] == report["objects"] == len(tree(packed))
    assert planned["objects"] == report["objects"]
    again = json.loads(ok("cp", packed, out, "--json"))
    assert again["copied_objects"] == 0
    ok("verify", out)


def test_from_a_web_server(packed, tmp_path):
    with nginx(packed, tmp_path / "nginx") as server:
        ok("cp", server.url, tmp_path / "copy")
        assert tree(tmp_path / "copy") == tree(packed)
        asked = [request.path for request in server.requests() if request.method == "GET"]
    assert all(asked.count(path) == 1 for path in asked if path.endswith(".tar"))


def test_shards_elsewhere_come_beside_the_manifest(packed, tmp_path):
    elsewhere = tmp_path / "index"
    ok("index", packed, "--out", elsewhere, "--quiet")
    ok("cp", elsewhere, tmp_path / "copy")
    assert sorted(path.name for path in (tmp_path / "copy").glob("*.tar")) == sorted(
        path.name for path in packed.glob("*.tar")
    )
    assert hr.open(tmp_path / "copy").fingerprint == hr.open(packed).fingerprint
    ok("verify", tmp_path / "copy")


def test_a_damaged_source_is_an_error_and_leaves_nothing_of_the_object(packed, tmp_path):
    shard = sorted(packed.glob("*.tar"))[2]
    data = bytearray(shard.read_bytes())
    data[700] ^= 1
    shard.write_bytes(data)
    done = run("cp", packed, tmp_path / "copy")
    assert done.returncode == 4 and shard.name in done.stderr.decode()
    assert not (tmp_path / "copy" / shard.name).exists()
    with pytest.raises(hr.Error):
        hr.open(tmp_path / "copy")


def test_other_data_at_the_destination_is_left_alone(packed, tmp_path, files):
    other = tmp_path / "other"
    ok("pack", files[0], "--out", other, "--samples", "7", "--quiet")
    before = tree(other)
    done = run("cp", packed, other)
    assert done.returncode == 2 and b"another data set" in done.stderr
    assert tree(other) == before
    strange = tmp_path / "strange"
    strange.mkdir()
    name = next(packed.glob("*.tar")).name
    (strange / name).write_bytes(b"mine")
    assert run("cp", packed, strange).returncode == 2
    assert (strange / name).read_bytes() == b"mine"


def test_trees_without_a_manifest(files, tmp_path):
    ok("cp", files[0], tmp_path / "copy")
    assert tree(tmp_path / "copy") == tree(files[0])
    (tmp_path / "copy/cat/000.cls").unlink()
    report = json.loads(ok("cp", files[0], tmp_path / "copy", "--json"))
    assert report["copied_objects"] == 1
    assert run("cp", tmp_path / "nothing", tmp_path / "x").returncode == 3


def big_set(folder: Path) -> Path:
    rng = random.Random(1)
    for shard in range(8):
        write_tar(
            folder / f"part-{shard}.tar",
            [(f"{shard}-{i}", {"bin": rng.randbytes(300_000)}) for i in range(10)],
        )
    ok("index", folder, "--out", folder, "--quiet")
    return folder


def test_killed_at_any_time_it_goes_on(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    big_set(folder)
    rng = random.Random(2)
    out = tmp_path / "copy"
    with nginx(folder, tmp_path / "nginx", "limit_rate 4m;") as server:
        for _ in range(8):
            job = subprocess.Popen([HEADRACE, "cp", server.url, out, "--quiet"])
            time.sleep(rng.uniform(0.02, 0.5))
            job.send_signal(signal.SIGKILL)
            job.wait()
            if not (out / "headrace.json").exists() and out.exists() and any(out.iterdir()):
                with pytest.raises(hr.Error):
                    hr.open(out)
        ok("cp", server.url, out)
    assert tree(out) == tree(folder)
    ok("verify", out, "--strict")


def test_ctrl_c_is_130_and_resumable(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    big_set(folder)
    with nginx(folder, tmp_path / "nginx", "limit_rate 1m;") as server:
        job = subprocess.Popen([HEADRACE, "cp", server.url, tmp_path / "copy"], stderr=-1)
        time.sleep(0.7)
        job.send_signal(signal.SIGINT)
        _, errors = job.communicate(timeout=30)
        assert job.returncode == 130 and b"same command" in errors
    ok("cp", folder, tmp_path / "copy")
    assert tree(tmp_path / "copy") == tree(folder)
