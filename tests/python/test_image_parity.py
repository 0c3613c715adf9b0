"""Each transform against the installed Pillow and torchvision v2, with the same parameters: what
was drawn is asked of `loader.explain`, and torchvision does it once more.

Tolerances, in levels of 255, are those of docs/images.md.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import headrace as hr
import numpy as np
import pytest
from PIL import Image
from test_images import MEAN, STD, encoded, shard

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
from torchvision_replay import replay  # noqa: E402

GOLDEN = Path(__file__).parent.parent / "data" / "codec" / "transforms"


def strip(height: int, width: int) -> Image.Image:
    random = np.random.default_rng(height)
    return Image.fromarray(random.integers(0, 256, (height, width, 3), dtype=np.uint8))


def smooth(height: int, width: int) -> Image.Image:
    return Image.open(GOLDEN / "src_d.png").resize((width, height), Image.Resampling.BICUBIC)


PICTURES: dict[str, Callable[[], Image.Image]] = {
    "photograph": lambda: Image.open(GOLDEN / "src_a.png"),
    "upright photograph": lambda: Image.open(GOLDEN / "src_d.png"),
    "7 x 5": lambda: strip(5, 7),
    "1 x 41": lambda: strip(41, 1),
    "53 x 1": lambda: strip(1, 53),
    "20000 x 20": lambda: smooth(20, 20000),
    "20 x 20000": lambda: smooth(20000, 20),
}
SMALL = [name for name in PICTURES if "20000" not in name]


def row_and_draws(folder: Path, picture: Image.Image, recipe: hr.Image, position: int) -> tuple:
    """Row `position` of a data set of one picture, many times over."""
    file = encoded(picture, "PNG")
    ds = shard(folder, [{"png": file}] * (position + 1))
    loader = ds.shuffle(seed=11).decode(image=recipe).batch(1).loader(threads=1)
    row = loader.row_at(position)["image"][0]
    return np.asarray(row), loader.explain(position)["columns"]["image"]


def expect_close(ours: np.ndarray, theirs: np.ndarray, largest: float, mean: float) -> None:
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    off = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
    assert off.max(initial=0) <= largest
    assert off.mean() <= mean


def check(folder: Path, name: str, recipe: hr.Image, largest: float, mean: float) -> None:
    picture = PICTURES[name]()
    pixels = torch.from_numpy(np.array(picture)).permute(2, 0, 1)
    for position in range(3):
        row, drawn = row_and_draws(folder, picture, recipe, position)
        theirs = replay(pixels, recipe._spec["ops"], drawn).numpy()
        expect_close(row, theirs, largest, mean)


EQUAL = {
    "center_crop": lambda r: r.center_crop((30, 44)),
    "pad": lambda r: r.pad((3, 1, 4, 7), fill=9),
    "pad edge": lambda r: r.pad(5, mode="edge"),
    "random_crop": lambda r: r.random_crop((18, 24), pad_if_needed=True),
    "flips": lambda r: r.flip().vertical_flip(),
    "rotate90": lambda r: r.rotate90().flip(),
    "crops between turns": lambda r: (
        r.rotate90(1).center_crop(24).vertical_flip(1.0).pad(3).rotate90(1).center_crop((13, 21))
    ),
    "posterize": lambda r: r.posterize(3, p=1),
    "solarize": lambda r: r.solarize(100, p=1),
    "equalize": lambda r: r.equalize(p=1),
    "invert": lambda r: r.invert(p=1),
    "erasing": lambda r: r.center_crop(40).random_erasing(1.0, value=7),
}


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("name", EQUAL)
def test_whole_number_operations_are_equal(tmp_path: Path, name: str, picture: str) -> None:
    check(tmp_path, picture, EQUAL[name](hr.image("png")), 0, 0)


# The largest difference and the mean one.
CLOSE = {
    "resize": (lambda r: r.resize((50, 64)), 1, 0.05),
    "resize bicubic": (lambda r: r.resize((37, 21), filter="bicubic"), 1, 0.05),
    "resize_shorter": (lambda r: r.resize_shorter(24, max_size=900), 1, 0.05),
    "resize_longer": (lambda r: r.resize_longer(200), 1, 0.05),
    "random_resized_crop nearest": (
        lambda r: r.random_resized_crop((32, 48), filter="nearest"),
        0,
        0,
    ),
    "random_resized_crop": (lambda r: r.random_resized_crop((32, 48)).flip(), 1, 0.05),
    "color_jitter": (lambda r: r.color_jitter(0.4, 0.4, 0.4), 3, 0.3),
    "hue": (lambda r: r.color_jitter(hue=0.3), 2, 0.05),
    "grayscale": (lambda r: r.random_grayscale(1.0), 1, 0.02),
    "autocontrast": (lambda r: r.autocontrast(1.0), 1, 0.02),
    "sharpness": (lambda r: r.sharpness(1.7, 1.0), 1, 0.02),
    "affine": (
        lambda r: r.random_affine(
            30, translate=(0.1, 0.2), scale=(0.7, 1.3), shear=9, filter="bilinear", fill=50
        ),
        1,
        0.02,
    ),
    "blur": (lambda r: r.gaussian_blur((5, 3)), 1, 0.02),
}
# torchvision blurs no picture that is smaller than half of the kernel.
UNBLURRED = ("1 x 41", "53 x 1")
CLOSE_CASES = [
    (name, picture)
    for name in CLOSE
    for picture in PICTURES
    if name != "blur" or picture not in UNBLURRED
]


@pytest.mark.parametrize(("name", "picture"), CLOSE_CASES)
def test_blended_operations_are_close(tmp_path: Path, name: str, picture: str) -> None:
    make, largest, mean = CLOSE[name]
    check(tmp_path, picture, make(hr.image("png")), largest, mean)


@pytest.mark.parametrize("policy", ["rand_augment", "trivial_augment_wide"])
def test_policies_do_what_they_told(tmp_path: Path, policy: str) -> None:
    """Nearest pixels may be taken from the other side of a boundary, so a share is compared."""
    picture = PICTURES["upright photograph"]()
    pixels = torch.from_numpy(np.array(picture)).permute(2, 0, 1)
    recipe = getattr(hr.image("png"), policy)()
    seen = set()
    for position in range(40):
        row, drawn = row_and_draws(tmp_path, picture, recipe, position)
        theirs = replay(pixels, recipe._spec["ops"], drawn).numpy()
        seen |= {action["do"] for action in drawn[0]["actions"]}
        off = np.abs(row.astype(int) - theirs.astype(int))
        assert (off > 3).mean() < 0.01, drawn
    assert len(seen) > 6


LAYOUTS = ["CHW", "HWC", "channels_last"]
OPERATIONS = {
    **{name: make for name, make in EQUAL.items() if name != "erasing"},  # of finished rows
    **{name: make for name, (make, *_) in CLOSE.items()},
    "rand_augment": lambda r: r.rand_augment(),
    "trivial_augment_wide": lambda r: r.trivial_augment_wide(),
    "five_crop": lambda r: r.five_crop(20),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_operation_in_every_type_and_layout(tmp_path: Path, name: str) -> None:
    """The same row as in uint8 and CHW, which is compared with torchvision's, normalised by torch
    and its axes moved."""
    plain = OPERATIONS[name](hr.image("png"))
    columns = {("uint8", layout): plain.layout(layout) for layout in LAYOUTS}
    for dtype in ("float32", "float16", "bfloat16"):
        numbers = plain.normalize(MEAN, STD, dtype=dtype)
        columns |= {(dtype, layout): numbers.layout(layout) for layout in LAYOUTS}
    ds = shard(tmp_path, [{"png": encoded(PICTURES["upright photograph"](), "PNG")}] * 2)
    decoded = ds.shuffle(seed=2).decode(**{" ".join(key): each for key, each in columns.items()})
    row = decoded.batch(1).loader(threads=1, to="torch").row_at(1)
    pixels = row["uint8 CHW"][0]
    floats = replay(pixels, [{"op": "normalize", "mean": MEAN, "std": STD}], [])
    for dtype, layout in columns:
        ours = row[f"{dtype} {layout}"][0]
        ours = ours.movedim(-1, -3) if layout == "HWC" else ours
        expected = pixels if dtype == "uint8" else floats.to(getattr(torch, dtype))
        torch.testing.assert_close(ours, expected, rtol=0, atol=0, check_stride=False)


@pytest.mark.parametrize("filter", ["box", "bilinear", "bicubic", "lanczos", "nearest"])
@pytest.mark.parametrize("picture", PICTURES)
def test_scaling_is_that_of_pillow(tmp_path: Path, filter: str, picture: str) -> None:
    """Byte for byte, but where Pillow goes down the columns first, as that is cheaper there."""
    largest = 0
    if picture == "20 x 20000":
        largest = {"nearest": 0, "bicubic": 4, "lanczos": 4}.get(filter, 1)
    image = PICTURES[picture]()
    for size in [(48, 40), (7, 130)]:
        recipe = hr.image("png").resize(size[::-1], filter=filter).layout("HWC")
        row, _ = row_and_draws(tmp_path, image, recipe, 0)
        expected = np.asarray(image.resize(size, Image.Resampling[filter.upper()]))
        expect_close(row, expected, largest, 0.2)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("picture", SMALL)
def test_types_and_layouts(tmp_path: Path, dtype: str, layout: str, picture: str) -> None:
    """float32 to its last bit; narrower types are float32's rounded."""
    image = PICTURES[picture]()
    recipe = hr.image("png").resize((33, 29)).flip().layout(layout)
    if dtype != "uint8":
        recipe = recipe.normalize(MEAN, STD, dtype=dtype)
    ds = shard(tmp_path, [{"png": encoded(image, "PNG")}] * 2)
    loader = ds.decode(image=recipe).batch(2).loader(to="torch", threads=1)
    (batch,) = loader
    assert batch["image"].is_contiguous(
        memory_format=torch.channels_last if layout == "channels_last" else torch.contiguous_format
    )
    for position in range(2):
        row = batch["image"][position]
        row = row.permute(2, 0, 1) if layout == "HWC" else row
        drawn = loader.explain(position, epoch=0)["columns"]["image"]
        scaled = torch.from_numpy(np.array(image.resize((29, 33), Image.Resampling.BILINEAR)))
        theirs = replay(scaled.permute(2, 0, 1), recipe._spec["ops"][1:], drawn[1:])
        assert row.dtype == getattr(torch, dtype)
        torch.testing.assert_close(row, theirs.to(row.dtype), rtol=0, atol=0)


@pytest.mark.parametrize("layout", ["CHW", "HWC"])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("flipped", [False, True])
def test_five_crops_are_torchvisions(
    tmp_path: Path, dtype: str, layout: str, flipped: bool
) -> None:
    """The centre lies between two pixels, on either side of the one that is even."""
    image = PICTURES["upright photograph"]()
    pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1)
    for size in [(30, 44), (31, 42), (131, 97), (1, 1)]:
        recipe = hr.image("png").flip(float(flipped)).five_crop(size).layout(layout)
        if dtype != "uint8":
            recipe = recipe.normalize(MEAN, STD)
        row, drawn = row_and_draws(tmp_path, image, recipe, 0)
        theirs = replay(pixels, recipe._spec["ops"], drawn)
        theirs = theirs.permute(0, 2, 3, 1) if layout == "HWC" else theirs
        expect_close(row, theirs.numpy(), 0, 0)


JPEGS = {
    "420": {"subsampling": 2},
    "422": {"subsampling": 1},
    "444": {"subsampling": 0},
    "progressive": {"progressive": True},
}


@pytest.mark.parametrize("kind", [*JPEGS, "gray", "WEBP", "PNG"])
@pytest.mark.parametrize("decode", ["exact", "fast"])
def test_a_decoded_crop_is_the_crop_of_the_whole(tmp_path: Path, kind: str, decode: str) -> None:
    image = PICTURES["photograph"]()
    image = image.convert("L") if kind == "gray" else image
    name = kind if kind in ("WEBP", "PNG") else "JPEG"
    file = encoded(image, name, **JPEGS.get(kind, {}))
    recipe = hr.image("jpg", decode=decode).layout("HWC")
    ds = shard(tmp_path, [{"jpg": file}] * 24)
    (whole,) = ds.decode(image=recipe).batch(24).loader()
    if decode == "exact":
        expected = np.asarray(Image.open(io.BytesIO(file)).convert("RGB"))
        np.testing.assert_array_equal(whole["image"][0], expected)
    loader = ds.decode(image=recipe.random_crop((61, 83))).batch(24).loader()
    (batch,) = loader
    for row, position in zip(batch["image"], batch.positions, strict=True):
        (drawn,) = loader.explain(int(position), epoch=0)["columns"]["image"]
        top, left, height, width = drawn["box"]
        np.testing.assert_array_equal(
            row, whole["image"][0][top : top + height, left : left + width]
        )


@pytest.mark.parametrize("mixing", ["mixup", "cutmix"])
def test_mixed_rows_are_those_of_torchvision(tmp_path: Path, mixing: str) -> None:
    """One group of rows, and torchvision's own transform with the share that was drawn."""
    from torchvision.transforms import v2

    random = np.random.default_rng(0)
    samples = [
        {"png": encoded(strip(17 + i, 23), "PNG"), "cls": b"%d" % random.integers(5)}
        for i in range(32)
    ]
    recipe = hr.image("png").resize((20, 26)).to_float()
    decoded = shard(tmp_path, samples).shuffle(seed=4, lanes=1).decode(x=recipe, y=hr.integer())
    loader = decoded.batch(8).mix_rows("x", "y", classes=5, **{mixing: 1.0}).loader(to="torch")
    for batch in loader:
        rows = [loader.row_at(int(p), epoch=0) for p in batch.positions]
        x, y = (torch.cat([row[name] for row in rows]) for name in ("x", "y"))
        told = loader.explain(int(batch.positions[0]), epoch=0)["mixed"]
        theirs = v2.MixUp(num_classes=5) if mixing == "mixup" else v2.CutMix(num_classes=5)
        params = {"lam": told["lam"]} if mixing == "mixup" else cut_params(told, 20, 26)
        theirs.make_params = lambda _, params=params: params
        mixed, labels = theirs(x, y)
        torch.testing.assert_close(batch["x"], mixed, rtol=0, atol=1e-6)
        torch.testing.assert_close(batch["y"], labels, rtol=0, atol=1e-6)


def cut_params(told: dict, height: int, width: int) -> dict:
    """CutMix.make_params, with what was drawn."""
    half = 0.5 * (1 - told["lam"]) ** 0.5
    x, y = int(told["centre"][0] * width), int(told["centre"][1] * height)
    across, down = int(half * width), int(half * height)
    box = (max(x - across, 0), max(y - down, 0), min(x + across, width), min(y + down, height))
    left = 1 - (box[2] - box[0]) * (box[3] - box[1]) / (width * height)
    return {"box": box, "lam_adjusted": left}
