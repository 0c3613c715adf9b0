"""Batches made from the bytes of fields in C++, beside those that the real package makes.

Shards are drawn from a seed: most samples are plain, some are not (a field is missing, damaged, of
another type or shape), and a few shards end early. What comes, up to which error, must not differ.
"""

from __future__ import annotations

import functools
import io
import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import headrace.webdataset as ours
import numpy as np
import pytest
from headrace.webdataset import autodecode, collation, straight_batches
from outcomes import outcome
from small_archives import archive

real = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")

pytestmark = pytest.mark.filterwarnings("ignore")

CASES = 400


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


ODD_FIELDS: dict[str, list[bytes]] = {
    "npy": [
        npy(np.zeros((2, 3), "f8")),
        npy(np.zeros((3, 2), "f4")),
        npy(np.asfortranarray(np.ones((2, 3), "f4"))),
        npy(np.ones((2, 3), ">f4")),
        npy(np.ones((2, 3), "f4"))[:-1],
        b"",
    ],
    "cls": [b"x", b"", b" 7\n", b"+7", b"-3", b"1_0", b"9" * 18, b"9" * 30, b"1 2", b"\x007"],
    "txt": [b"\xff", "ä€𝄞".encode(), b"", b"\xed\xa0\x80", b"a\0b"],
    "bin": [b"", b"1" * 5000],
    "json": [b"{", b"7", b'{"a": NaN}'],
}
FIELDS = list(ODD_FIELDS)
ERRORS = ("reraise_exception", "ignore_and_continue", "ignore_and_stop")


def sample_of(draw: random.Random, number: int, odd: float) -> list[tuple[str, bytes]]:
    fields = {
        "npy": npy(np.full((2, 3), number, "f4")),
        "cls": b"%d" % number,
        "txt": b"text %d" % number,
        "bin": draw.randbytes(5),
        "json": json.dumps({"n": number}).encode(),
    }
    for name in FIELDS:
        if draw.random() < odd:
            fields[name] = draw.choice(ODD_FIELDS[name])
        if draw.random() < odd / 3:
            del fields[name]
    if draw.random() < odd:
        fields["more"] = b"1"
    return [(f"{number:05d}.{name}", data) for name, data in fields.items()]


def write_shards(draw: random.Random, folder: Path) -> list[str]:
    odd = draw.choice([0, 0, 0.002, 0.02, 0.3])
    paths = []
    for shard in range(draw.randint(1, 3)):
        samples = range(100 * shard, 100 * shard + draw.randint(1, 40))
        content = archive([m for number in samples for m in sample_of(draw, number, odd)])
        if draw.random() < 0.1:
            content = content[: draw.randrange(512, len(content)) & ~511]
        paths.append(str(folder / f"{shard}.tar"))
        Path(paths[-1]).write_bytes(content)
    return paths


def pipeline(draw: random.Random, library: Any, shards: list[str]) -> Any:
    """Drawn anew for each library from an equal `draw`."""

    def handler(chance: float) -> dict[str, Any]:
        name = draw.choice(ERRORS) if draw.random() < chance else ERRORS[0]
        return {"handler": getattr(library, name)}

    data = library.WebDataset(shards, shardshuffle=False, empty_check=draw.random() < 0.5)
    if library is ours:
        data = data.strict_compat()  # a shard that ends early is a shorter one
    if draw.random() < 0.3:
        data = data.shuffle(draw.choice([2, 30]), seed=draw.randrange(9))
    if draw.random() < 0.8:
        options: dict[str, Any] = {} if draw.random() < 0.7 else {"only": draw.choice(FIELDS)}
        if draw.random() < 0.1:
            options["partial"] = True
        data = data.decode(*draw.choice([(), (), ("rgb8",)]), **options, **handler(0.4))
    if draw.random() < 0.8:
        names = [*FIELDS, "__key__", "__url__", "nope;cls", "cls;nope", "txt;json"]
        keys = draw.sample(names, draw.randint(1, 4))
        if draw.random() < 0.05:
            keys.append("nope")
        more = {} if draw.random() < 0.8 else {"missing_is_error": False}
        data = data.to_tuple(*keys, **more, **handler(0.4))
    return data.batched(draw.choice([1, 2, 7, 20]), partial=draw.random() < 0.7)


@pytest.mark.parametrize("tenth", range(10))
def test_batches_of_odd_samples_are_those_of_the_real_one(tenth, tmp_path):
    batches = 0
    for seed in range(tenth, CASES, 10):
        shards = write_shards(random.Random(seed), tmp_path)
        theirs, mine = (
            outcome(pipeline(random.Random(seed), library, shards)) for library in (real, ours)
        )
        assert mine == theirs, seed
        batches += len(mine)
    assert batches > CASES / 10


def test_a_batch_is_made_without_the_decoder_and_the_stacking_of_python(tmp_path, monkeypatch):
    members = [m for i in range(50) for m in sample_of(random.Random(i), i, 0)]
    (tmp_path / "a.tar").write_bytes(archive(members))
    for name in ("decode", "decode1"):
        monkeypatch.delattr(autodecode.Decoder, name)
    monkeypatch.setattr(collation, "combine_values", None)
    data = ours.WebDataset(str(tmp_path / "a.tar"), shardshuffle=False).decode(only="npy cls txt")
    for columns in data.to_tuple("npy", "cls", "txt", "bin", "__key__").batched(16):
        arrays, labels, texts, raw, keys = columns
        assert (arrays.dtype, arrays.shape) == (np.float32, (len(keys), 2, 3))
        assert labels.dtype == np.int64 and np.array_equal(arrays[:, 0, 0], labels)
        assert texts == [f"text {label}" for label in labels] and type(raw[0]) is bytes
        arrays[:] = 0  # the batch's own memory


def test_samples_are_no_python_objects(tmp_path):
    """Those that the shuffle holds are no memory of Python's; with a function between, they are."""
    members = [m for i in range(400) for m in sample_of(random.Random(i), i, 0)]
    (tmp_path / "a.tar").write_bytes(
        archive([(name, npy(np.zeros(2000)) if ".npy" in name else data) for name, data in members])
    )
    data = ours.WebDataset(str(tmp_path / "a.tar"), shardshuffle=False).shuffle(300, initial=300)

    def most_memory(data: Any) -> int:
        tracemalloc.start()
        for arrays, _ in data.decode(only="npy cls").to_tuple("npy", "cls").batched(2):
            assert arrays.shape == (2, 2000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    most_memory(data)
    held = 300 * 2000 * 8
    assert most_memory(data) < held / 4
    assert most_memory(data.map(lambda sample: sample)) > held


def test_stages_that_choose_fields_are_part_of_it(tmp_path, monkeypatch):
    members = [m for i in range(50) for m in sample_of(random.Random(i), i, 0)]
    (tmp_path / "a.tar").write_bytes(archive(members))
    path = str(tmp_path / "a.tar")
    variants = [
        lambda data: data.rename(x="npy", y="cls;nope", __key__="__key__", keep=False).decode(),
        lambda data: data.decode().rename(label="cls").extract_keys("label", "*npy", "txt"),
        lambda data: data.rename_keys(("a.npy", "npy"), ("__key__", "__key__")).decode(),
        lambda data: data.decode("rgb8").rename(key="__key__"),
        lambda data: data,
    ]
    theirs = [
        outcome(variant(real.WebDataset(path, shardshuffle=False)).batched(16))
        for variant in variants
    ]
    monkeypatch.setattr(straight_batches._Fields, "finish", None)
    for variant, expected in zip(variants, theirs, strict=True):
        data = variant(ours.WebDataset(path, shardshuffle=False)).batched(16)
        assert outcome(data) == expected and len(expected) == 4


def test_decoders_of_the_user_are_asked(tmp_path, monkeypatch):
    (tmp_path / "a.tar").write_bytes(archive([("1.cls", b"3"), ("2.cls", b"4")]))
    data = ours.WebDataset(str(tmp_path / "a.tar"), shardshuffle=False)
    halved = data.decode(ours.handle_extension("cls", lambda data: int(data) / 2))
    assert [list(labels) for (labels,) in halved.to_tuple("cls").batched(2)] == [[1.5, 2.0]]
    monkeypatch.setitem(autodecode.decoders, "cls", lambda data: int(data) * 10)
    batches = data.decode().to_tuple("cls").batched(2)
    assert [list(labels) for (labels,) in batches] == [[30, 40]]
    monkeypatch.setitem(autodecode.decoders, "npy", autodecode.decoders["npy"])


def test_collations_of_the_user_see_samples(tmp_path):
    (tmp_path / "a.tar").write_bytes(archive([("1.cls", b"3"), ("2.cls", b"4")]))
    data = ours.WebDataset(str(tmp_path / "a.tar"), shardshuffle=False).decode().to_tuple("cls")
    own = functools.partial(collation.default_collation_fn, combine_scalars=False)
    assert list(data.batched(2, collation_fn=own)) == [([3, 4],)]
    assert list(data.batched(2, collation_fn=None)) == [[(3,), (4,)]]
