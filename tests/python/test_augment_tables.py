"""RandAugment and TrivialAugmentWide draw from torchvision's own tables: every operation, at every
magnitude, to both sides where it has two, and nothing else."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import headrace as hr
import pytest
from test_images import encoded, picture, shard

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
from torchvision.transforms import RandAugment, TrivialAugmentWide  # noqa: E402

WIDTH, HEIGHT = 53, 29
MAGNITUDES = 31
NAMES = {
    "brightness": "Brightness",
    "saturation": "Color",
    "contrast": "Contrast",
    "sharpness": "Sharpness",
    "posterize": "Posterize",
    "solarize": "Solarize",
    "autocontrast": "AutoContrast",
    "equalize": "Equalize",
}
FACTORS = ("Brightness", "Color", "Contrast", "Sharpness")
MOVES = ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate")
# A moving operation of strength 0 cannot be told from another.
STILL = ("still", 0.0)

Entry = tuple[str, float]


def told(action: dict) -> Entry:
    """An operation's name and its strength, as `explain` tells them."""
    if action["do"] != "affine":
        return NAMES[action["do"]], round(action["value"], 3)
    assert action["scale"] == 1
    values = (*action["shear"], *action["translate"], action["degrees"])
    moved = [(name, round(value, 3)) for name, value in zip(MOVES, values, strict=True) if value]
    assert len(moved) <= 1
    return moved[0] if moved else STILL


def wanted(space: dict, magnitudes: slice) -> set[Entry]:
    """What torchvision makes of its table."""
    out = set()
    for name, (strengths, has_sides) in space.items():
        for strength in strengths[magnitudes].tolist() if strengths.ndim else [0.0]:
            for side in (1, -1) if has_sides else (1,):
                out.add(applied(name, side * strength))
    return out


def applied(name: str, strength: float) -> Entry:
    if name.startswith("Shear"):
        strength = math.degrees(math.atan(strength))
    elif name.startswith("Translate"):
        # torch.linspace has 15.999999 for 16 on processors that fuse additions, 16 on others.
        strength = int(round(strength, 4))
    elif name in FACTORS:
        strength += 1
    return STILL if name in MOVES and strength == 0 else (name, round(strength, 3))


def drawn(ds: hr.Dataset, recipe: hr.Image, operations: int, rows: int) -> Counter[Entry]:
    loader = ds.shuffle(seed=1).decode(image=recipe).batch(1).loader(threads=1)
    seen: Counter[Entry] = Counter()
    for epoch in range(rows):
        (entry,) = loader.explain(0, epoch=epoch)["columns"]["image"]
        seen.update(told(action) for action in entry["actions"])
        seen[("Identity", 0.0)] += operations - len(entry["actions"])
    return +seen


@pytest.fixture(scope="module")
def ds(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    folder: Path = tmp_path_factory.mktemp("pictures")
    return shard(folder, [{"png": encoded(picture(1, (WIDTH, HEIGHT)), "PNG")}])


@pytest.mark.parametrize("magnitudes", [MAGNITUDES, 10])
def test_rand_augment_has_every_strength_of_torchvision(ds: hr.Dataset, magnitudes: int) -> None:
    space = RandAugment()._augmentation_space(magnitudes, (HEIGHT, WIDTH))
    for magnitude in range(magnitudes):
        recipe = hr.image("png").rand_augment(8, magnitude, magnitudes=magnitudes)
        seen = drawn(ds, recipe, 8, 45)
        assert set(seen) == wanted(space, slice(magnitude, magnitude + 1)), magnitude


def test_rand_augment_takes_each_operation_as_often(ds: hr.Dataset) -> None:
    rows = 2000
    seen = drawn(ds, hr.image("png").rand_augment(8), 8, rows)
    names = Counter({name: 0 for name, _ in seen})
    for (name, _), count in seen.items():
        names[name] += count
    assert len(names) == 14
    mean = rows * 8 / 14
    for name, count in names.items():
        assert abs(count - mean) < 5 * mean**0.5, name
    # Both sides as often.
    for name in (*FACTORS, *MOVES):
        one, other = (count for (each, _), count in seen.items() if each == name)
        assert abs(one - other) < 5 * (one + other) ** 0.5, name


def test_trivial_augment_has_every_strength_of_torchvision(ds: hr.Dataset) -> None:
    space = TrivialAugmentWide()._augmentation_space(MAGNITUDES)
    seen = drawn(ds, hr.image("png").trivial_augment_wide(), 1, 12000)
    assert set(seen) == wanted(space, slice(None))
