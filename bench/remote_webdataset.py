"""One epoch of raw samples by WebDataset and curl: {"bytes": …, "seconds": …} as JSON.

usage: remote_webdataset.py URL SHARD…
"""

from __future__ import annotations

import json
import sys
import time

import webdataset as wds


def main() -> None:
    url, *shards = sys.argv[1:]
    pipes = [f"pipe:curl -s -L {url}/{shard}" for shard in shards]
    samples = wds.WebDataset(pipes, shardshuffle=False).to_tuple("jpg", "cls").batched(64)
    begin = time.perf_counter()
    read = sum(sum(map(len, column)) for batch in samples for column in batch)
    print(json.dumps({"bytes": read, "seconds": time.perf_counter() - begin}))


if __name__ == "__main__":
    main()
