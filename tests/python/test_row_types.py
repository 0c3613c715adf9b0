"""Erasing and mixing work on finished rows: for every type of number and every layout they are
what numpy makes of the plain rows."""

from __future__ import annotations

import headrace as hr
import numpy as np
import pytest
from test_images import MEAN, STD, encoded, picture, shard

torch = pytest.importorskip("torch")

ROWS = 8
CLASSES = 3
LAYOUTS = ["CHW", "HWC", "channels_last"]
FLOATS = ["float32", "float16", "bfloat16"]
LABELS = [i % CLASSES for i in range(ROWS)]


@pytest.fixture(scope="module")
def ds(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    samples = [
        {"png": encoded(picture(i, (31, 22)), "PNG"), "cls": b"%d" % label}
        for i, label in enumerate(LABELS)
    ]
    return shard(tmp_path_factory.mktemp("pictures"), samples)


def planes(batch: hr.Batch, layout: str) -> torch.Tensor:
    """The batch as (rows, channels, height, width), whatever its layout."""
    images = batch["x"]
    return images.permute(0, 3, 1, 2) if layout == "HWC" else images


def recipe(dtype: str, layout: str) -> hr.Image:
    plain = hr.image("png").resize((18, 25)).layout(layout)
    return plain if dtype == "uint8" else plain.normalize(MEAN, STD, dtype=dtype)


def same(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    assert ours.dtype == theirs.dtype
    torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["uint8", *FLOATS])
@pytest.mark.parametrize("value", [[9.0], [1.5, 0.1, 77.3]])
def test_an_erased_box_holds_the_value_and_nothing_else_changes(
    ds: hr.Dataset, dtype: str, layout: str, value: list[float]
) -> None:
    steps = recipe(dtype, layout)
    plain = ds.decode(x=steps).batch(ROWS).loader(to="torch")
    erasing = ds.decode(x=steps.random_erasing(1.0, value=value)).batch(ROWS).loader(to="torch")
    (expected,), (batch,) = (
        [planes(batch, layout) for batch in loader] for loader in (plain, erasing)
    )
    expected = expected.clone()
    colours = torch.tensor(value).to(expected.dtype).reshape(-1, 1, 1)
    for row in range(ROWS):
        *_, told = erasing.explain(row, epoch=0)["columns"]["x"]
        top, left, height, width = told["box"]
        assert height > 0
        expected[row, :, top : top + height, left : left + width] = colours
    same(batch, expected)


def pasted(rows: torch.Tensor, told: dict) -> torch.Tensor:
    """torchvision's CutMix of one group of rows."""
    height, width = rows.shape[2:]
    half = 0.5 * (1 - told["lam"]) ** 0.5
    x, y = int(told["centre"][0] * width), int(told["centre"][1] * height)
    across, down = int(half * width), int(half * height)
    box = np.s_[..., max(y - down, 0) : y + down, max(x - across, 0) : x + across]
    out = rows.clone()
    out[box] = rows.roll(1, 0)[box]
    return out


def blended(rows: torch.Tensor, told: dict) -> torch.Tensor:
    """torchvision's MixUp of one group, in float32 and rounded once."""
    lam = torch.tensor(told["lam"], dtype=torch.float32)
    wide = rows.float()
    return (wide.roll(1, 0) * (1 - lam) + wide * lam).to(rows.dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("mixing", "dtype"),
    [*(("mixup", dtype) for dtype in FLOATS), *(("cutmix", dtype) for dtype in ("uint8", *FLOATS))],
)
def test_mixed_rows_are_those_of_numbers_in_the_same_type(
    ds: hr.Dataset, mixing: str, dtype: str, layout: str
) -> None:
    batches = ds.shuffle(seed=2, lanes=2).decode(x=recipe(dtype, layout), y=hr.integer("cls"))
    loader = batches.batch(ROWS).mix_rows("x", "y", classes=CLASSES, **{mixing: 1.0})
    loader = loader.loader(to="torch")
    (batch,) = loader
    if layout == "channels_last":
        assert batch["x"].is_contiguous(memory_format=torch.channels_last)
    mixed = planes(batch, layout)
    alone = [planes(loader.row_at(int(p), epoch=0), layout) for p in batch.positions]
    changed = 0
    for begin in range(0, ROWS, ROWS // 2):
        group = slice(begin, begin + ROWS // 2)
        told = loader.explain(int(batch.positions[begin]), epoch=0)["mixed"]
        rows = torch.cat(alone[group])
        same(mixed[group], (blended if mixing == "mixup" else pasted)(rows, told))
        changed += not torch.equal(mixed[group], rows)
    assert changed > 0
