"""Image-text pairs: samples without a caption are left out, broken ones are counted and skipped.

usage: image_text_pairs.py SHARDS
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import headrace.webdataset as wds
import numpy as np

WORDS = 8
problems: Counter[str] = Counter()


def count_and_continue(error: Exception) -> bool:
    problems[type(error).__name__] += 1
    return True


def has_caption(sample: dict[str, Any]) -> bool:
    return bool(sample.get("txt")) and ("jpg" in sample or "png" in sample)


def tokens(text: str) -> Any:
    """Stands for a tokenizer: a number for each word, padded."""
    numbers = [sum(map(ord, word)) % 1000 for word in text.split()][:WORDS]
    return np.array(numbers + [0] * (WORDS - len(numbers)))


def main() -> None:
    shards = f"{sys.argv[1]}/train-{{0000..0002}}.tar::{sys.argv[1]}/missing.tar"
    dataset = (
        wds.WebDataset(shards, shardshuffle=False, handler=count_and_continue)
        .select(has_caption)
        .decode("rgb", handler=count_and_continue)
        .rename(image="jpg;png", text="txt")
        .map_dict(text=tokens)
        .to_tuple("image", "text")
        .batched(6, partial=False)
    )
    batches = [(images, texts) for images, texts in dataset]
    images, texts = batches[0]
    print(len(batches), "batches of", images.shape, images.dtype, texts.shape)
    print("first text", texts[0].tolist(), "skipped", dict(problems))


if __name__ == "__main__":
    main()
