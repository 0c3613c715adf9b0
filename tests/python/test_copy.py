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


def test_shards_get_other_names_and_nothing_else_changes(packed, tmp_path):
    out = tmp_path / "copy"
    rule = r"s/^shard-0*(\d+)\.(.*)/val\/part_\1.\2/"
    ok("cp", packed, out, "--transform", rule)
    names = sorted(path.name for path in (out / "val").glob("*.tar"))
    assert names == [f"part_{i}.tar" for i in range(6)]
    ok("verify", out)
    before, after = hr.open(packed), hr.open(out)
    assert [s.key for s in before.samples()] == [s.key for s in after.samples()]
    again = json.loads(ok("cp", packed, out, "--transform", rule, "--json"))
    assert again["copied_objects"] == 0
    assert run("cp", packed, out).returncode == 2, "the same data set under other names"
    merged = tmp_path / "merged"
    ok("merge", out, "--out", merged)
    ok("verify", merged)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("s/b/x/", "a_x/b.txt"),
        ("s/b/x/g", "a_x/x.txt"),
        ("s,/,_,", "a_b_b.txt"),
        (r"s/(\w+)_(\w+)/\2_\1/", "b_a/b.txt"),
        ("s/B/x/i", "a_x/b.txt"),
        (r"s/b.txt/[&]$1\&/", "a_b/[b.txt]$1&"),
        ("s/^/deep/down//", "refused"),
        (r"s/^/deep\/down\//", "deep/down/a_b/b.txt"),
        ("s/zzz/y/", "a_b/b.txt"),
    ],
)
def test_rules_are_those_of_sed(rule, expected, tmp_path):
    source = tmp_path / "in"
    (source / "a_b").mkdir(parents=True)
    (source / "a_b/b.txt").write_text("text")
    done = run("cp", source, tmp_path / "out", "--transform", rule)
    if expected == "refused":
        assert done.returncode == 2
        return
    assert done.returncode == 0, done.stderr
    assert list(tree(tmp_path / "out")) == [expected]
    sed = subprocess.run(
        ["sed", "-E", rule.replace(r"\w", "[a-z]")],
        input=b"a_b/b.txt",
        capture_output=True,
        check=True,
    )
    assert sed.stdout.decode().strip() == expected


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("s/.*/same.tar/", "several objects would have the name"),
        ("s/tar$/zip/", "no name of a shard"),
        ("s/^/..\\//", "no name of an object"),
        ("s/^/_headrace\\//", "folder of the tables"),
        ("s/(/x/", "no rule for names"),
        ("s/a/b", "three parts"),
        ("y/a/b/", "it is not s/"),
        ("s/shard/\\4/", "replacement"),
    ],
)
def test_rules_that_make_no_sense_write_nothing(rule, said, packed, tmp_path):
    done = run("cp", packed, tmp_path / "copy", "--transform", rule)
    assert done.returncode == 2 and said in done.stderr.decode(), done.stderr
    assert not (tmp_path / "copy").exists()
