"""Image classification as computing centres teach it: ranks by the environment, tuples, WebLoader.

usage: image_classification.py SHARDS
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import headrace.webdataset as wds
import torch
from torchvision.transforms import v2

BATCH = 8
WORKERS = 2
SAMPLES = len(list(Path(sys.argv[1]).glob("*.tar"))) * 16  # known from packing

augment = v2.Compose(
    [
        v2.RandomResizedCrop(32, antialias=True),
        v2.RandomHorizontalFlip(),
        v2.Normalize([0.5], [0.2]),
    ]
)


def identity(label: Any) -> Any:
    return label


def make_loader() -> Any:
    shards = sorted(str(path) for path in Path(sys.argv[1]).glob("*.tar"))
    dataset = (
        wds.WebDataset(shards, shardshuffle=100, nodesplitter=wds.split_by_node)
        .shuffle(1000)
        .decode("torchrgb")
        .to_tuple("jpg;png", "cls")
        .map_tuple(augment, identity)
        .batched(BATCH, partial=False)
        .with_length(SAMPLES, silent=True)
    )
    steps = len(dataset) // BATCH - WORKERS  # the same number on every rank
    return wds.WebLoader(dataset, batch_size=None, num_workers=WORKERS).slice(steps)


def main() -> None:
    for epoch in range(2):
        rows = 0
        for images, labels in make_loader():
            assert images.shape == (BATCH, 3, 32, 32) and images.dtype == torch.float32
            rows += len(labels)
        print("epoch", epoch, "rows", rows)


if __name__ == "__main__":
    main()
