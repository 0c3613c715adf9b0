"""One shuffled epoch of raw batches, the second of a process: {"bytes": …, "seconds": …,
"cpu_seconds": …} as JSON.

usage: remote_epoch.py PLACE THREADS
"""

from __future__ import annotations

import json
import sys
import time

import headrace as hr


def main() -> None:
    place, threads = sys.argv[1:]
    loader = hr.open(place).shuffle(seed=7).batch(64).loader(threads=int(threads))
    for _ in range(2):
        begin, cpu = time.perf_counter(), time.process_time()
        read = sum(batch[name].values.nbytes for batch in loader for name in batch.fields)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    print(json.dumps({"bytes": read, "seconds": seconds, "cpu_seconds": cpu}))


if __name__ == "__main__":
    main()
