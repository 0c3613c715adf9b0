"""Memory stays what was asked for, whatever the size of the data."""

import os
import random
import re
import subprocess
import sys
import tarfile
import time
from collections import Counter
from pathlib import Path

import pytest
from conftest import write_tar
from program import HEADRACE, ok, shards_of

MIB = 1 << 20
PROGRAM = 24 * MIB  # itself, its libraries, and the index of a shard a thread


# The kernel's own count, which misses no moment. It goes on through exec, so that a large process
# that starts the program would be counted: a small one does it.
MEASURED = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
print(used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def peak_memory(*args) -> int:
    """Bytes that the program had resident at most, mapped files included."""
    command = [sys.executable, "-I", "-S", "-c", MEASURED, HEADRACE, *map(str, args), "-q"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout.split()[-1]) << 10


def peak_heap(*args) -> int:
    """Bytes that the program had from malloc at most, by glibc's own tool: mapped files are not."""
    command = [HEADRACE, *map(str, args), "-q"]
    environment = {**os.environ, "LD_PRELOAD": "libmemusage.so"}
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True, env=environment)
    return int(re.search(r"heap peak: (\d+)", done.stderr)[1])


def write_set(folder: Path, shards: int, samples: int, least: int, most: int) -> Path:
    """Each sample begins with its key, so that no two are equal; the rest is of one random text."""
    folder.mkdir()
    rng = random.Random(5)
    noise = rng.randbytes(2 * most)

    def payload(key: str) -> bytes:
        begin = rng.randrange(most)
        return key.encode() + noise[begin : begin + rng.randint(least, most)]

    for shard in range(shards):
        keys = (f"{shard:03}-{i:06}" for i in range(samples))
        write_tar(folder / f"{shard:03}.tar", ((key, {"bin": payload(key)}) for key in keys))
    ok("index", folder, "--quiet")
    return folder


def digests(folder: Path) -> Counter:
    found: Counter = Counter()
    for shard in shards_of(folder):
        with tarfile.open(shard) as archive:
            found.update((m.name, hash(archive.extractfile(m).read())) for m in archive)
    return found


@pytest.mark.parametrize("algorithm", ["gather", "buckets"])
def test_a_shuffle_keeps_to_its_memory(algorithm, tmp_path):
    data = write_set(tmp_path / "data", 8, 1000, 32_000, 96_000)  # 512 MB
    options = ["--memory", "32MiB", "-j", "2", "--no-fsync", "--shards", "5"]
    options += ["--algorithm", algorithm]
    peak = peak_memory("shuffle", data, "--out", tmp_path / "out", *options)
    assert peak_memory("shuffle", "--help") < peak < 32 * MIB + PROGRAM
    assert digests(tmp_path / "out") == digests(data)


def test_tasks_of_their_own_keep_to_it_too(tmp_path):
    data = write_set(tmp_path / "data", 4, 500, 32_000, 96_000)
    out, plan = tmp_path / "out", tmp_path / "plan"
    ok("plan", "shuffle", data, "--out", out, "--plan", plan, "--shards", "3")
    for task in range(3):
        options = ["--memory", "16MiB", "-j", "2", "--no-fsync", "--algorithm", "buckets"]
        assert peak_memory("run-task", plan, task, *options) < 16 * MIB + PROGRAM
    ok("run", plan, "--no-fsync")
    assert digests(out) == digests(data)


@pytest.mark.parametrize("verb", [["sort", "--reverse"], ["dedupe"], ["join"]], ids=lambda v: v[0])
def test_what_is_compared_is_sorted_in_the_memory(verb, tmp_path):
    """Keys and digests of 200,000 samples, and the indexes of each set."""
    data = write_set(tmp_path / "data", 20, 10_000, 1, 50)
    sources = [data]
    if verb[0] == "join":
        ok("rename", data, "--fields", "txt=bin", "--out", tmp_path / "other", "--no-fsync")
        sources.append(tmp_path / "other")
    options = ["-j", "2", "--no-fsync", "--shards", "2", "--dry-run", "--scratch", tmp_path]
    little = peak_heap(*verb, *sources, "--out", tmp_path / "a", *options, "--memory", "1MiB")
    much = peak_heap(*verb, *sources, "--out", tmp_path / "b", *options, "--memory", "64MiB")
    assert little < 16 * MIB * len(sources)
    assert much > little + 32 * MIB


@pytest.mark.soak
def test_eight_gibibytes_are_shuffled_in_256_mib(tmp_path):
    data = write_set(tmp_path / "data", 32, 4000, 32_000, 102_000)
    size = sum(path.stat().st_size for path in shards_of(data))
    assert size > 8 << 30
    options = ["--memory", "256MiB", "--no-fsync", "--shard-size", "256MiB"]
    begin = time.monotonic()
    peak = peak_memory("shuffle", data, "--out", tmp_path / "out", *options)
    print(f"{size >> 20} MiB in {time.monotonic() - begin:.0f} s, {peak / MIB:.0f} MiB")
    assert peak < 256 * MIB + PROGRAM
    assert digests(tmp_path / "out") == digests(data)
