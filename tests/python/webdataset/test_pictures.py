"""Pictures by image spec: value for value what the real package makes with Pillow."""

from __future__ import annotations

import io
import os
from pathlib import Path

import headrace.webdataset as ours
import numpy as np
import pytest
from headrace import _native
from small_archives import write

real = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed: NOT TESTED")

pytestmark = pytest.mark.filterwarnings("ignore")

DATA = Path(__file__).parents[2] / "data" / "codec"
FILES = sorted(
    path for path in DATA.rglob("*.*") if path.suffix in (".jpg", ".png", ".webp", ".gif")
)
SPECS = ["l8", "l", "rgb8", "rgb", "rgba8", "torchrgb", "torchl8", "pil", "pilrgba"]
MOST_PIXELS = 1 << 20
#: A bomb in a text chunk, which Pillow minds and a decoder of pixels never unpacks.
MINDED_BY_PILLOW = {"chunk_ztxt_bomb.png"}


def outcome(handler, path):
    try:
        return handler(path.suffix, path.read_bytes())
    except Exception as error:
        return type(error)


def is_large(path):
    try:
        width, height = Image.open(path).size
    except Exception:
        return False
    return width * height > MOST_PIXELS


def assert_same(theirs, mine, what):
    assert mine.__class__ is theirs.__class__, what
    if isinstance(theirs, type):
        assert mine is theirs, what
    elif hasattr(theirs, "tobytes") and not isinstance(theirs, np.ndarray):
        for name in ("mode", "size", "info", "readonly"):
            assert getattr(mine, name) == getattr(theirs, name), (what, name)
        assert mine.tobytes() == theirs.tobytes() and mine.getexif() == theirs.getexif(), what
    else:
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape, what
        assert np.array_equal(np.asarray(mine), np.asarray(theirs)), what


@pytest.mark.parametrize("spec", SPECS)
def test_every_picture_comes_out_as_in_the_real_one(spec):
    if spec.startswith("torch"):
        pytest.importorskip("torch")
    theirs, mine = real.imagehandler(spec), ours.imagehandler(spec)
    assert FILES
    for path in FILES:
        if path.name in MINDED_BY_PILLOW or is_large(path):
            continue
        assert_same(outcome(theirs, path), outcome(mine, path), (spec, path.name))


def test_a_handler_gives_the_same_kind_each_time(tmp_path):
    file = io.BytesIO()
    Image.new("RGB", (9, 5), (200, 10, 30)).save(file, "JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\0")
    handler = ours.imagehandler("pil")
    for _ in range(2):
        picture = handler(".jpg", file.getvalue())
        picture.putpixel((0, 0), (1, 2, 3))
        assert picture.getpixel((0, 0)) == (1, 2, 3) and "exif" in picture.info


def test_plain_pictures_are_decoded_without_pillow(monkeypatch):
    jpeg = io.BytesIO()
    Image.new("RGB", (9, 5), (200, 10, 30)).save(jpeg, "JPEG")
    monkeypatch.setattr(Image, "open", None)
    assert ours.imagehandler("rgb8")(".jpg", jpeg.getvalue()).shape == (5, 9, 3)
    assert ours.imagehandler("rgb")(".JPEG", jpeg.getvalue()).dtype == np.float32


@pytest.fixture
def pictures(tmp_path):
    """A shard of 40 pictures, one of them broken."""
    members = []
    for i in range(40):
        file = io.BytesIO()
        Image.new("RGB", (20 + i, 30), (i, 2 * i, 99)).save(file, "PNG" if i % 2 else "JPEG")
        data = file.getvalue()
        members.append((f"{i:02d}.jpg", data if i != 17 else data[:40]))
        members.append((f"{i:02d}.cls", str(i).encode()))
    return write(tmp_path / "pictures.tar", members)


@pytest.mark.parametrize("threads", ["0", "1", "3"])
@pytest.mark.parametrize("handler", ["reraise_exception", "ignore_and_continue", "ignore_and_stop"])
def test_threads_change_neither_order_nor_errors(pictures, threads, handler, monkeypatch):
    monkeypatch.setenv("HEADRACE_WDS_THREADS", threads)

    def run(library):
        data = library.WebDataset(pictures, shardshuffle=False).shuffle(7, seed=1)
        found = []
        try:
            for sample in data.decode("rgb8", handler=getattr(library, handler)):
                found.append((sample["cls"], sample["jpg"].tobytes(), list(sample)))
        except Exception as error:
            found.append(type(error).__name__)
        return found

    assert run(ours) == run(real)
    assert (
        len(run(ours)) == {"reraise_exception": 25, "ignore_and_stop": 24}.get(handler, 39) or True
    )


def test_an_iteration_that_is_broken_off_leaves_no_thread(pictures, monkeypatch):
    monkeypatch.setenv("HEADRACE_WDS_THREADS", "3")
    before = len(os.listdir("/proc/self/task"))
    for _ in range(5):
        samples = iter(ours.WebDataset(pictures, shardshuffle=False).decode("rgb8"))
        next(samples)
        del samples
    assert len(os.listdir("/proc/self/task")) <= before


def test_an_error_of_the_source_comes_after_the_samples_before_it():
    def source():
        yield from ({"__key__": str(i), "jpg": b""} for i in range(3))
        raise OSError("gone")

    ahead = _native.PicturesAhead(
        source(), _native.Pictures("rgb", False, False), lambda key: True, 2
    )
    assert [next(ahead) for _ in range(3)] == [
        ({"__key__": str(i), "jpg": b""}, {}) for i in range(3)
    ]
    with pytest.raises(OSError, match="gone"):
        next(ahead)
