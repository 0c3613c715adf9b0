"""`headrace show` draws the very rows that the loader delivers, with their keys and labels."""

from __future__ import annotations

import io
import json
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


def test_the_sheet_has_the_pixels_that_a_rank_gets(pictures, tmp_path):
    epoch, step, rank, world = 2, 1, 1, 2
    recipe = hr.image("jpg").random_resized_crop(64).flip()
    loader = (
        hr.open(pictures)
        .shuffle(seed=7)
        .decode(image=recipe, label=hr.integer("cls"))
        .batch(6)
        .loader(rank=rank, world=world)
    )
    loader.load_state_dict(loader.state_at(epoch, step))
    batch = next(iter(loader))
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


def test_pictures_that_cannot_be_decoded_are_named(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for name in ("baseline_420", "baseline_444", "cut_scan_half"):
        (source / f"{name}.jpg").write_bytes((CODEC / f"jpeg/{name}.jpg").read_bytes())
    report, _ = show(source, tmp_path / "sheet.png", "--batch", 3)
    assert [row["key"] for row in report["rows"]] == ["baseline_420", "baseline_444"]
    (error,) = report["errors"]
    assert "JPEG" in error["message"]


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--step", 99), 3, b"an epoch has"),
        (("--decode", "crops=3"), 2, b"crops"),
        (("--decode", "center_crop"), 2, b"needs a size"),
        (("--decode", "center_crop=0"), 2, b"size"),
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
