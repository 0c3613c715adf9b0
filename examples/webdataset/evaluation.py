"""Evaluation: every sample once, in order, also when there are more workers than shards.

usage: evaluation.py SHARDS
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import headrace.webdataset as wds
import numpy as np
from torch.utils.data import DataLoader


def predict(images: Any) -> Any:
    """Stands for a model: five scores a picture."""
    means = np.asarray(images).mean((1, 2))
    return np.stack([means[:, 0], means[:, 1], means[:, 2], means[:, 0] * 0, means[:, 1] * 0], 1)


def main() -> None:
    shards = sorted(str(path) for path in Path(sys.argv[1]).glob("*.tar"))[:2]
    dataset = (
        wds.WebDataset(shards, shardshuffle=False, empty_check=False)
        .decode("rgb")
        .to_tuple("jpg", "cls", "__key__")
        .batched(7)
    )
    right, keys = 0, []
    for images, labels, names in DataLoader(dataset, batch_size=None, num_workers=3):
        right += int((predict(images).argmax(1) == np.asarray(labels)).sum())
        keys += names
    print(len(keys), "samples,", len(set(keys)), "different,", right, "right")


if __name__ == "__main__":
    main()
