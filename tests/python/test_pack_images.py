"""What pack does to pictures, against Pillow: shrunk, made baseline, decoded, checked."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from pictures import (
    CODEC,
    CORRUPT,
    GOOD,
    members,
    photo,
    pixels,
    write_mixed,
    write_photos,
)
from PIL import Image, ImageOps
from program import ok, run


def pack(source: Path, out: Path, *options: object) -> tuple[dict, dict[str, bytes]]:
    report = json.loads(ok("pack", source, "--out", out, "--json", "--no-fsync", *options))
    assert json.loads(ok("verify", out, "--json"))["findings"] == []
    return report, members(out)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return write_photos(tmp_path / "photos")


def test_larger_pictures_shrink_and_the_others_stay_byte_for_byte(photos, tmp_path):
    recipe = "max-side=256, quality=85"
    report, packed = pack(photos, tmp_path / "out", "--image", recipe)
    shrunk = 0
    for path in sorted(photos.glob("*.jpg")):
        original, now = path.read_bytes(), packed[path.name]
        upright = ImageOps.exif_transpose(Image.open(path))
        longer = max(upright.size)
        if longer <= 256:
            assert now == original
            continue
        shrunk += 1
        image = Image.open(io.BytesIO(now))
        assert max(image.size) == 256 and image.getexif().get(0x0112, 1) == 1
        assert not image.info.get("progressive")
        # The same scaling, then the same quality: what is left is JPEG's own loss.
        scaled = upright.resize(image.size, Image.Resampling.BILINEAR)
        expected = io.BytesIO()
        scaled.save(expected, "jpeg", quality=85)
        difference = np.abs(pixels(now).astype(int) - pixels(expected.getvalue()).astype(int))
        assert difference.mean() < 1
    gained = report["pictures"]
    assert shrunk > 30 and gained["changed"] == shrunk and gained["pictures"] == 60
    originals = {p.name: p.stat().st_size for p in photos.glob("*.jpg")}
    assert gained["bytes_before"] == sum(originals.values())
    assert gained["bytes_after"] == sum(len(packed[name]) for name in originals)
    assert gained["timed"] > 0
    assert 0 < gained["decode_seconds_after"] < gained["decode_seconds_before"]
    assert all(packed[path.name] == path.read_bytes() for path in photos.glob("*.cls"))


def test_baseline_has_the_same_pixels_and_metadata(photos, tmp_path):
    report, packed = pack(photos, tmp_path / "out", "--jpeg", "baseline")
    changed = 0
    for path in photos.glob("*.jpg"):
        before, after = Image.open(path), Image.open(io.BytesIO(packed[path.name]))
        assert not after.info.get("progressive")
        assert np.array_equal(np.asarray(before), np.asarray(after))
        assert dict(before.getexif()) == dict(after.getexif())
        assert (packed[path.name] == path.read_bytes()) == (not before.info.get("progressive"))
        changed += bool(before.info.get("progressive"))
    assert report["pictures"]["changed"] == changed == 20


def test_stripped_pictures_keep_nothing_but_their_orientation(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 8, "the maker"
    photo(64, 48).save(source / "turned.jpg", exif=exif, comment=b"a comment")
    shutil.copy(CODEC / "jpeg/icc_srgb.jpg", source / "profile.jpg")
    _, packed = pack(source, tmp_path / "out", "--jpeg", "baseline,strip")
    turned = Image.open(io.BytesIO(packed["turned.jpg"]))
    assert dict(turned.getexif()) == {0x0112: 8} and "comment" not in turned.info
    assert "icc_profile" not in Image.open(io.BytesIO(packed["profile.jpg"])).info
    for name, data in packed.items():
        assert np.array_equal(pixels(data), pixels((source / name).read_bytes()))


@pytest.mark.parametrize("side", [None, 100])
def test_raw_pictures_are_the_arrays_that_pillow_decodes(tmp_path, side):
    source = tmp_path / "source"
    source.mkdir()
    for name in GOOD:
        shutil.copy(CODEC / f"jpeg/{name}.jpg", source)
    photo(120, 90).save(source / "colours.png")
    photo(120, 90).convert("L").save(source / "grays.png")
    photo(300, 90).save(source / "wide.png")
    photo(30, 20).save(source / "two.left.png")
    (source / "colours.txt").write_text("no picture")
    recipe = "raw-uint8" if side is None else f"raw-uint8, max-side={side}"
    report, packed = pack(source, tmp_path / "out", "--image", recipe)
    assert packed.pop("colours.txt") == b"no picture"
    assert set(report["fields"]) == {"npy", "left.npy", "txt"}
    for path in [p for p in source.iterdir() if p.suffix != ".txt"]:
        array = np.load(io.BytesIO(packed.pop(path.stem + ".npy")))
        image = Image.open(path)
        longer = max(image.size)
        if side is not None and longer > side:
            size = [max(1, n * side // longer) for n in image.size]
            image = image.resize(size, Image.Resampling.BILINEAR)
        expected = np.asarray(image)
        assert array.dtype == np.uint8 and array.shape[2] == (1 if image.mode == "L" else 3)
        difference = array.squeeze(-1) - expected if image.mode == "L" else array - expected
        assert np.minimum(difference, -difference).max() <= (0 if side is None else 1), path
    assert packed == {}


def test_two_pictures_that_would_become_one_array_are_named(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    photo(20, 20).save(source / "a.jpg")
    photo(20, 20).save(source / "a.png")
    done = run("pack", source, "--out", tmp_path / "out", "--image", "raw-uint8")
    assert done.returncode == 2
    assert b"a.jpg" in done.stderr and b"a.png" in done.stderr


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return write_mixed(tmp_path / "mixed")


def test_corrupt_pictures_are_left_out_and_listed(mixed, tmp_path):
    report, packed = pack(mixed, tmp_path / "out", "--drop-corrupt")
    lost = {sample["key"]: sample for sample in report["skipped"]}
    assert set(lost) == {*CORRUPT, "noise"}
    for key, sample in lost.items():
        assert Path(sample["file"]).stem == key and sample["corrupt"] and sample["reason"]
    assert "Huffman" in lost["bad_huffman_table"]["reason"]
    assert report["corrupt_samples"] == report["skipped_samples"] == len(lost)
    assert report["samples"] == len(GOOD) + 1
    kept = {f"{name}.{field}" for name in GOOD for field in ("jpg", "cls")}
    assert set(packed) == kept | {"words.txt"}
    assert all(data == (mixed / name).read_bytes() for name, data in packed.items())


def test_people_are_told_what_was_left_out(mixed, tmp_path):
    told = run("pack", mixed, "--out", tmp_path / "out", "--drop-corrupt").stderr.decode()
    assert str(mixed / "bad_huffman_table.jpg") in told
    assert "left out: 6 samples in all, 6 with a corrupt picture" in told


def test_without_the_option_a_corrupt_picture_stops_a_pack_that_has_to_decode_it(mixed, tmp_path):
    done = run("pack", mixed, "--out", tmp_path / "out", "--image", "raw-uint8", "--json")
    error = json.loads(done.stderr)["error"]
    assert done.returncode == 4 and "--drop-corrupt" in error["hint"]
    assert str(mixed / "bad_huffman_table.jpg") in error["message"]
    assert not (tmp_path / "out/headrace.json").exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--image", "max-side=128, quality=70", "--drop-corrupt"),
        ("--image", "raw-uint8", "--drop-corrupt"),
        ("--jpeg", "baseline,strip", "--drop-corrupt"),
    ],
)
def test_the_same_bytes_whatever_the_threads(photos, mixed, tmp_path, options):
    made = []
    for threads in (1, 2, 5):
        out = tmp_path / f"out{threads}"
        everything = (photos, mixed, "--out", out, "--samples", "17", "--shuffle", "3")
        ok("pack", *everything, *options, "--threads", threads)
        files = sorted(path for path in out.rglob("*") if path.is_file())
        made.append({str(path.relative_to(out)): path.read_bytes() for path in files})
    assert made[0] == made[1] == made[2]


def test_pictures_of_many_megabytes_change_too(tmp_path):
    """They are larger than what is read at once, and a corrupt one among them is taken back."""
    source = tmp_path / "source"
    source.mkdir()
    noise = np.random.default_rng(1).integers(0, 256, (1500, 1500, 3), dtype=np.uint8)
    for name in "abc":
        Image.fromarray(noise).save(source / f"{name}.png", compress_level=0)
        (source / f"{name}.bin").write_bytes(name.encode() * 5_000_000)
    cut = (source / "b.png").read_bytes()[:-1000]
    (source / "b.png").write_bytes(cut)
    report, packed = pack(source, tmp_path / "out", "--image", "raw-uint8", "--drop-corrupt")
    assert set(packed) == {"a.npy", "a.bin", "c.npy", "c.bin"}
    assert np.array_equal(np.load(io.BytesIO(packed["a.npy"])), noise)
    assert packed["c.bin"] == b"c" * 5_000_000
    assert [sample["key"] for sample in report["skipped"]] == ["b"]


@pytest.mark.parametrize(
    "options",
    [
        ("--image", "max-side=0"),
        ("--image", "max-side=512.5"),
        ("--image", "quality=90"),
        ("--image", "max-side=10, quality=101"),
        ("--image", "raw-int7"),
        ("--image", "raw-uint8", "--jpeg", "baseline"),
        ("--jpeg", "progressive"),
    ],
)
def test_wrong_recipes_are_refused(photos, tmp_path, options):
    done = run("pack", photos, "--out", tmp_path / "out", *options)
    assert done.returncode == 2 and done.stderr.startswith(b"error: ")
    assert not (tmp_path / "out").exists()


def test_another_recipe_is_another_data_set(photos, tmp_path):
    out = tmp_path / "out"
    pack(photos, out, "--image", "max-side=128")
    assert json.loads(ok("pack", photos, "--out", out, "--image", "max-side=128", "--json"))[
        "complete_before"
    ]
    assert run("pack", photos, "--out", out, "--image", "max-side=64").returncode == 2


PYTHON_OPTIONS = {
    "max-side": ({"max_side": 160, "quality": 80}, ("--image", "max-side=160, quality=80")),
    "raw": ({"raw": True, "max_side": 100}, ("--image", "raw-uint8, max-side=100")),
    "baseline": ({"jpeg": "baseline,strip"}, ("--jpeg", "baseline,strip")),
    "corrupt": ({"drop_corrupt": True}, ("--drop-corrupt",)),
}


@pytest.mark.parametrize("name", PYTHON_OPTIONS)
def test_python_packs_as_the_program_does(photos: Path, tmp_path: Path, name: str) -> None:
    """The data sets have the same fingerprint, so the same bytes."""
    import headrace as hr

    options, words = PYTHON_OPTIONS[name]
    shutil.copy(CODEC / "jpeg" / "cut_scan_half.jpg", photos / "99.jpg")
    options = {"drop_corrupt": True, **options}
    program, there = pack(photos, tmp_path / "a", "--drop-corrupt", *words)
    python = hr.pack(photos, tmp_path / "b", **options)
    assert python["fingerprint"] == program["fingerprint"]
    assert members(tmp_path / "b") == there
    assert python["corrupt_samples"] == 1 and python["samples"] == 60
    if name != "corrupt":
        pictures = python["pictures"]
        assert pictures["changed"] > 0 and pictures["bytes_before"] != pictures["bytes_after"]
        assert pictures["timed"] > 0 and pictures["decode_seconds_after"] > 0


def test_picture_options_that_make_no_sense_are_refused(photos: Path, tmp_path: Path) -> None:
    import headrace as hr

    for options in ({"jpeg": "progressive"}, {"max_side": -1}, {"max_side": 9, "quality": 0}):
        with pytest.raises(hr.UsageError):
            hr.pack(photos, tmp_path / "out", **options)
