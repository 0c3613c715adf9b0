"""Epochs of raw batches from nginx: without a cache, while it fills, from the warm cache; and of
a folder. The first one begins with opening the data set, and checks what the cache holds; the
second one of the same loader follows. They take turns, so that ratios hold where speeds swing.

    python bench/cache_epochs.py data/bench/photo-shards [ROUNDS]
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))

import headrace as hr
from servers.nginx import nginx


def epochs(place: str, cache: str) -> tuple[list[float], int]:
    """Seconds of both, and the bytes of one."""
    times = [time.perf_counter()]
    with hr.open(place, cache=cache).shuffle(seed=1).batch(64).loader(threads=2) as loader:
        for _ in range(2):
            total = sum(batch["jpg"].values.nbytes for batch in loader)
            times.append(time.perf_counter())
    return [end - begin for begin, end in pairwise(times)], total


def main() -> None:
    source = Path(sys.argv[1]).resolve()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory() as scratch:
        warm, cold = f"{scratch}/warm", f"{scratch}/cold"
        with nginx(source, Path(scratch) / "nginx") as server:
            ways = {
                "local": lambda: epochs(str(source), "off"),
                "warm cache": lambda: epochs(server.url, warm),
                "filling": lambda: epochs(server.url, cold),
                "no cache": lambda: epochs(server.url, "off"),
            }
            ways["warm cache"]()
            seconds: dict[str, list[list[float]]] = {name: [] for name in ways}
            for _ in range(rounds):
                for name, run in ways.items():
                    shutil.rmtree(cold, ignore_errors=True)
                    took, total = run()
                    seconds[name].append(took)
    for number in range(2):
        local = statistics.median(took[number] for took in seconds["local"])
        for name, all_seconds in seconds.items():
            median = statistics.median(took[number] for took in all_seconds)
            rate = f"{total / median / 1e6:8.0f} MB/s   {local / median:5.2f} of local"
            print(f"epoch {number + 1}, {name:12} {rate}")


if __name__ == "__main__":
    main()
