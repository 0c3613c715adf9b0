"""Packs a folder with WebDataset's ShardWriter, as its documentation does: a loop in Python.

usage: shard_writer.py SOURCE DEST SHARD_BYTES
Prints {"seconds": …} as JSON; imports are outside the clock.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import webdataset as wds


def files(folder: str) -> Iterator[str]:
    """Paths below `folder`, sorted."""
    for root, folders, names in os.walk(folder):
        folders.sort()
        yield from (os.path.join(root, name) for name in sorted(names))


def main() -> None:
    source, dest, shard_bytes = sys.argv[1:]
    begin = time.perf_counter()
    Path(dest).mkdir(parents=True)
    with wds.ShardWriter(f"{dest}/%06d.tar", maxsize=int(shard_bytes), verbose=0) as writer:
        for stem, paths in groupby(files(source), lambda path: path.rpartition(".")[0]):
            sample: dict[str, object] = {"__key__": os.path.relpath(stem, source)}
            for path in paths:
                sample[path.rpartition(".")[2]] = Path(path).read_bytes()
            writer.write(sample)
    print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)


if __name__ == "__main__":
    main()
