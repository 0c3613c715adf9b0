"""Detection: boxes from JSON, a different number for each picture, so batches are lists.

usage: detection.py SHARDS
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import headrace.webdataset as wds
import numpy as np


def target(sample: dict[str, Any]) -> dict[str, Any] | None:
    """None leaves a sample out: those without a box."""
    boxes = np.array(sample["json"]["boxes"], dtype=np.float32).reshape(-1, 4)
    if len(boxes) == 0:
        return None
    return {"image": sample["jpg"], "boxes": boxes, "labels": sample["json"]["labels"]}


def as_lists(samples: list[dict[str, Any]]) -> tuple[list[Any], list[dict[str, Any]]]:
    images = [sample["image"] for sample in samples]
    return images, [{"boxes": s["boxes"], "labels": s["labels"]} for s in samples]


def main() -> None:
    shards = sorted(str(path) for path in Path(sys.argv[1]).glob("*.tar"))
    dataset = (
        wds.WebDataset(shards, shardshuffle=False)
        .shuffle(20, seed=1)
        .decode("torchrgb8", only=["jpg", "json"])
        .map(target)
        .batched(5, collation_fn=as_lists, partial=False)
    )
    boxes = 0
    for images, targets in dataset:
        assert [tuple(image.shape) for image in images] == [(3, 48, 48)] * 5
        boxes += sum(len(each["boxes"]) for each in targets)
    print(boxes, "boxes; the last labels", [each["labels"] for each in targets])


if __name__ == "__main__":
    main()
