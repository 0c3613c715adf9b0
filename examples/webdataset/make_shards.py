"""Packs a folder of pictures into shards that the other examples read.

Each sample has a picture, a class, a caption, boxes and a second of sound; see `sample_of`.
usage: make_shards.py PICTURES OUT
"""

from __future__ import annotations

import io
import math
import struct
import sys
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headrace.webdataset as wds
import numpy as np
from PIL import Image

SIDE = 48
CLASSES = 5
RATE = 8000


def pictures(folder: str) -> Iterator[Image.Image]:
    """Those of the folder that are whole, cut into squares."""
    for path in sorted(Path(folder).glob("*.jpg")):
        try:
            picture = Image.open(path).convert("RGB")
        except (OSError, Image.DecompressionBombError):
            continue
        for left in range(0, min(picture.width, 4 * SIDE) - SIDE + 1, SIDE):
            if picture.height >= SIDE:
                yield picture.crop((left, 0, left + SIDE, SIDE))


def tone(number: int) -> bytes:
    """A tenth of a second as a WAV file."""
    samples = [int(9000 * math.sin(i * (number + 5) / 30)) for i in range(RATE // 10)]
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    return stream.getvalue()


def sample_of(number: int, picture: Image.Image) -> dict[str, Any]:
    boxes = [[i, i, SIDE - i, SIDE - 2 * i] for i in range(1, number % 4 + 1)]
    sample: dict[str, Any] = {
        "__key__": f"{number % CLASSES}/{number:05d}",
        "jpg": picture,
        "cls": number % CLASSES,
        "txt": f"picture number {number}" if number % 7 else "",
        "json": {"number": number, "boxes": boxes, "labels": [b[0] for b in boxes]},
        "wav": tone(number),
    }
    if number % 10 == 3:
        sample["mask.png"] = np.asarray(picture.convert("L")) > 127
        sample["mask.png"] = sample["mask.png"].astype(np.uint8)
    return sample


def main() -> None:
    source, out = sys.argv[1:]
    Path(out).mkdir(parents=True, exist_ok=True)
    with wds.ShardWriter(f"{out}/train-%04d.tar", maxcount=16, verbose=0) as sink:
        for number, picture in enumerate(pictures(source)):
            sink.write(sample_of(number, picture))
        print(sink.total, "samples in", sink.shard, "shards")


if __name__ == "__main__":
    main()
