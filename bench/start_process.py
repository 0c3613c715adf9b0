"""From nothing to the first batch, in a fresh process that has numpy already.

usage: start_process.py headrace|webdataset|mosaicml PLACE
Prints {"import": seconds, "first": seconds from opening to the first batch} as JSON.
"""

from __future__ import annotations

import importlib
import json
import sys
import time

import numpy as np  # noqa: F401
import readers

READERS = {
    "headrace": readers.headrace_batches,
    "webdataset": readers.webdataset_photos_shuffled,
    "mosaicml": readers.mosaicml,
}
MODULES = {"mosaicml": "streaming"}


def main() -> None:
    name, place = sys.argv[1:]
    begin = time.perf_counter()
    importlib.import_module(MODULES.get(name, name))
    imported = time.perf_counter()
    next(iter(READERS[name](place, 2)()))
    first = time.perf_counter()
    print(json.dumps({"import": imported - begin, "first": first - imported}), flush=True)


if __name__ == "__main__":
    main()
