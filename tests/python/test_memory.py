"""Memory stays flat over hundreds of epochs, within what was promised, and nothing is left over."""

from __future__ import annotations

import gc
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import headrace as hr
import pytest

EPOCHS = 200
MIB = 1 << 20


def resident() -> int:
    """Bytes of this process in memory now."""
    return status("VmRSS") * 1024


def status(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found
    return int(found[1])


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def epochs(loader: hr.Loader, count: int) -> int:
    rows = 0
    for _ in range(count):
        for batch in loader:
            rows += len(batch)
            assert len(batch["bin"]) == len(batch["cls"]) == len(batch)
    return rows


@pytest.fixture
def small_set(shards: Callable[..., Path]) -> hr.Dataset:
    return hr.open(shards(2000, count=5))


def test_memory_is_flat_over_200_epochs(small_set: hr.Dataset) -> None:
    with small_set.shuffle(seed=3).batch(64, tail="short").loader(threads=2) as loader:
        epochs(loader, 20)  # pools and Python's own caches grow to their size
        before = resident(), status("Threads"), descriptors()
        assert epochs(loader, EPOCHS) == EPOCHS * 2000
        gc.collect()
        after = resident(), status("Threads"), descriptors()
    assert after[0] - before[0] < 4 * MIB
    assert after[1:] == before[1:]


def test_200_loaders_leave_no_thread_descriptor_or_memory(small_set: hr.Dataset) -> None:
    def use_one(number: int) -> None:
        loader = small_set.shuffle(seed=number).batch(64).loader(threads=2)
        for step, _ in enumerate(loader):
            if step == 3:
                break  # in mid-epoch, with batches in flight

    for number in range(20):
        use_one(number)
    gc.collect()
    others = set(threading.enumerate())  # a server of a test before may not have ended yet
    before = resident(), status("Threads"), descriptors()
    for number in range(200):
        use_one(number)
    gc.collect()
    after = resident(), status("Threads"), descriptors()
    assert after[0] - before[0] < 8 * MIB
    assert after[1] <= before[1] and after[2] <= before[2]
    assert set(threading.enumerate()) <= others


def test_the_peak_stays_within_the_budget(make_tar: Any, tmp_path: Path, run_python: Any) -> None:
    """Batches of 16 MiB under memory="64MiB": budget, slots and 150 MB are not exceeded."""
    big = os.urandom(MIB)
    for shard in range(4):
        samples = ((f"s{shard}{i:03d}", {"bin": big}) for i in range(64))
        make_tar(tmp_path / f"part-{shard}.tar", samples)
    done = run_python(
        """
        import re, sys
        import headrace as hr

        loader = hr.open(sys.argv[1]).shuffle(seed=1).batch(16).loader(threads=2, memory="64MiB")
        for _ in range(3):
            for batch in loader:
                batch["bin"].values
        peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())
        print(int(peak[1]) * 1024, loader.stats()["slot_bytes"])
        """,
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    peak, slots = map(int, done.stdout.split())
    assert slots <= 2 * 64 * MIB  # those in flight, that of the consumer, and one to spare
    assert peak <= slots + 150_000_000
