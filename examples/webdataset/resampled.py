"""Endless training: shards drawn with replacement, epochs of a fixed number of batches.

usage: resampled.py SHARDS
"""

from __future__ import annotations

import sys
from pathlib import Path

import headrace.webdataset as wds

BATCH = 4
STEPS = 10


def main() -> None:
    shards = sorted(str(path) for path in Path(sys.argv[1]).glob("*.tar"))
    pipeline = wds.DataPipeline(
        wds.ResampledShards(shards, deterministic=True, seed=3),
        wds.tarfile_to_samples(),
        wds.shuffle(50, seed=5),
        wds.decode(),
        wds.to_tuple("__key__", "cls"),
        wds.batched(BATCH),
    ).with_epoch(STEPS)
    for epoch in range(3):
        keys = [key for batch, _ in pipeline for key in batch]
        print("epoch", epoch, len(keys), "samples, the first:", keys[:3])


if __name__ == "__main__":
    main()
