"""Writes small samples (2 KB and an integer class) with TarWriter.

usage: webdataset_writer.py webdataset|headrace.webdataset OUT SECONDS
Prints {"samples": …, "seconds": …} as JSON; imports are outside the clock.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time

SAMPLES = 5000


def main() -> None:
    library, out, seconds = sys.argv[1:]
    writer = importlib.import_module(library).TarWriter
    payload = os.urandom(2048)
    samples = [{"__key__": f"{i:08d}", "bin": payload, "cls": i % 1000} for i in range(SAMPLES)]
    total, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < float(seconds):
        with writer(out) as sink:
            for sample in samples:
                sink.write(sample)
        total += SAMPLES
    print(json.dumps({"samples": total, "seconds": time.perf_counter() - begin}), flush=True)
    os.remove(out)


if __name__ == "__main__":
    main()
