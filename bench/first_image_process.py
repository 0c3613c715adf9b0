"""The first batch of pictures, in a process that has imported everything.

usage: first_image_process.py READER PLACE THREADS
Prints {"first": seconds from making the loader to the first batch} as JSON.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np  # noqa: F401
from headrace import _native  # noqa: F401
from image_readers import IMAGE_READERS


def main() -> None:
    name, place, threads = sys.argv[1:]
    begin = time.perf_counter()
    next(iter(IMAGE_READERS[name](place, int(threads))()))
    print(json.dumps({"first": time.perf_counter() - begin}), flush=True)


if __name__ == "__main__":
    main()
