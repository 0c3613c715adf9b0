"""One epoch of raw batches from nginx: without a cache, while it fills, from the warm cache; and of
the local folder. Epochs take turns, so that ratios hold where speeds swing.

    python bench/cache_epochs.py data/bench/photo-shards [ROUNDS]
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))

import headrace as hr
from servers.nginx import nginx


def epoch(place: str, cache: str) -> tuple[float, int]:
    start = time.perf_counter()
    total = 0
    with hr.open(place, cache=cache).shuffle(seed=1).batch(64).loader(threads=2) as loader:
        for batch in loader:
            for data in batch["jpg"]:
                total += len(data)
    return time.perf_counter() - start, total


def main() -> None:
    source = Path(sys.argv[1]).resolve()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory() as scratch:
        warm, cold = f"{scratch}/warm", f"{scratch}/cold"
        with nginx(source, Path(scratch) / "nginx") as server:
            ways = {
                "local": lambda: epoch(str(source), "off"),
                "warm cache": lambda: epoch(server.url, warm),
                "filling": lambda: epoch(server.url, cold),
                "no cache": lambda: epoch(server.url, "off"),
            }
            ways["warm cache"]()
            seconds: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(rounds):
                for name, run in ways.items():
                    shutil.rmtree(cold, ignore_errors=True)
                    took, total = run()
                    seconds[name].append(took)
        local = statistics.median(seconds["local"])
        for name, all_seconds in seconds.items():
            median = statistics.median(all_seconds)
            print(f"{name:12} {total / median / 1e6:8.0f} MB/s   {local / median:5.2f} of local")


if __name__ == "__main__":
    main()
