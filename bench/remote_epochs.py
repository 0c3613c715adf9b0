"""Shuffled epochs of raw batches, one after another: {"bytes": …, "seconds": …, "cpu_seconds": …}
as JSON.

usage: remote_epochs.py PLACE THREADS SECONDS

As in reader_process.py: first whole epochs for a quarter of SECONDS, which do not count, for
connections and memory are new then and the depth is being found; then such that count.
"""

from __future__ import annotations

import json
import sys
import time

import headrace as hr


def main() -> None:
    place, threads, seconds = sys.argv[1:]
    loader = hr.open(place).shuffle(seed=7).batch(64).loader(threads=int(threads))
    run(loader, float(seconds) / 4)
    print(json.dumps(run(loader, float(seconds))))


def run(loader: hr.Loader, seconds: float) -> dict[str, float]:
    begin, cpu = time.perf_counter(), time.process_time()
    read, spent = 0, 0.0
    while spent < seconds:
        read += sum(batch[name].values.nbytes for batch in loader for name in batch.fields)
        spent = time.perf_counter() - begin
    return {"bytes": read, "seconds": spent, "cpu_seconds": time.process_time() - cpu}


if __name__ == "__main__":
    main()
