"""Append, history, restore, gc: readers see a whole version, whatever is killed when."""

import json
import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import headrace as hr
import pytest
from program import HEADRACE, ok, run

OPTIONS = ["--shard-size", "64KiB", "--no-fsync"]
CRASH_POINTS = [
    *("marked", "shard_written", "shard_committed:2", "recorded", "table", "table:3", "tables"),
    *("synced", "numbered", "rooted", "records_removed"),
]


def samples(location) -> list:
    return [(s.key, {f: bytes(s[f]) for f in s.fields}) for s in hr.open(str(location)).samples()]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def history(folder: Path) -> list[dict]:
    return json.loads(ok("history", folder, "--json"))["versions"]


def current(folder: Path) -> int:
    (number,) = (v["version"] for v in history(folder) if v["current"])
    return number


def age(folder: Path, seconds: float) -> None:
    for path in folder.rglob("*"):
        os.utime(path, (time.time() - seconds, time.time() - seconds))


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> list[Path]:
    root = tmp_path_factory.mktemp("sources")
    rng = random.Random(11)
    for part in "abc":
        (root / part).mkdir()
        for i in range(60):
            (root / part / f"{part}{i:03}.bin").write_bytes(rng.randbytes(rng.randint(0, 6000)))
            (root / part / f"{part}{i:03}.cls").write_text(str(i % 4))
    return [root / part for part in "abc"]


@pytest.fixture
def out(sources, tmp_path) -> Path:
    ok("pack", sources[0], "--out", tmp_path / "out", *OPTIONS)
    return tmp_path / "out"


def append(source: Path, out: Path, *more, **kwargs):
    return run("pack", source, "--out", out, "--append", *OPTIONS, *more, **kwargs)


def test_appended_samples_follow_those_that_were_there(sources, out, tmp_path):
    before = samples(out)
    reader = hr.open(str(out))
    loader = reader.shuffle(seed=1).batch(8, tail="short").loader()
    batches = iter(loader)
    first = next(batches)
    assert append(sources[1], out).returncode == 0
    ok("pack", sources[1], "--out", tmp_path / "alone", *OPTIONS)
    assert samples(out) == before + samples(tmp_path / "alone")
    # Who had the old version open goes on with it.
    assert [s.key for s in reader.samples()] == [key for key, _ in before]
    assert len(first.keys) + sum(len(b.keys) for b in batches) == len(before)
    report = json.loads(ok("verify", out, "--json"))
    assert report["findings"] == []
    assert [v["samples"] for v in history(out)] == [60, 120]
    assert current(out) == 2
    done = append(sources[1], out)
    assert done.returncode == 0 and b"nothing to do" in done.stderr
    assert append(sources[2], out).returncode == 0
    assert append(sources[1], out).returncode == 0  # it is part of it
    assert len(samples(out)) == 180 and len(history(out)) == 3
    assert hr.open(str(out))["b007"]["bin"] == hr.open(str(tmp_path / "alone"))["b007"]["bin"]


def test_a_state_of_the_smaller_set_is_refused(sources, out):
    loader = hr.open(str(out)).shuffle(seed=1).batch(8).loader()
    next(iter(loader))
    state = loader.state_dict()
    assert append(sources[1], out).returncode == 0
    with pytest.raises(hr.StateError):
        hr.open(str(out)).shuffle(seed=1).batch(8).loader().load_state_dict(state)


def test_restored_versions_are_new_ones(sources, out):
    one = samples(out)
    append(sources[1], out)
    two = samples(out)
    ok("restore", out, 1)
    assert samples(out) == one and current(out) == 3
    ok("restore", out, 2)
    assert samples(out) == two and current(out) == 4
    assert b"nothing to do" in run("restore", out, 4).stderr
    assert run("restore", out, 9).returncode == 3
    ok("restore", out, 1)
    assert append(sources[1], out).returncode == 0  # once more, for it is not part of version 1
    assert samples(out) == two
    assert [v["samples"] for v in history(out)] == [60, 120, 60, 120, 60, 120]


def test_what_does_not_fit_is_refused(sources, out, tmp_path):
    assert append(sources[1], tmp_path / "nothing").returncode == 3
    done = append(sources[1], out, "--container", "tar.zst")
    assert done.returncode == 2 and b"other shards, tar" in done.stderr
    done = append(sources[1], out, "--label-from", "parent", "--fields", "bin,cls")
    assert done.returncode == 2
    packed = tmp_path / "zst"
    ok("pack", sources[0], "--out", packed, "--container", "tar.zst", *OPTIONS)
    assert append(sources[1], packed).returncode == 0
    assert len(samples(packed)) == 120
    assert all(p.name.endswith(".tar.zst") for p in packed.glob("v-*/*"))
    assert json.loads(ok("verify", packed, "--json"))["findings"] == []


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_killed_anywhere_readers_see_a_whole_version(point, sources, out, tmp_path):
    before = samples(out)
    expected = tmp_path / "expected"
    shutil.copytree(out, expected)
    assert append(sources[1], expected).returncode == 0
    killed = append(sources[1], out, env={"HEADRACE_CRASH_AT": point})
    assert killed.returncode == -9
    assert samples(out) in (before, samples(expected))
    assert run("verify", out).returncode == 0
    assert append(sources[1], out).returncode == 0
    assert contents(out) == contents(expected)


def test_killed_at_random_moments(sources, out, tmp_path):
    rng = random.Random(4)
    whole = {60, 120, 180}
    for source in sources[1:]:
        for _ in range(8):
            process = subprocess.Popen(
                [HEADRACE, "pack", str(source), "--out", str(out), "--append", *OPTIONS],
                stderr=subprocess.DEVNULL,
            )
            time.sleep(rng.uniform(0, 0.03))
            process.kill()
            process.wait()
            assert len(samples(out)) in whole
        assert append(source, out).returncode == 0
    assert len(samples(out)) == 180
    assert json.loads(ok("verify", out, "--json"))["findings"] == []


def test_two_writers_at_once(sources, out):
    for _ in range(3):
        writers = [
            subprocess.Popen(
                [HEADRACE, "pack", str(s), "--out", str(out), "--append", *OPTIONS],
                stderr=subprocess.PIPE,
            )
            for s in sources[1:]
        ]
        codes = [w.wait() for w in writers]
        for writer in writers:
            writer.stderr.close()
        assert set(codes) <= {0, 2, 6}, codes
        assert len(samples(out)) in (60, 120, 180)
    for source in sources[1:]:
        assert append(source, out).returncode == 0
    assert len(samples(out)) == 180
    assert json.loads(ok("verify", out, "--json"))["findings"] == []


def test_gc_removes_what_no_version_names(sources, out):
    assert append(sources[1], out).returncode == 0
    before = contents(out)
    ok("gc", out, "--grace", "0s")
    assert contents(out) == before
    (out / "v-0123abcd").mkdir()
    (out / "v-0123abcd" / "shard-000000.tar").write_bytes(b"left by a job that was given up")
    (out / "_headrace" / "keys-0123456789abcdef.bin").write_bytes(b"left, too")
    (out / "README.md").write_text("mine")
    (out / "v-mine").mkdir()
    (out / "v-mine" / "a.tar").write_text("mine")
    report = json.loads(ok("gc", out, "--json"))
    assert report["removed"] == [] and report["young_objects"] == 2
    report = json.loads(ok("gc", out, "--grace", "0s", "--dry-run", "--json"))
    assert len(report["removed"]) == 2 and (out / "v-0123abcd" / "shard-000000.tar").exists()
    age(out, 8 * 86400)
    assert len(json.loads(ok("gc", out, "--json"))["removed"]) == 2
    mine = {"README.md": b"mine", "v-mine/a.tar": b"mine"}
    assert contents(out) == before | mine


def test_gc_keeps_so_many_versions(sources, out):
    append(sources[1], out)
    append(sources[2], out)
    everything = samples(out)
    age(out, 8 * 86400)
    report = json.loads(ok("gc", out, "--keep", "2", "--json"))
    assert report["forgotten"] == ["1"]
    assert [v["version"] for v in history(out)] == [2, 3]
    assert samples(out) == everything
    assert json.loads(ok("verify", out, "--json"))["findings"] == []
    assert run("restore", out, 1).returncode == 3
    ok("restore", out, 2)
    assert len(samples(out)) == 120
    # Version 4 is what version 2 was; the shards of 3 are needed by nobody.
    ok("gc", out, "--keep", "1", "--grace", "0s")
    assert [v["version"] for v in history(out)] == [4]
    assert json.loads(ok("verify", out, "--json"))["findings"] == []
    assert len(samples(out)) == 120


@pytest.mark.parametrize("point", ["forgotten", "removed", "removed:3"])
def test_a_killed_gc_is_repeated(point, sources, out):
    ok("pack", sources[1], "--out", out, "--replace", *OPTIONS)
    after = samples(out)
    args = ["gc", out, "--keep", "1", "--grace", "0s"]
    assert run(*args, env={"HEADRACE_CRASH_AT": point}).returncode == -9
    assert samples(out) == after
    ok(*args)
    assert json.loads(ok("verify", out, "--json"))["findings"] == []


def test_gc_leaves_jobs_alone(sources, out):
    append(sources[1], out, env={"HEADRACE_CRASH_AT": "recorded"})
    age(out, 8 * 86400)
    before = contents(out)
    done = run("gc", out)
    assert done.returncode == 5 and b"--abandon" in done.stderr
    assert contents(out) == before
    ok("gc", out, "--abandon")
    assert not list(out.glob("v-*/*")) and len(samples(out)) == 60
    assert append(sources[1], out).returncode == 0
    assert len(samples(out)) == 120


def test_a_clock_that_jumped_removes_nothing_young(sources, out):
    ok("pack", sources[1], "--out", out, "--replace", *OPTIONS)
    before = contents(out)
    age(out, -40 * 86400)  # written while the clock was ahead
    report = json.loads(ok("gc", out, "--keep", "1", "--json"))
    assert report["removed"] == [] and report["young_objects"] > 0
    assert {p for p in before if not p.startswith("_headrace/versions/")} <= set(contents(out))


def test_replacing_keeps_the_version_before(sources, out):
    one = samples(out)
    ok("pack", sources[1], "--out", out, "--replace", *OPTIONS)
    assert [v["samples"] for v in history(out)] == [60, 60]
    ok("restore", out, 1)
    assert samples(out) == one
