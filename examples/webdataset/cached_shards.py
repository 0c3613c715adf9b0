"""Shards kept on the local disk: the first epoch copies them, the second reads the copies.

usage: cached_shards.py SHARDS
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import headrace.webdataset as wds


def main() -> None:
    # `pipe:` stands for a store that is far away.
    shards = [f"pipe:cat {path}" for path in sorted(Path(sys.argv[1]).glob("*.tar"))]
    with tempfile.TemporaryDirectory() as cache:
        dataset = wds.WebDataset(
            shards, shardshuffle=False, cache_dir=cache, cache_size=10**9
        ).decode()
        for epoch in range(2):
            total = sum(sample["cls"] for sample in dataset)
            copies = [path for path in Path(cache).rglob("*") if path.is_file()]
            print("epoch", epoch, "sum of labels", total, "copies", len(copies))
        print("local", all(sample["__local_path__"].startswith(cache) for sample in dataset))


if __name__ == "__main__":
    main()
