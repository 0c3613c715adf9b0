"""Conversion: pictures made smaller and stored as PNG, in shards of another size.

usage: convert.py SHARDS
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headrace.webdataset as wds


def smaller(source: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for sample in source:
        yield {
            "__key__": sample["__key__"],
            "png": sample["jpg"].resize((16, 16)),
            "cls": sample["cls"],
            "json": {**sample["json"], "from": Path(sample["__url__"]).name},
        }


def main() -> None:
    shards = sorted(str(path) for path in Path(sys.argv[1]).glob("*.tar"))
    source = wds.WebDataset(shards, shardshuffle=False).decode("pil").compose(smaller)
    finished: list[str] = []
    with tempfile.TemporaryDirectory() as out:
        options = {"maxcount": 25, "post": finished.append, "verbose": 0, "mtime": 0}
        with wds.ShardWriter(f"{out}/small-%03d.tar", **options) as sink:
            for sample in source:
                sink.write(sample)
        print([Path(name).name for name in finished], "hold", sink.total)
        back = wds.WebDataset(finished, shardshuffle=False).decode("rgb8")
        for number, sample in enumerate(back):
            assert sample["png"].shape == (16, 16, 3) and sample["json"]["number"] == number
        print("the last", sample["__key__"], sample["json"], int(sample["png"].sum()))


if __name__ == "__main__":
    main()
