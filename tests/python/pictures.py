"""Pictures for the tests of pack and convert, and what became of them."""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image

CODEC = Path(__file__).parents[1] / "data" / "codec"
# (file, what it is): pictures that Pillow reads, too.
GOOD = ("baseline_420", "baseline_444", "baseline_gray", "progressive_420", "restart_progressive")
CORRUPT = ("corrupt_scan_2", "cut_scan_half", "bad_huffman_table", "zero_length", "html_named")


def members(folder: Path) -> dict[str, bytes]:
    found = {}
    for shard in sorted(folder.glob("*.tar")):
        with tarfile.open(shard) as tar:
            found |= {member.name: tar.extractfile(member).read() for member in tar}
    return found


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)))


def photo(width: int, height: int) -> Image.Image:
    """A picture with smooth and sharp parts, so that filters and qualities can be told apart."""
    y, x = np.mgrid[0:height, 0:width]
    red = (x * 255 // width).astype(np.uint8)
    green = (y * 255 // height).astype(np.uint8)
    blue = (((x // 8 + y // 8) % 2) * 200).astype(np.uint8)
    return Image.fromarray(np.dstack([red, green, blue]))


def write_photos(folder: Path) -> Path:
    """60 JPEGs of many sizes, some progressive, some turned, each with a class."""
    folder.mkdir()
    for i in range(60):
        image = photo(200 + 7 * i, 150 + 3 * (i % 20))
        exif = Image.Exif()
        exif[0x0112] = 6 if i % 5 == 0 else 1
        image.save(folder / f"{i:02}.jpg", quality=95, progressive=i % 3 == 0, exif=exif)
        (folder / f"{i:02}.cls").write_text(str(i % 4))
    return folder


def write_mixed(folder: Path) -> Path:
    """Good and corrupt pictures, with classes."""
    folder.mkdir()
    for name in (*GOOD, *CORRUPT):
        shutil.copy(CODEC / f"jpeg/{name}.jpg", folder)
        (folder / f"{name}.cls").write_text("1")
    (folder / "noise.png").write_bytes(b"\x89PNG\r\n\x1a\nand then nothing")
    (folder / "words.txt").write_text("a sample without a picture")
    return folder
