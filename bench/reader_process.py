"""One reader in a process of its own: warm up, then count rows for some seconds.

usage: reader_process.py READER PLACE THREADS SECONDS
Prints {"rows": …, "seconds": …, "peak_rss": …} as JSON; for our loader also its "slot_bytes".

The clock runs over whole passes, the start of each included, until SECONDS have gone; a reader
that needs longer for one pass is stopped in it, after twice that time.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import readers
import webdataset_readers
from readers import Passes

READERS = readers.READERS | webdataset_readers.READERS


def main() -> None:
    name, place, threads, seconds = sys.argv[1:]
    passes = READERS[name](place, int(threads))
    run(passes, float(seconds) / 4)  # warm up: libraries, pools, page cache
    rows, spent = run(passes, float(seconds))
    result = {"rows": rows, "seconds": spent, "peak_rss": peak_rss()}
    if hasattr(passes, "stats"):
        result["slot_bytes"] = passes.stats()["slot_bytes"]
    print(json.dumps(result), flush=True)


def run(passes: Passes, seconds: float) -> tuple[int, float]:
    rows = 0
    begin = time.perf_counter()
    while True:
        for count in passes():
            rows += count
            # Rows one by one are too many to look at the clock for each.
            if (count > 1 or rows % 4096 == 0) and time.perf_counter() - begin > 2 * seconds:
                return rows, time.perf_counter() - begin
        spent = time.perf_counter() - begin
        if spent > seconds:
            return rows, spent


def peak_rss() -> int:
    """In bytes, of this process alone."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024


if __name__ == "__main__":
    main()
