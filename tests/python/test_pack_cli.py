"""headrace pack and index, as people call them: killed at any moment, full disks, other readers."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from program import HEADRACE, ok, run, shards_of

CRASH_POINTS = [
    *("marked", "shard_written", "shard_written:3", "shard_committed", "shard_committed:2"),
    *("recorded", "recorded:4", "table", "table:2", "table:4", "tables", "synced", "rooted"),
    "records_removed",
]


def report(*args):
    return json.loads(ok(*args, "--json"))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def members(folder: Path, pattern: str = "*.tar") -> dict[str, bytes]:
    found = {}
    for shard in sorted(folder.glob(pattern)):
        with tarfile.open(shard) as archive:
            for member in archive:
                assert member.name not in found
                assert (member.mtime, member.uid, member.mode) == (0, 0, 0o444)
                found[member.name] = archive.extractfile(member).read()
    return found


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    rng = random.Random(3)
    for i in range(400):
        path = folder / f"c{i % 4}" / f"s{i:04}"
        path.parent.mkdir(exist_ok=True)
        path.with_suffix(".bin").write_bytes(rng.randbytes(rng.randint(0, 20000)))
        path.with_suffix(".cls").write_text(str(i % 4))
    return folder


@pytest.fixture(scope="module")
def expected(source, tmp_path_factory):
    out = tmp_path_factory.mktemp("expected") / "out"
    ok("pack", source, "--out", out, *OPTIONS)
    return contents(out)


OPTIONS = ["--samples", "40", "--shuffle", "5", "--no-fsync"]


def pack_until_done(source, out):
    return report("pack", source, "--out", out, *OPTIONS)


def test_other_readers_see_the_same_files(source, tmp_path):
    long_name = "n" * 150 + "/" + "m" * 160 + ".txt"
    tree = tmp_path / "tree"
    shutil.copytree(source, tree)
    (tree / long_name).parent.mkdir()
    (tree / long_name).write_bytes(b"long")
    (tree / "empty.bin").write_bytes(b"")
    with open(os.fsencode(tree) + b"/\xff\xfe.bin", "wb") as file:
        file.write(b"no utf-8")
    out = tmp_path / "out"
    ok("pack", tree, "--out", out, "--shard-size", "1MB")
    files = contents(tree)
    assert members(out) == files
    listed = b"".join(
        subprocess.check_output(["tar", "--quoting-style=literal", "-tf", shard])
        for shard in shards_of(out)
    )
    assert sorted(listed.splitlines()) == sorted(os.fsencode(name) for name in files)
    ok("verify", out)


def test_bytes_do_not_depend_on_threads(source, expected, tmp_path):
    for threads in (1, 5):
        ok("pack", source, "--out", tmp_path / str(threads), *OPTIONS, "-j", threads)
        assert contents(tmp_path / str(threads)) == expected


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_killed_at_a_named_point_it_is_old_or_new_and_goes_on(point, source, expected, tmp_path):
    out = tmp_path / "out"
    killed = run("pack", source, "--out", out, *OPTIONS, env={"HEADRACE_CRASH_AT": point})
    assert killed.returncode == -signal.SIGKILL
    if (out / "headrace.json").exists():
        ok("verify", out)
    else:
        assert run("info", out).returncode != 0, "half a data set was read"
    pack_until_done(source, out)
    assert contents(out) == expected


@pytest.mark.parametrize("point", ["shard_committed", "tables", "synced", "rooted"])
def test_killed_while_replacing_readers_see_the_old_or_the_new_one(point, source, tmp_path):
    out = tmp_path / "out"
    old = report("pack", source / "c0", "--out", out)
    command = ["pack", source, "--out", out, *OPTIONS, "--replace"]
    assert run(*command, env={"HEADRACE_CRASH_AT": point}).returncode == -signal.SIGKILL
    seen = json.loads(ok("info", out, "--json"))
    assert seen["fingerprint"] == old["fingerprint"] or point == "rooted"
    ok("verify", out)
    ok(*command)
    assert json.loads(ok("info", out, "--json"))["samples"] == 400
    ok("verify", out)


def test_killed_at_forty_random_moments_it_ends_with_the_same_bytes(source, expected, tmp_path):
    rng = random.Random(11)
    kills = 0
    out = tmp_path / "out"
    for _ in range(300):
        process = subprocess.Popen([HEADRACE, "pack", source, "--out", out, *OPTIONS, "-q"])
        time.sleep(rng.uniform(0, 0.04))
        process.kill()
        if process.wait() == -signal.SIGKILL:
            kills += 1
        root = out / "headrace.json"
        if root.exists():
            ok("verify", out)
            pack_until_done(source, out)
            assert contents(out) == expected
            shutil.rmtree(out)
        elif (out / "_headrace" / "pending.json").exists():
            assert run("info", out).returncode != 0
        if kills >= 45:
            break
    assert kills >= 40
    pack_until_done(source, out)
    assert contents(out) == expected


def test_ctrl_c_stops_and_the_same_command_goes_on(source, expected, tmp_path):
    out = tmp_path / "out"
    rng = random.Random(5)
    stopped = 0
    for _ in range(100):
        process = subprocess.Popen(
            [HEADRACE, "pack", source, "--out", out, *OPTIONS, "-q"], stderr=subprocess.PIPE
        )
        time.sleep(rng.uniform(0.004, 0.03))
        process.send_signal(signal.SIGINT)
        _, text = process.communicate(timeout=60)
        assert process.returncode in (0, 130, -signal.SIGINT)  # the last: before main() began
        stopped += process.returncode == 130
        assert not list(out.rglob("*.part"))
        if process.returncode == 130 and b"goes on" in text:
            break
        if process.returncode == 0:
            shutil.rmtree(out)
    assert stopped > 0
    pack_until_done(source, out)
    assert contents(out) == expected


def test_shards_that_were_finished_are_not_done_again(source, expected, tmp_path):
    out = tmp_path / "out"
    run("pack", source, "--out", out, *OPTIONS, env={"HEADRACE_CRASH_AT": "recorded:4"})
    done = {p: p.stat().st_ino for p in out.glob("*.tar")}
    again = pack_until_done(source, out)
    assert again["shards_resumed"] >= 4
    assert sum(p.stat().st_ino == inode for p, inode in done.items()) >= 4
    assert contents(out) == expected
    assert pack_until_done(source, out)["complete_before"]


def test_a_full_disk_is_exit_8_and_resumable(source, expected, tmp_path):
    out = tmp_path / "out"

    def limit_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    full = run("pack", source, "--out", out, *OPTIONS, preexec_fn=limit_files)
    assert full.returncode == 8, full.stderr
    assert b"hint" in full.stderr
    assert not list(out.rglob("*.part"))
    pack_until_done(source, out)
    assert contents(out) == expected


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_destination_and_an_unreadable_file_are_exit_7(source, tmp_path):
    tmp_path.chmod(0o555)
    assert run("pack", source, "--out", tmp_path / "out").returncode == 7
    tmp_path.chmod(0o755)
    tree = tmp_path / "tree"
    shutil.copytree(source, tree)
    (tree / "c0/s0000.bin").chmod(0)
    refused = run("pack", tree, "--out", tmp_path / "out")
    assert refused.returncode == 7 and b"s0000.bin" in refused.stderr
    skipped = report("pack", tree, "--out", tmp_path / "out", "--on-error", "skip")
    assert skipped["samples"] == 399 and skipped["skipped"][0]["key"] == "c0/s0000"


def test_ten_thousand_tiny_files(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    for i in range(10_000):
        (tree / f"{i:05}.txt").write_text(str(i))
    out = tmp_path / "out"
    done = report("pack", tree, "--out", out, "--shards", "8", "--no-fsync")
    assert done["samples"] == 10_000 and len(done["shards"]) == 8
    ok("verify", out)
    assert ok("cat", out, "04321", "txt") == b"4321"


def test_lists_of_files(source, tmp_path):
    files = sorted(str(p) for p in (source / "c1").iterdir())
    (tmp_path / "list.txt").write_text("\n".join(files))
    a = report("pack", "@" + str(tmp_path / "list.txt"), "--out", tmp_path / "a", "--key", "base")
    b = json.loads(
        subprocess.run(
            [HEADRACE, "pack", "-", "--out", tmp_path / "b", "--key", "base", "--json"],
            input=b"\0".join(map(os.fsencode, files)),
            capture_output=True,
            check=True,
        ).stdout
    )
    c = report("pack", *files, "--out", tmp_path / "c")
    assert a["samples"] == 100
    assert a["fingerprint"] == b["fingerprint"] == c["fingerprint"]


def test_dry_run_and_explain_write_nothing(source, tmp_path):
    out = tmp_path / "out"
    plan = report("pack", source, "--out", out, "--dry-run", *OPTIONS)
    assert len(plan["shards"]) == 10 and plan["samples"] == 400
    assert b"plan" in ok("pack", source, "--out", out, "--explain")
    assert not out.exists()
    assert plan["shards"] == report("pack", source, "--out", out, *OPTIONS)["shards"]


def test_sorted_classes_are_hinted_at(source, tmp_path):
    sorted_by_class = run("pack", source, "--out", tmp_path / "a", "--samples", "50")
    assert b"--shuffle" in sorted_by_class.stderr
    assert b"--shuffle" not in run("pack", source, "--out", tmp_path / "b", *OPTIONS).stderr


def test_wrong_options_are_exit_2(source, tmp_path):
    out = tmp_path / "out"
    for wrong in (
        ["--on-missing", "what"],
        ["--shards", "3", "--samples", "4"],
        ["--name", "x"],
        ["--key", "(?<key>"],
        ["--shard-size", "many"],
    ):
        assert run("pack", source, "--out", out, *wrong).returncode == 2, wrong
    assert run("pack", tmp_path / "nothing", "--out", out).returncode == 3
    assert not out.exists()


def test_index_in_place_elsewhere_and_damaged(source, tmp_path):
    shards = tmp_path / "shards"
    packed = report("pack", source, "--out", shards, "--samples", "100")
    shutil.rmtree(shards / "_headrace")
    (shards / "headrace.json").unlink()
    before = contents(shards)
    elsewhere = report("index", shards, "--out", tmp_path / "manifest")
    assert elsewhere["fingerprint"] == packed["fingerprint"]
    assert contents(shards) == before, "inputs are never touched"
    ok("verify", tmp_path / "manifest")
    assert report("index", f"{shards}/shard-{{000000..000003}}.tar")["samples"] == 400
    assert report("index", shards)["complete_before"]
    with open(shards / "shard-000002.tar", "r+b") as file:
        file.truncate(file.seek(0, 2) // 2)
    damaged = run("index", shards, "--json")
    assert damaged.returncode == 4
    (finding,) = json.loads(damaged.stdout)["findings"]
    assert "shard-000002.tar" in finding["shard"] and finding["offset"] > 0
