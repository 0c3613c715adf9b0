"""Pictures decoded straight into the rows of their batch, beside the batches of the real package.

Shards are drawn from a seed: most pictures have one size, some have another, are damaged, or are of
a kind that only Pillow reads. What comes, up to which error, must not differ.
"""

from __future__ import annotations

import io
import os
import pickle
import random
from pathlib import Path
from typing import Any

import headrace.webdataset as ours
import pytest
from headrace.webdataset import autodecode, straight_batches
from outcomes import outcome, plain
from small_archives import archive, write

real = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed: NOT TESTED")

pytestmark = pytest.mark.filterwarnings("ignore")

CASES = 240
SPECS = ["l8", "rgb8", "rgba8", "l", "rgb", "rgba"]
HANDLERS = ("reraise_exception", "ignore_and_continue", "ignore_and_stop")


def picture(draw: random.Random, mode: str = "RGB", size: tuple[int, int] = (9, 7)) -> Any:
    return Image.frombytes(mode, size, draw.randbytes(len(mode) * size[0] * size[1]))


def encoded(picture: Any, kind: str) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind)
    return file.getvalue()


def odd_picture(draw: random.Random) -> bytes:
    damaged = encoded(picture(draw), "PNG")
    return draw.choice(
        [
            encoded(picture(draw, size=(7, 9)), "JPEG"),
            encoded(picture(draw, size=(8, 7)), "PNG"),
            encoded(picture(draw, "CMYK"), "JPEG"),
            encoded(picture(draw).convert("P"), "PNG"),
            encoded(picture(draw), "GIF"),
            encoded(picture(draw, "L"), "JPEG"),
            encoded(picture(draw, "RGBA"), "PNG"),
            damaged[: draw.randrange(len(damaged))],
            encoded(picture(draw), "JPEG")[:-20],
            b"",
            b"no picture",
        ]
    )


def sample_of(draw: random.Random, number: int, odd: float) -> list[tuple[str, bytes]]:
    name = draw.choice(["jpg", "jpg", "png"]) if odd else "jpg"
    fields = {
        name: encoded(picture(draw), draw.choice(["JPEG", "PNG"])),
        "seg.png": encoded(picture(draw, "L", (4, 3)), "PNG"),
        "cls": b"%d" % number,
    }
    for key in (name, "seg.png"):
        if draw.random() < odd:
            fields[key] = odd_picture(draw)
    if draw.random() < odd / 2:
        fields["cls"] = draw.choice([b"x", b"9" * 30])
    if draw.random() < odd / 4:
        del fields[name]
    return [(f"{number:05d}.{field}", data) for field, data in fields.items()]


def write_shards(draw: random.Random, folder: Path) -> list[str]:
    odd = draw.choice([0, 0.01, 0.05, 0.4])
    paths = []
    for shard in range(draw.randint(1, 3)):
        numbers = range(100 * shard, 100 * shard + draw.randint(1, 40))
        content = archive([m for number in numbers for m in sample_of(draw, number, odd)])
        if draw.random() < 0.1:
            content = content[: draw.randrange(512, len(content)) & ~511]
        paths.append(str(folder / f"{shard}.tar"))
        Path(paths[-1]).write_bytes(content)
    return paths


def pipeline(draw: random.Random, library: Any, shards: list[str], specs: list[str]) -> Any:
    """Drawn anew for each library from an equal `draw`."""

    def handler(names: Any = HANDLERS) -> dict[str, Any]:
        return {"handler": getattr(library, draw.choice(names))}

    # That one stops at a damaged shard is ours alone.
    data = library.WebDataset(shards, shardshuffle=False, **handler(HANDLERS[:2]))
    if library is ours:
        data = data.strict_compat()  # a shard that ends early is a shorter one
    if draw.random() < 0.4:
        data = data.shuffle(draw.choice([2, 30]), seed=draw.randrange(9))
    if draw.random() < 0.2:
        data = data.rename(image="jpg;png", cls="cls", seg="seg.png", **handler())
        data = data.rename(png="image", keep=draw.random() < 0.5, **handler())
    only = {"only": draw.choice([["jpg", "png"], "cls"])} if draw.random() < 0.2 else {}
    data = data.decode(draw.choice(specs), **only, **handler())
    choice = draw.random()
    if choice < 0.7:
        names = draw.sample(["jpg;png", "png;jpg", "seg.png", "cls", "__key__"], 2)
        data = data.to_tuple(*names, **handler())
    elif choice < 0.85:
        data = data.extract_keys("*.jpg;*.png", "cls", duplicate_is_error=False)
    data = data.batched(draw.choice([1, 2, 7, 20]), partial=draw.random() < 0.7)
    if draw.random() < 0.2:
        data = data.slice(draw.randrange(9))
    return data


def assert_same_batches(seeds: range, specs: list[str], folder: Path, monkeypatch: Any) -> None:
    batches = 0
    for seed in seeds:
        monkeypatch.setenv("HEADRACE_WDS_THREADS", str(seed % 3))
        shards = write_shards(random.Random(seed), folder)
        theirs, mine = (
            outcome(pipeline(random.Random(seed), library, shards, specs))
            for library in (real, ours)
        )
        assert mine == theirs, seed
        batches += len(mine)
    assert batches > len(seeds)


@pytest.mark.parametrize("tenth", range(10))
def test_batches_of_odd_pictures_are_those_of_the_real_one(tenth, tmp_path, monkeypatch):
    assert_same_batches(range(tenth, CASES, 10), SPECS, tmp_path, monkeypatch)


def test_batches_of_torch_tensors_are_those_of_the_real_one(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    specs = ["torchl8", "torchrgb8", "torchrgb", "torch"]
    assert_same_batches(range(CASES, CASES + 40), specs, tmp_path, monkeypatch)


@pytest.fixture
def equal_pictures(tmp_path):
    """A shard of 50 pictures of one size."""
    draw = random.Random(1)
    members = []
    for i in range(50):
        members.append((f"{i:02d}.jpg", encoded(picture(draw), "JPEG")))
        members.append((f"{i:02d}.cls", str(i).encode()))
    return write(tmp_path / "equal.tar", members)


def batches_of(library: Any, shard: str, size: int = 16) -> Any:
    data = library.WebDataset(shard, shardshuffle=False).shuffle(20, seed=3)
    return data.decode("rgb8").to_tuple("jpg", "cls").batched(size)


@pytest.mark.parametrize("threads", ["0", "3"])
def test_no_array_is_made_of_a_picture(equal_pictures, monkeypatch, threads):
    monkeypatch.setenv("HEADRACE_WDS_THREADS", threads)
    for name in ("decode", "decode1", "decode_rest"):
        monkeypatch.delattr(autodecode.Decoder, name)
    arrays = []

    def finished(self, array):
        arrays.append(array.shape)
        return array

    monkeypatch.setattr(straight_batches._Fields, "finished", finished)
    batches = list(batches_of(ours, equal_pictures))
    assert arrays == [(16, 7, 9, 3)] * 3 + [(2, 7, 9, 3)]
    assert [images.shape for images, _ in batches] == arrays
    for images, _ in batches:
        images[:] = 0  # the batch's own memory


def test_only_an_odd_picture_takes_its_batch_through_the_stages(tmp_path, monkeypatch):
    draw = random.Random(2)
    files = [encoded(picture(draw), "JPEG") for _ in range(40)]
    files[17] = encoded(picture(draw, "CMYK"), "JPEG")  # for Pillow, but of their size
    shard = write(tmp_path / "odd.tar", [(f"{i:02d}.jpg", file) for i, file in enumerate(files)])
    seen = []
    finish = straight_batches._Fields.finish

    def counted(self, sample, ready):
        seen.append((sample["__key__"], list(ready)))
        return finish(self, sample, ready)

    monkeypatch.setattr(straight_batches._Fields, "finish", counted)
    mine, theirs = (
        outcome(library.WebDataset(shard, shardshuffle=False).decode("rgb8").batched(8))
        for library in (ours, real)
    )
    assert mine == theirs and len(mine) == 5
    assert seen == [("17", [])] + [(f"{i:02d}", ["jpg"]) for i in range(16, 24) if i != 17]


def test_a_picture_left_out_moves_the_others_up(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_WDS_THREADS", "2")
    draw = random.Random(3)
    files = [encoded(picture(draw), "JPEG") for _ in range(60)]
    for broken in (0, 9, 10, 31, 59):
        files[broken] = files[broken][:-30]
    shard = write(tmp_path / "left.tar", [(f"{i:02d}.jpg", file) for i, file in enumerate(files)])
    mine, theirs = (
        outcome(
            library.WebDataset(shard, shardshuffle=False)
            .decode("rgb8", handler=library.ignore_and_continue)
            .to_tuple("jpg", "__key__")
            .batched(8)
        )
        for library in (ours, real)
    )
    assert mine == theirs and len(mine) == 7


@pytest.mark.parametrize("around", ["with_epoch", "repeat", "slice", "unbatched"])
def test_what_stands_around_batches_is_as_it_was(equal_pictures, around):
    def run(library):
        data = batches_of(library, equal_pictures, 8)
        if around == "with_epoch":
            return outcome(data.with_epoch(17))
        if around == "repeat":
            return outcome(data.repeat(2))
        return outcome(data.slice(3) if around == "slice" else data.unbatched().batched(5))

    assert run(ours) == run(real)


def test_a_pipeline_is_pickled_while_it_runs(equal_pictures):
    data = batches_of(ours, equal_pictures)
    running = iter(data)
    first = plain(next(running))
    again = outcome(pickle.loads(pickle.dumps(data)))
    assert [first, *map(plain, running)] == again == outcome(batches_of(real, equal_pictures))


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_batches_of_workers_are_those_of_the_real_one(equal_pictures, start):
    data = pytest.importorskip("torch.utils.data")

    def run(library):
        loader = data.DataLoader(
            batches_of(library, equal_pictures),
            batch_size=None,
            num_workers=1,
            multiprocessing_context=start,
        )
        return outcome(loader)

    assert run(ours) == run(real)


def test_an_iteration_that_is_broken_off_leaves_no_thread(equal_pictures, monkeypatch):
    monkeypatch.setenv("HEADRACE_WDS_THREADS", "3")
    before = len(os.listdir("/proc/self/task"))
    for count in range(6):
        batches = iter(batches_of(ours, equal_pictures, 4))
        for _ in range(count):
            next(batches)
        del batches
    assert len(os.listdir("/proc/self/task")) <= before
