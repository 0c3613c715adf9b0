"""decode="fast" decodes JPEGs that are made much smaller at 1/2, 1/4 or 1/8 of their size: the
pixels are then those of libjpeg's own reduction, which no full decode gives, and close to those of
a full decode that is scaled."""

from __future__ import annotations

import io
import math
from pathlib import Path

import headrace as hr
import numpy as np
import pytest
from PIL import Image, ImageOps
from test_images import encoded, only_batch, shard

GOLDEN = Path(__file__).parent.parent / "data" / "codec" / "transforms"
SHRINKS = (2, 4, 8)
JPEGS = {
    "444": {"subsampling": 0},
    "420": {"subsampling": 2},
    "422": {"subsampling": 1},
    "progressive": {"progressive": True},
    "on its side": {"subsampling": 2},
    "444 on its side": {"subsampling": 0},
}


def photograph(name: str, kind: str) -> bytes:
    """Sides of a multiple of 16, so that each fraction is a whole number of pixels."""
    image = Image.open(GOLDEN / name)
    image = image.crop((0, 0, image.width // 16 * 16, image.height // 16 * 16))
    exif = Image.Exif()
    exif[0x0112] = 6 if "on its side" in kind else 1
    return encoded(image, "JPEG", quality=92, exif=exif, **JPEGS[kind])


def reduced(file: bytes, shrink: int) -> Image.Image:
    """As libjpeg reduces it while it decodes, for Pillow."""
    image = Image.open(io.BytesIO(file))
    size = image.width // shrink, image.height // shrink
    image.draft("RGB", size)
    assert image.size == size
    return ImageOps.exif_transpose(image)


def row_of(folder: Path, file: bytes, recipe: hr.Image) -> np.ndarray:
    (row,) = only_batch(shard(folder, [{"jpg": file}]), recipe.layout("HWC"), 1)["image"]
    return row.astype(int)


def scaled(image: Image.Image, height: int, width: int) -> np.ndarray:
    return np.asarray(image.resize((width, height), Image.Resampling.BILINEAR)).astype(int)


@pytest.mark.parametrize("shrink", SHRINKS)
@pytest.mark.parametrize("kind", JPEGS)
def test_large_pictures_are_decoded_at_a_fraction(tmp_path: Path, kind: str, shrink: int) -> None:
    """To the byte, where neither the fast transform nor plain upsampling has a part in it: colours
    that are stored at half of the size are read whole at 1/2."""
    file = photograph("src_a.png", kind)
    image = reduced(file, shrink)
    recipe = hr.image("jpg", decode="fast")
    # Just that fraction, and somewhat less than it, as long as it is more than half of it.
    for height, width in [
        (image.height, image.width),
        (image.height * 5 // 6, image.width * 3 // 4),
    ]:
        row = row_of(tmp_path, file, recipe.resize((height, width)))
        expected = scaled(image, height, width)
        exact = row_of(tmp_path, file, hr.image("jpg").resize((height, width)))
        equal = shrink == 8 or "444" in kind or (shrink == 4 and kind != "422")
        assert np.abs(row - expected).max() <= (0 if equal else 16)
        assert np.abs(row - expected).mean() < np.abs(exact - expected).mean() / 2


@pytest.mark.parametrize("shrink", SHRINKS)
@pytest.mark.parametrize("name", ["src_a.png", "src_c.png"])
def test_pictures_decoded_at_a_fraction_are_close_to_the_whole_ones(
    tmp_path: Path, name: str, shrink: int
) -> None:
    file = photograph(name, "420")
    image = Image.open(io.BytesIO(file))
    side = image.height // shrink
    recipes = {
        "resize": lambda r: r.resize((side, image.width // shrink)),
        "shorter": lambda r: r.resize_shorter(side * 7 // 8),
        "crop": lambda r: r.center_crop(192).resize(192 // shrink).flip(1.0),
        "random": lambda r: r.random_resized_crop(side, scale=(0.9, 1), ratio=(1.3, 1.4)),
    }
    for make in recipes.values():
        exact, fast = (
            row_of(tmp_path, file, make(hr.image("jpg", decode=how))) for how in ("exact", "fast")
        )
        off = np.abs(exact - fast)
        assert 0 < off.mean() < 4
        assert (off > 24).mean() < 0.01


def test_pictures_that_stay_larger_than_half_are_decoded_whole(tmp_path: Path) -> None:
    file = photograph("src_a.png", "420")
    fast = hr.image("jpg", decode="fast")
    whole = Image.fromarray(row_of(tmp_path, file, fast).astype(np.uint8))
    height, width = whole.height // 2 + 1, whole.width // 2 + 1
    row = row_of(tmp_path, file, fast.resize((height, width)))
    np.testing.assert_array_equal(row, scaled(whole, height, width))


@pytest.mark.parametrize("shrink", SHRINKS)
@pytest.mark.parametrize("kind", ["444", "444 on its side"])
def test_a_crop_may_cut_pixels_of_the_smaller_picture(
    tmp_path: Path, shrink: int, kind: str
) -> None:
    """As Pillow scales a box whose edges are no whole numbers."""
    file = photograph("src_a.png", kind)
    image = reduced(file, shrink)
    side = 203 // shrink
    recipe = hr.image("jpg", decode="fast").random_crop(203).resize(side)
    loader = shard(tmp_path, [{"jpg": file}]).decode(x=recipe.layout("HWC")).batch(1).loader()
    for epoch in range(3):
        top, left, *_ = loader.explain(0, epoch=epoch)["columns"]["x"][0]["box"]
        edges = [at / shrink for at in (left, top, left + 203, top + 203)]
        outer = [math.floor(at) for at in edges[:2]] + [math.ceil(at) for at in edges[2:]]
        box = [at - outer[i % 2] for i, at in enumerate(edges)]
        row = loader.row_at(0, epoch=epoch)["x"][0]
        expected = image.crop(outer).resize((side, side), Image.Resampling.BILINEAR, box)
        np.testing.assert_array_equal(row, np.asarray(expected))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_crops_of_turned_pictures_lie_where_they_lie_in_the_whole_ones(
    tmp_path: Path, orientation: int
) -> None:
    """Sides that no fraction divides: the smaller picture's pixels begin at the file's corner."""
    image = Image.open(GOLDEN / "src_a.png").crop((0, 0, 333, 245))
    exif = Image.Exif()
    exif[0x0112] = orientation
    file = encoded(image, "JPEG", quality=95, exif=exif, subsampling=0)
    for side in (200, 203):
        recipes = (hr.image("jpg", decode=how) for how in ("exact", "fast"))
        exact, fast = (
            row_of(tmp_path, file, recipe.center_crop(side).resize(side // 8)) for recipe in recipes
        )
        assert np.abs(exact - fast).mean() < 4.5
