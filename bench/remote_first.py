"""From opening a data set to its first shuffled batch of 64: {"seconds": …} as JSON.

usage: remote_first.py PLACE THREADS
"""

from __future__ import annotations

import json
import sys
import time

import headrace as hr


def main() -> None:
    place, threads = sys.argv[1:]
    begin = time.perf_counter()
    batches = iter(hr.open(place).shuffle(seed=7).batch(64).loader(threads=int(threads)))
    next(batches)
    print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)


if __name__ == "__main__":
    main()
