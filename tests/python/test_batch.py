"""Batches: columns without a copy, ragged columns, and memory that stays."""

from __future__ import annotations

import gc
import io
import json
import weakref

import headrace as hr
import numpy as np
import pytest


@pytest.fixture
def ds(shards):
    return hr.open(shards(40, 2))


def first(pipeline, **options):
    return next(iter(pipeline.loader(**options)))


def test_a_batch_tells_what_it_is(ds):
    batch = first(ds.decode(n=hr.integer(), words=hr.text("txt")).batch(8))
    assert len(batch) == 8
    assert batch.fields == ["n", "words"]
    assert batch.keys == [f"s{i:05d}" for i in range(8)]
    assert (batch.epoch, batch.step, batch.total) == (0, 0, 8)
    assert batch.positions.tolist() == list(range(8))
    assert batch.positions.dtype == np.int64
    assert batch.mask.dtype == np.bool_
    assert batch.mask.all()
    assert [origin.member.split(".")[0] for origin in batch.origins] == batch.keys
    assert batch.errors == []
    assert "n: int64 (8)" in repr(batch)
    assert "n" in batch
    assert "nope" not in batch


def test_a_batch_is_no_mapping(ds):
    batch = first(ds.batch(8))
    with pytest.raises(TypeError):
        iter(batch)
    with pytest.raises(KeyError, match="nope"):
        batch["nope"]


def test_without_decode_every_field_is_bytes(ds):
    batch = first(ds.batch(8))
    assert sorted(batch.fields) == sorted(ds.fields)
    for name in ds.fields:
        assert list(batch[name]) == [ds[i][name] for i in range(8)]


def test_a_dense_column_is_the_engines_memory(ds):
    batch = first(ds.decode(n=hr.integer()).batch(8))
    array = batch["n"]
    assert isinstance(array, np.ndarray)
    assert array.dtype == np.int64
    assert array.__array_interface__["data"][0] == batch.column("n").address
    assert not array.flags.owndata
    assert np.from_dlpack(batch.column("n")).__array_interface__["data"][0] == (
        batch.column("n").address
    )
    assert batch.column("n").shape == (8,)
    assert batch.column("n").dtype == "int64"
    assert batch["n"] is array


def test_an_array_outlives_batch_loader_and_data_set(shards):
    loader = hr.open(shards(400, 2)).decode(n=hr.integer()).batch(8).loader()
    kept = [batch["n"] for batch in loader]
    loader.close()
    del loader
    gc.collect()
    assert np.concatenate(kept)[:400].tolist() == list(range(400))


def test_a_slot_goes_back_when_the_last_array_is_gone(shards):
    loader = hr.open(shards(400, 2)).decode(n=hr.integer()).batch(8).loader(prefetch=2)
    for _ in range(4):
        for batch in loader:
            array = batch["n"]
            dead = weakref.ref(array)
            del array, batch
            assert dead() is None
    assert loader.stats()["slots_grown"] == 0


def test_kept_batches_grow_the_pool_and_are_never_overwritten(shards):
    loader = hr.open(shards(400, 2)).decode(n=hr.integer()).batch(8).loader(prefetch=2)
    kept = list(loader)
    assert loader.stats()["slots_grown"] > 0
    assert [b["n"].tolist() for b in kept] == [list(range(i, i + 8)) for i in range(0, 400, 8)]


def test_text_rows_are_str(ds):
    column = first(ds.decode(t=hr.text("txt")).batch(8))["t"]
    expected = [f"sample {i} äöü" for i in range(8)]
    assert column.tolist() == expected == list(column)
    assert column[3] == expected[3]
    assert column[-1] == expected[-1]
    assert len(column) == 8
    with pytest.raises(IndexError):
        column[8]
    assert bytes(column.view(3)) == expected[3].encode()


def test_json_rows_are_parsed_when_looked_at(ds):
    column = first(ds.decode(j=hr.json("json")).batch(8))["j"]
    assert column[5] == {"number": 5}
    assert column.tolist() == [{"number": i} for i in range(8)]


def test_bytes_rows_are_bytes_and_values_are_no_copy(ds):
    batch = first(ds.decode(b=hr.bytes("bin")).batch(8))
    column = batch["b"]
    assert column[5] == bytes([5]) * 5
    assert column.offsets.tolist() == [0, 0, 1, 3, 6, 10, 15, 21, 28]
    assert not column.offsets.flags.writeable
    assert column.values.__array_interface__["data"][0] == batch.column("b").address
    assert column.values.shape == (28,)
    assert column.view(5).__array_interface__["data"][0] == batch.column("b").address + 10
    assert "8 rows" in repr(column)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_arrays_of_one_shape_are_one_array(make_tar, tmp_path):
    arrays = [np.arange(12, dtype=np.float32).reshape(3, 4) + i for i in range(6)]
    make_tar(tmp_path / "a.tar", [(f"k{i}", {"npy": npy(a)}) for i, a in enumerate(arrays)])
    column = first(hr.open(tmp_path / "a.tar").decode(x=hr.npy()).batch(6))["x"]
    assert isinstance(column, np.ndarray)
    assert column.dtype == np.float32
    assert np.array_equal(column, np.stack(arrays))


def test_arrays_of_several_shapes_are_ragged(make_tar, tmp_path):
    arrays = [np.arange(2 * i, dtype=np.int16).reshape(2, i) for i in range(1, 6)]
    make_tar(tmp_path / "a.tar", [(f"k{i}", {"npy": npy(a)}) for i, a in enumerate(arrays)])
    column = first(hr.open(tmp_path / "a.tar").decode(x=hr.npy()).batch(5))["x"]
    assert isinstance(column, hr.Ragged)
    assert column.shapes.tolist() == [[2, i] for i in range(1, 6)]
    for row, array in zip(column, arrays, strict=True):
        assert np.array_equal(row, array)
        assert row.dtype == np.int16


@pytest.fixture
def pictures(make_tar, tmp_path):
    image = pytest.importorskip("PIL.Image")
    samples = []
    for i in range(6):
        rng = np.random.default_rng(i)
        pixels = rng.integers(0, 256, (20 + i, 30, 3), dtype=np.uint8)
        file = io.BytesIO()
        image.fromarray(pixels).save(file, "PNG")
        samples.append((f"k{i}", {"png": file.getvalue(), "npy": npy(pixels)}))
    make_tar(tmp_path / "a.tar", samples)
    return hr.open(tmp_path / "a.tar")


def test_pictures_of_a_fixed_size_are_one_array(pictures):
    column = first(pictures.decode(x=hr.image("png").center_crop(16)).batch(6))["x"]
    assert column.shape == (6, 3, 16, 16)
    assert column.dtype == np.uint8
    whole = first(pictures.decode(x=hr.npy("npy")).batch(6))["x"][2]
    assert np.array_equal(column[2], whole[3:19, 7:23].transpose(2, 0, 1))


def test_pictures_of_their_own_size_are_ragged(pictures):
    batch = first(pictures.decode(x=hr.image("png").layout("HWC"), y=hr.npy("npy")).batch(6))
    for picture, pixels in zip(batch["x"], batch["y"], strict=True):
        assert np.array_equal(picture, pixels)


def test_pictures_may_be_floats(pictures):
    recipe = hr.image("png").random_resized_crop(8).flip().normalize([0.5] * 3, [0.25] * 3)
    column = first(pictures.shuffle(seed=1).decode(x=recipe).batch(6))["x"]
    assert column.shape == (6, 3, 8, 8)
    assert column.dtype == np.float32
    assert -2.001 <= column.min() < column.max() <= 2.001
    unit = first(pictures.decode(x=hr.image("png").gray().resize((4, 6)).to_float()).batch(6))["x"]
    assert unit.shape == (6, 1, 4, 6)
    assert 0 <= unit.min() < unit.max() <= 1


def test_augmentation_is_a_function_of_the_seed(pictures):
    recipe = hr.image("png").random_resized_crop(8).flip()

    def run(**options):
        return first(pictures.shuffle(seed=3).decode(x=recipe).batch(6), **options)["x"]

    assert np.array_equal(run(threads=1), run(threads=4))


def test_empty_batches_keep_shape_and_type(shards):
    ds = hr.open(shards(1, 1)).decode(n=hr.integer(), t=hr.text("txt"))
    ranks = [list(ds.batch(2, tail="short").loader(rank=r, world=3)) for r in range(3)]
    assert [len(batches) for batches in ranks] == [1, 1, 1]
    assert sorted(len(batches[0]) for batches in ranks) == [0, 0, 1]
    for (batch,) in ranks:
        assert batch["n"].shape == (len(batch),)
        assert batch["n"].dtype == np.int64
        assert len(batch["t"]) == len(batch)
        assert batch.total == 1
    assert json.dumps(ranks[0][0].keys) is not None
