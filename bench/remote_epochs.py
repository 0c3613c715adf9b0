"""Shuffled epochs of raw batches, one after another: {"bytes": …, "seconds": …, "cpu_seconds": …}
as JSON.

usage: remote_epochs.py PLACE THREADS SECONDS

The first three do not count: connections and memory are new then, how many requests to send at once
is being found, and only from the second on the next epoch is read ahead.
"""

from __future__ import annotations

import json
import sys
import time

import headrace as hr


def main() -> None:
    place, threads, seconds = sys.argv[1:]
    loader = hr.open(place).shuffle(seed=7).batch(64).loader(threads=int(threads))
    for _ in range(3):
        epoch(loader)
    read, spent = 0, 0.0
    begin, cpu = time.perf_counter(), time.process_time()
    while spent < float(seconds):
        read += epoch(loader)
        spent = time.perf_counter() - begin
    cpu = time.process_time() - cpu
    print(json.dumps({"bytes": read, "seconds": spent, "cpu_seconds": cpu}))


def epoch(loader: hr.Loader) -> int:
    """Its bytes."""
    return sum(batch[name].values.nbytes for batch in loader for name in batch.fields)


if __name__ == "__main__":
    main()
