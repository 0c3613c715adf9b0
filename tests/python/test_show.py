"""`headrace show` draws the very rows that the loader delivers, with their keys and labels."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import headrace as hr
import numpy as np
import pytest
from PIL import Image
from program import ok, run

CODEC = Path(__file__).parents[1] / "data" / "codec"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A packed data set of 45 JPEGs in three classes."""
    root = tmp_path_factory.mktemp("pictures")
    y, x = np.mgrid[0:96, 0:128]
    for i in range(45):
        folder = root / "source" / ("cat", "dog", "eel")[i % 3]
        folder.mkdir(parents=True, exist_ok=True)
        planes = [(x * 2 + i * 5) % 256, (y * 2 + i * 9) % 256, (x + y + i * 31) % 256]
        Image.fromarray(np.dstack(planes).astype(np.uint8)).save(folder / f"{i:02}.jpg")
    out = root / "packed"
    ok("pack", root / "source", "--out", out, "--label-from", "folder", "--samples", 10)
    return out


def show(dataset: Path, out: Path, *options: object) -> tuple[dict, np.ndarray]:
    report = json.loads(ok("show", dataset, "--out", out, "--json", "--quiet", *options))
    return report, np.asarray(Image.open(out))


def tile(sheet: np.ndarray, row: dict) -> np.ndarray:
    place = row["place"]
    return sheet[place["y"] :, place["x"] :][: place["height"], : place["width"]]


def batch_of(pipeline: hr.Pipeline, epoch: int, step: int, **place: object) -> hr.Batch:
    loader = pipeline.loader(**place)
    loader.load_state_dict(loader.state_at(epoch, step))
    return next(iter(loader))


def test_the_sheet_has_the_pixels_that_a_rank_gets(pictures, tmp_path):
    epoch, step, rank, world = 2, 1, 1, 2
    recipe = hr.image("jpg").random_resized_crop(64).flip()
    pipeline = hr.open(pictures).shuffle(seed=7).decode(image=recipe, label=hr.integer("cls"))
    batch = batch_of(pipeline.batch(6), epoch, step, rank=rank, world=world)
    where = ("--seed", 7, "--epoch", epoch, "--step", step, "--rank", rank, "--world", world)
    recipe_words = "random_resized_crop=64, flip"
    report, sheet = show(
        pictures, tmp_path / "sheet.png", *where, "--batch", 6, "--decode", recipe_words
    )
    assert [row["key"] for row in report["rows"]] == batch.keys
    names = ["cat", "dog", "eel"]
    labels = [f"{label} {names[label]}" for label in batch["label"].tolist()]
    assert [row["label"] for row in report["rows"]] == labels
    for row, image in zip(report["rows"], batch["image"], strict=True):
        assert np.array_equal(tile(sheet, row), np.moveaxis(image, 0, -1))


jpg = hr.image("jpg")

RECIPES = [
    ("resize=48", jpg.resize(48)),
    ("resize=48x80", jpg.resize((48, 80))),
    ("resize((48, 80), filter=bicubic)", jpg.resize((48, 80), filter="bicubic")),
    ("resize_shorter=60; center_crop=48", jpg.resize_shorter(60).center_crop(48)),
    (
        "resize_shorter(60, max_size=70, filter='box')",
        jpg.resize_shorter(60, max_size=70, filter="box"),
    ),
    ("resize_shorter(60, max_size=None)", jpg.resize_shorter(60, max_size=None)),
    ("resize_longer=60", jpg.resize_longer(60)),
    ("resize_longer(60, filter=lanczos)", jpg.resize_longer(60, filter="lanczos")),
    ("resize(48, filter=nearest)", jpg.resize(48, filter="nearest")),
    ("center_crop=64x40", jpg.center_crop((64, 40))),
    ("center_crop=200", jpg.center_crop(200)),
    ("pad=5", jpg.pad(5)),
    ("pad((5, 9), fill=(200, 100, 0))", jpg.pad((5, 9), fill=(200, 100, 0))),
    ("pad((1, 2, 3, 4), mode=reflect)", jpg.pad((1, 2, 3, 4), mode="reflect")),
    (
        "pad(3, mode='edge'), pad(3, mode=symmetric)",
        jpg.pad(3, mode="edge").pad(3, mode="symmetric"),
    ),
    ("random_crop=50", jpg.random_crop(50)),
    (
        "random_crop(96x128, padding=8, fill=7)",
        jpg.random_crop((96, 128), padding=8, fill=7),
    ),
    (
        "random_crop(150, pad_if_needed=True, mode=edge)",
        jpg.random_crop(150, pad_if_needed=True, mode="edge"),
    ),
    (
        "random_resized_crop(48, scale=(0.2, 1)), flip(p=0.3)",
        jpg.random_resized_crop(48, scale=(0.2, 1)).flip(p=0.3),
    ),
    (
        "random_resized_crop((40, 60), ratio=[3/4, 1.5], filter=bicubic)",
        jpg.random_resized_crop((40, 60), ratio=(3 / 4, 1.5), filter="bicubic"),
    ),
    ("flip", jpg.flip()),
    ("flip=1", jpg.flip(1)),
    ("vertical_flip, vertical_flip(0.7)", jpg.vertical_flip().vertical_flip(0.7)),
    ("rotate90", jpg.rotate90()),
    ("rotate90=-1", jpg.rotate90(-1)),
    ("rotate90(turns=None)", jpg.rotate90(turns=None)),
    ("random_affine=30", jpg.random_affine(30)),
    (
        "random_affine((-10, 40), translate=(0.1, 0.2), scale=(0.8, 1.2), shear=5, "
        "filter=bilinear, fill=9, p=0.8)",
        jpg.random_affine(
            (-10, 40),
            translate=(0.1, 0.2),
            scale=(0.8, 1.2),
            shear=5,
            filter="bilinear",
            fill=9,
            p=0.8,
        ),
    ),
    ("random_affine(0, shear=(-5, 5, -9, 9))", jpg.random_affine(0, shear=(-5, 5, -9, 9))),
    ("random_affine(0, shear=(-5, 9))", jpg.random_affine(0, shear=(-5, 9))),
    ("color_jitter(0.4, 0.3, 0.2, 0.1)", jpg.color_jitter(0.4, 0.3, 0.2, 0.1)),
    (
        "color_jitter(brightness=(0.5, 2), hue=(-0.2, 0.1), p=0.6)",
        jpg.color_jitter(brightness=(0.5, 2), hue=(-0.2, 0.1), p=0.6),
    ),
    ("color_jitter(contrast=1.5, saturation=0)", jpg.color_jitter(contrast=1.5, saturation=0)),
    ("random_grayscale", jpg.random_grayscale()),
    ("random_grayscale(p=0.5)", jpg.random_grayscale(p=0.5)),
    ("sharpness=3", jpg.sharpness(3)),
    ("sharpness(0.2, p=1)", jpg.sharpness(0.2, p=1)),
    ("posterize=3", jpg.posterize(3)),
    ("solarize(threshold=100)", jpg.solarize(threshold=100)),
    ("autocontrast", jpg.autocontrast()),
    ("equalize=0.9", jpg.equalize(0.9)),
    ("invert", jpg.invert()),
    ("gaussian_blur=5", jpg.gaussian_blur(5)),
    ("gaussian_blur((3, 7), sigma=1.5, p=0.7)", jpg.gaussian_blur((3, 7), sigma=1.5, p=0.7)),
    ("gaussian_blur(5, (0.5, 3))", jpg.gaussian_blur(5, (0.5, 3))),
    ("rand_augment", jpg.rand_augment()),
    (
        "rand_augment(3, magnitude=12, magnitudes=20, filter=bilinear, fill=128)",
        jpg.rand_augment(3, magnitude=12, magnitudes=20, filter="bilinear", fill=128),
    ),
    ("trivial_augment_wide", jpg.trivial_augment_wide()),
    ("trivial_augment_wide(magnitudes=11)", jpg.trivial_augment_wide(magnitudes=11)),
    (
        "random_erasing(1, scale=(0.1, 0.2), ratio=(0.5, 2), value=(9, 99, 199))",
        jpg.random_erasing(1, scale=(0.1, 0.2), ratio=(0.5, 2), value=(9, 99, 199)),
    ),
    ("five_crop=40", jpg.five_crop(40)),
    ("gray, resize=40", jpg.gray().resize(40)),
    ("channels=unchanged, five_crop=40", jpg.channels("unchanged").five_crop(40)),
    ("channels('rgb')", jpg.channels("rgb")),
    ("decode=fast, resize_shorter=30", hr.image("jpg", decode="fast").resize_shorter(30)),
    (
        'decode="exact", upright=False, pixel_limit=20000',
        hr.image("jpg", upright=False, pixel_limit=20000),
    ),
    (".resize(48).flip(p=0.5)\n  .rotate90()", jpg.resize(48).flip(p=0.5).rotate90()),
]


def as_drawn(image: np.ndarray) -> np.ndarray:
    """Five views below one another; gray in three channels; channels last."""
    planes = np.concatenate(image, axis=1) if image.ndim == 4 else image
    pixels = np.moveaxis(planes, 0, -1)
    return np.broadcast_to(pixels, (*pixels.shape[:2], 3))


@pytest.mark.parametrize(("words", "recipe"), RECIPES, ids=[words for words, _ in RECIPES])
def test_words_mean_what_they_mean_in_python(pictures, tmp_path, words, recipe):
    pipeline = hr.open(pictures).shuffle(seed=5).decode(image=recipe).batch(7)
    batch = batch_of(pipeline, 1, 2, rank=1, world=2)
    where = ("--seed", 5, "--epoch", 1, "--step", 2, "--rank", 1, "--world", 2, "--batch", 7)
    report, sheet = show(pictures, tmp_path / "sheet.png", *where, "--decode", words)
    assert [row["key"] for row in report["rows"]] == batch.keys
    rows = zip(report["rows"], batch["image"], strict=True)
    drawn = [(row, image) for row, image in rows if not row["padded"]]
    assert drawn
    for row, image in drawn:
        assert np.array_equal(tile(sheet, row), as_drawn(image))


def test_every_word_is_tried():
    done = run("show", CODEC, "--out", "-", "--decode", "x")
    words = done.stderr.decode().split("Words: ")[1].strip(" .\n").split(", ")
    floats = ("normalize", "to_float", "layout")
    tried = " ".join(text for text, _ in RECIPES)
    assert {word for word in words if word not in floats} <= set(re.findall(r"\w+", tried))
    methods = {name for name in dir(hr.image()) if not name.startswith("_")}
    assert set(words) - {"decode", "upright", "pixel_limit"} == methods - {"kind", "sources"}


def test_floats_are_drawn_as_the_pixels_they_came_from(pictures, tmp_path):
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    words = f"random_resized_crop=64, layout=HWC, normalize({mean}, std={std}, dtype=float16)"
    report, sheet = show(pictures, tmp_path / "sheet.png", "--batch", 9, "--decode", words)
    plain = jpg.random_resized_crop(64).layout("HWC")
    batch = batch_of(hr.open(pictures).decode(image=plain).batch(9), 0, 0)
    for row, image in zip(report["rows"], batch["image"], strict=True):
        assert np.array_equal(tile(sheet, row), image)
    report, floats = show(pictures, tmp_path / "floats.png", "--decode", "flip=1, to_float")
    _, plain = show(pictures, tmp_path / "plain.png", "--decode", "flip=1")
    for row in report["rows"]:
        assert np.array_equal(tile(floats, row), tile(plain, row))


def test_what_is_erased_after_normalising_has_the_colour_of_the_mean(pictures, tmp_path):
    words = "resize=64, normalize(0.4, 0.2), random_erasing(1)"
    report, sheet = show(pictures, tmp_path / "sheet.png", "--batch", 9, "--decode", words)
    recipe = jpg.resize(64).normalize(0.4, 0.2).random_erasing(1).layout("HWC")
    batch = batch_of(hr.open(pictures).decode(image=recipe).batch(9), 0, 0)
    for row, image in zip(report["rows"], batch["image"], strict=True):
        drawn = tile(sheet, row)
        assert (drawn == 102).all(axis=2).sum() >= 64 * 64 * 0.02
        assert np.array_equal(drawn, np.rint((image * 0.2 + 0.4) * 255).astype(np.uint8))


ORDERS = [
    (("--lanes", 4), {"lanes": 4}, {"rows": 8}),
    (("--window", "4kB"), {"window": "4kB"}, {"rows": 8}),
    (("--lanes", 2, "--window", 9000), {"lanes": 2, "window": 9000}, {"rows": 8}),
    (("--tail", "short"), {}, {"rows": 8, "tail": "short"}),
    (("--tail", "drop"), {}, {"rows": 8, "tail": "drop"}),
]


@pytest.mark.parametrize(("options", "shuffle", "batch"), ORDERS, ids=str)
@pytest.mark.parametrize("step", [0, 1])
def test_options_of_the_order_are_those_of_python(
    pictures, tmp_path, options, shuffle, batch, step
):
    pipeline = hr.open(pictures).shuffle(3, **shuffle).decode(label=hr.integer("cls"))
    rows = batch_of(pipeline.batch(**batch), 1, step, rank=0, world=2)
    where = ("--seed", 3, "--epoch", 1, "--step", step, "--world", 2, "--batch", 8)
    report, _ = show(pictures, tmp_path / "sheet.png", *where, *options)
    assert [row["key"] for row in report["rows"]] == rows.keys


def test_a_total_is_divided_among_the_ranks(pictures, tmp_path):
    pipeline = hr.open(pictures).shuffle(3).decode(label=hr.integer("cls")).batch(total=10)
    for rank in range(3):
        rows = batch_of(pipeline, 0, 1, rank=rank, world=3)
        where = ("--seed", 3, "--step", 1, "--rank", rank, "--world", 3, "--total", 10)
        report, _ = show(pictures, tmp_path / "sheet.png", *where)
        assert [row["key"] for row in report["rows"]] == rows.keys


def test_buckets_are_those_of_python(pictures, tmp_path):
    pipeline = hr.open(pictures).shuffle(3).decode(label=hr.integer("cls"))
    rows = batch_of(pipeline.bucket("jpg", window=4).batch(5), 1, 2)
    where = ("--seed", 3, "--epoch", 1, "--step", 2, "--batch", 5)
    report, _ = show(
        pictures, tmp_path / "sheet.png", *where, "--bucket", "jpg", "--bucket-window", 4
    )
    assert [row["key"] for row in report["rows"]] == rows.keys
    plain, _ = show(pictures, tmp_path / "sheet.png", *where)
    assert [row["key"] for row in plain["rows"]] != rows.keys


def test_a_rank_without_rows_has_an_empty_sheet(pictures, tmp_path):
    where = ("--tail", "short", "--total", 44, "--step", 1, "--world", 2)
    report, _ = show(pictures, tmp_path / "sheet.png", *where, "--decode", "resize=40, to_float")
    assert report["rows"] == []


def test_rows_that_only_fill_the_batch_are_faint(pictures, tmp_path):
    report, sheet = show(pictures, tmp_path / "sheet.png", "--step", 1, "--batch", 32)
    padded = [row for row in report["rows"] if row["padded"]]
    assert len(report["rows"]) == 32 and len(padded) == 19
    faint = [tile(sheet, row).mean() for row in padded]
    assert min(faint) > max(tile(sheet, row).mean() for row in report["rows"][:13])


def test_thumbnails_without_a_recipe(pictures, tmp_path):
    report, sheet = show(pictures, tmp_path / "sheet.png", "--batch", 5, "--columns", 2)
    places = [row["place"] for row in report["rows"]]
    assert {(place["width"], place["height"]) for place in places} == {(160, 120)}
    assert len({place["x"] for place in places}) == 2
    assert len({place["y"] for place in places}) == 3
    assert sheet.ndim == 3 and sheet.shape[2] == 3


def test_the_sheet_goes_to_standard_output_and_is_the_same_each_time(pictures, tmp_path):
    options = ("--seed", 3, "--batch", 9, "--decode", "random_crop=50")
    sheet = ok("show", pictures, "--out", "-", *options)
    ok("show", pictures, "--out", tmp_path / "sheet.png", *options, "--threads", 5)
    assert Image.open(io.BytesIO(sheet)).format == "PNG"
    assert (tmp_path / "sheet.png").read_bytes() == sheet


def test_words_are_drawn_under_the_pictures(pictures, tmp_path):
    report, sheet = show(pictures, tmp_path / "sheet.png", "--batch", 4, "--columns", 4)
    for row in report["rows"]:
        place = row["place"]
        below = sheet[place["y"] + place["height"] :][:30, place["x"] :][:, : place["width"]]
        assert (below < 100).any(), "ink of the key and the label"


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Three JPEGs, of which one ends in its middle."""
    source = tmp_path / "source"
    source.mkdir()
    for name in ("baseline_420", "baseline_444", "cut_scan_half"):
        (source / f"{name}.jpg").write_bytes((CODEC / f"jpeg/{name}.jpg").read_bytes())
    return source


def test_pictures_that_cannot_be_decoded_are_named(damaged, tmp_path):
    report, _ = show(damaged, tmp_path / "sheet.png", "--batch", 3)
    assert [row["key"] for row in report["rows"]] == ["baseline_420", "baseline_444"]
    (error,) = report["errors"]
    assert "JPEG" in error["message"]


def test_pictures_that_cannot_be_decoded_are_gray_or_an_error_when_asked_for(damaged, tmp_path):
    gray = ("--batch", 3, "--on-error", "gray", "--decode", "resize=40")
    report, sheet = show(damaged, tmp_path / "sheet.png", *gray)
    assert len(np.unique(tile(sheet, report["rows"][2]))) == 1
    assert len(report["errors"]) == 1
    out = tmp_path / "none.png"
    done = run("show", damaged, "--out", out, "--batch", 3, "--on-error", "raise")
    assert done.returncode == 4 and b"cut_scan_half" in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--step", 99), 3, b"an epoch has"),
        (("--decode", "crops=3"), 2, b"crops"),
        (("--decode", "resize_short=9"), 2, b"Did you mean resize_shorter? Words: resize, "),
        (("--decode", "center_crop"), 2, b"center_crop needs size"),
        (("--decode", "center_crop=0"), 2, b"a side of 0 x 0"),
        (("--decode", "center_crop=9x"), 2, b"HEIGHTxWIDTH or (height, width), not '9x'"),
        (("--decode", "random_crop(9, 3)"), 2, b"random_crop does not take '3'"),
        (("--decode", "random_crop(9, margin=3)"), 2, b"does not take 'margin=3'"),
        (("--decode", "random_crop(9, size=3)"), 2, b"does not take 'size=3'"),
        (("--decode", "gray=1"), 2, b"gray does not take '1'"),
        (
            ("--decode", "resize_shorter(9, filter=cubic)"),
            2,
            b"As in Python: resize_shorter(pixels, *, max_size=, filter=)",
        ),
        (("--decode", "flip(p=2)"), 2, b"a probability must be between 0 and 1"),
        (("--decode", "pad((1, 2, 3))"), 2, b"not '1, 2, 3'"),
        (("--decode", "random_crop(9"), 2, b"the recipe needs ',' or ')' at its end"),
        (("--decode", "resize(filter='box"), 2, b"a quote that ends 'box'"),
        (("--decode", "resize="), 2, b"the recipe needs a value at its end"),
        (("--decode", "flip, (3)"), 2, b"the recipe needs a word at '(3)'"),
        (("--decode", "random_erasing(value=nan)"), 2, b"not 'value=nan'"),
        (("--batch", 65537), 2, b"more than 65,536 rows"),
        (("--total", 10**6, "--world", 8), 2, b"more than 65,536 rows"),
        (("--lanes", 2), 2, b"--seed"),
        (("--seed", 1, "--window", "x"), 2, b"'x'"),
        (("--bucket", "jpg"), 2, b"--seed"),
        (("--tail", "cut"), 2, b"cut"),
        (("--on-error", "stop"), 2, b"raise, skip, gray"),
        (("--batch", 2, "--total", 2), 2, b"--total"),
        (("--rank", 2, "--world", 2), 2, b"rank"),
    ],
)
def test_what_cannot_be_shown_is_said(pictures, tmp_path, options, code, words):
    done = run("show", pictures, "--out", tmp_path / "sheet.png", *options)
    assert done.returncode == code and words in done.stderr
    assert not (tmp_path / "sheet.png").exists()


def test_a_data_set_without_pictures_names_its_fields(tmp_path):
    (tmp_path / "a.txt").write_text("no picture")
    done = run("show", tmp_path, "--out", tmp_path / "sheet.png")
    assert done.returncode == 2 and b"txt" in done.stderr and b"--image" in done.stderr
