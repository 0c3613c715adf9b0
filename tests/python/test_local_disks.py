"""Local data sets: past the page cache (HEADRACE_DIRECT), and with few system calls."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import ok, shards_of, write_random_set

SHARDS, SAMPLES = 3, 50

EPOCH = """
import hashlib, sys, headrace as hr
digest = hashlib.sha256()
for batch in hr.open(sys.argv[1]).shuffle(seed=1).batch(8).loader():
    for key, row in zip(batch.keys, batch["bin"]):
        digest.update(key.encode() + bytes(row))
print(digest.hexdigest())
"""


@pytest.fixture(params=["disk", "memory"])
def data_set(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Three shards of about 3 MB, on the disk and in /dev/shm (tmpfs)."""
    if request.param == "disk":
        yield write_random_set(tmp_path / "set", SHARDS, SAMPLES, 120_000)
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield write_random_set(Path(folder) / "set", SHARDS, SAMPLES, 120_000)


def epoch(location: object, direct: bool) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HEADRACE_DIRECT": "1" if direct else "0"}
    command = [sys.executable, "-c", EPOCH, str(location)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=True)


def cached_bytes(paths: list[Path]) -> int:
    """Of these files, in the page cache."""
    told = subprocess.run(
        ["fincore", "--bytes", "--noheadings", "--output", "RES", *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
    )
    return sum(map(int, told.stdout.split()))


def drop_from_cache(paths: list[Path]) -> None:
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def test_direct_reads_have_the_same_bytes(data_set: Path):
    for location in (data_set, f"{data_set}/part-{{0..{SHARDS - 1}}}.tar"):
        plain, direct = epoch(location, direct=False), epoch(location, direct=True)
        assert direct.stdout == plain.stdout
        assert direct.stderr.count("past the page cache") <= 1  # where it is refused


@pytest.mark.parametrize("container", ["tar.zst", "zip"])
def test_direct_reads_of_compressed_shards(tmp_path: Path, container: str):
    data_set = write_random_set(tmp_path / "set", 1, SAMPLES, 120_000)
    ok("convert", data_set, "--out", tmp_path / "packed", "--container", container)
    assert (
        epoch(tmp_path / "packed", direct=True).stdout
        == epoch(tmp_path / "packed", direct=False).stdout
    )


def test_direct_reads_leave_the_page_cache_as_it_was(tmp_path: Path):
    shards = shards_of(write_random_set(tmp_path / "set", SHARDS, SAMPLES, 120_000))
    drop_from_cache(shards)
    assert cached_bytes(shards) == 0
    told = epoch(tmp_path / "set", direct=True)
    assert "past the page cache" not in told.stderr
    assert cached_bytes(shards) == 0
    epoch(tmp_path / "set", direct=False)
    assert cached_bytes(shards) > sum(shard.stat().st_size for shard in shards) // 2


def test_verbs_read_directly_too(tmp_path: Path):
    data_set = write_random_set(tmp_path / "set", SHARDS, SAMPLES, 120_000)
    direct = {"HEADRACE_DIRECT": "1"}
    ok("verify", data_set, env=direct)
    ok("cp", data_set, tmp_path / "copy", env=direct)
    ok("shuffle", data_set, "--out", tmp_path / "new", "--seed", "1", env=direct)
    ok("shuffle", data_set, "--out", tmp_path / "plain", "--seed", "1")
    for shard in shards_of(tmp_path / "plain"):
        assert (tmp_path / "new" / shard.name).read_bytes() == shard.read_bytes()
    for shard in shards_of(data_set):
        assert (tmp_path / "copy" / shard.name).read_bytes() == shard.read_bytes()


def test_a_shard_costs_one_open_and_one_stat(tmp_path: Path):
    """What a data set of many shards asks of the servers of a network file system."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    shards = 40
    data_set = write_random_set(tmp_path / "set", shards, 2, 2000)
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-y", "-o", str(trace), "-e", "trace=%file,fstat,newfstatat"]
    subprocess.run(
        [*command, sys.executable, "-c", EPOCH, str(data_set)], check=True, capture_output=True
    )
    calls = re.findall(r"(?m)^\d+ +(?:<\.\.\. )?(\w+)(.*part-\d+\.tar.*)$", trace.read_text())
    opens = [rest for call, rest in calls if call == "openat" and "<unfinished" not in rest]
    stats = [rest for call, rest in calls if "stat" in call and "resumed" not in rest]
    assert len(opens) == shards, opens
    assert len(stats) <= shards, stats
    assert {call for call, _ in calls} <= {"openat", "fstat", "newfstatat"}
