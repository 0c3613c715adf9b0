"""A repository of Parquet files, by `datasets` itself, as people upload them to the Hub."""

from __future__ import annotations

import io
from pathlib import Path

import datasets
from PIL import Image


def picture(number: int, kind: str) -> bytes:
    """One whose red says its number."""
    out = io.BytesIO()
    Image.new("RGB", (16, 12), (number * 5 % 256, 90, 200)).save(out, kind)
    return out.getvalue()


def hub_rows(count: int, first: int = 0) -> datasets.Dataset:
    """Rows of every kind of feature: JPEG and PNG, with and without paths; row 5 has none."""
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=["cat", "dog"]),
            "caption": datasets.Value("string"),
            "boxes": datasets.List(datasets.List(datasets.Value("float32"))),
        }
    )
    rows = range(first, first + count)
    pictures: list[object] = [
        {"bytes": picture(i, "JPEG" if i % 3 else "PNG"), "path": None if i % 2 else f"p{i}.JPEG"}
        for i in rows
    ]
    pictures[5 % count] = None
    return datasets.Dataset.from_dict(
        {
            "image": pictures,
            "label": [i % 2 for i in rows],
            "caption": [f"caption {i} ü" for i in rows],
            "boxes": [[[float(i), 2.0]] * (i % 3) for i in rows],
        },
        features=features,
    )


def write_repository(folder: Path) -> Path:
    """60 rows to train in three files and 10 to test in one, named as push_to_hub names them."""
    (folder / "data").mkdir(parents=True)
    for shard in range(3):
        rows = hub_rows(20, shard * 20)
        rows.to_parquet(folder / f"data/train-{shard:05}-of-00003.parquet", batch_size=8)
    hub_rows(10, 60).to_parquet(folder / "data/test-00000-of-00001.parquet")
    (folder / "README.md").write_text("# pictures\n")
    return folder
