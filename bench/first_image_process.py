"""The first batch of pictures, in a process that has imported everything.

usage: first_image_process.py READER PLACE THREADS MODULE…
The modules are those that the reader imports.
Prints {"first": seconds from making the loader to the first batch} as JSON.
"""

from __future__ import annotations

import importlib
import json
import sys
import time

import numpy as np  # noqa: F401
from image_readers import IMAGE_READERS


def main() -> None:
    name, place, threads, *modules = sys.argv[1:]
    for module in modules:
        importlib.import_module(module)
    begin = time.perf_counter()
    next(iter(IMAGE_READERS[name](place, int(threads))()))
    print(json.dumps({"first": time.perf_counter() - begin}), flush=True)


if __name__ == "__main__":
    main()
