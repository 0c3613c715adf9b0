"""Columns of numpy arrays: rows decoded into places kept by a guess, right or wrong."""

from __future__ import annotations

import io

import headrace as hr
import numpy as np
import pytest


def npy(array, header=128):
    """The file that numpy writes, with a header of another length."""
    file = io.BytesIO()
    np.save(file, array)
    data = file.getvalue()
    begin = 10 + int.from_bytes(data[8:10], "little")
    text = data[10:begin].rstrip(b"\n ").ljust(header - 11) + b"\n"
    return data[:8] + len(text).to_bytes(2, "little") + text + data[begin:]


@pytest.fixture
def batches(make_tar, tmp_path):
    def make(files, **more):
        make_tar(tmp_path / "a.tar", [(f"k{i}", {"npy": file}) for i, file in enumerate(files)])
        loader = hr.open(tmp_path / "a.tar").decode(x=hr.npy()).batch(len(files)).loader(**more)
        return list(loader)

    return make


ARRAYS = [np.arange(12, dtype=np.float32).reshape(3, 4) + i for i in range(6)]


@pytest.mark.parametrize(
    "headers", [[128] * 6, [192] * 6, [128, 192] * 3, [192, *[128] * 5], [*[128] * 5, 192]]
)
def test_rows_of_one_shape_are_one_array_whatever_their_headers(batches, headers):
    (batch,) = batches([npy(*pair) for pair in zip(ARRAYS, headers, strict=True)])
    assert batch["x"].shape == (6, 3, 4)
    assert (batch["x"] == np.stack(ARRAYS)).all()


@pytest.mark.parametrize("headers", [[128] * 6, [128, 192] * 3, [192] * 6])
def test_rows_of_several_shapes_are_ragged(batches, headers):
    arrays = [np.arange(2 * n, dtype=np.int16).reshape(n, 2) for n in (3, 0, 5, 1, 2, 4)]
    (batch,) = batches([npy(*pair) for pair in zip(arrays, headers, strict=True)])
    assert [row.tolist() for row in batch["x"]] == [array.tolist() for array in arrays]
    assert batch["x"].values.dtype == np.int16


def test_arrays_in_fortran_order_and_in_the_other_byte_order_are_made_plain(batches):
    files = [npy(np.asfortranarray(array)) for array in ARRAYS[:3]]
    files += [npy(array.astype(">f4")) for array in ARRAYS[3:]]
    (batch,) = batches(files)
    assert (batch["x"] == np.stack(ARRAYS)).all()


def test_rows_behind_a_bad_one_move_up(batches):
    files = [npy(array) for array in ARRAYS]
    for bad in (0, 2, 5):
        damaged = [*files[:bad], b"no array" + files[bad][8:], *files[bad + 1 :]]
        (batch,) = batches(damaged, on_error="skip")
        assert (batch["x"] == np.stack(ARRAYS[:bad] + ARRAYS[bad + 1 :])).all()
        assert [error.key for error in batch.errors] == [f"k{bad}"]
    (batch,) = batches([b"x"] * 3, on_error="skip")
    assert len(batch) == 0


def test_a_default_fills_in_for_rows_that_have_none(make_tar, tmp_path):
    rows = [(f"k{i}", {"npy": npy(a)} if i % 2 else {"cls": b"1"}) for i, a in enumerate(ARRAYS)]
    make_tar(tmp_path / "a.tar", rows)
    recipe = hr.npy(default=npy(np.zeros((3, 4), np.float32)))
    (batch,) = hr.open(tmp_path / "a.tar").decode(x=recipe).batch(6).loader()
    wanted = [array if i % 2 else np.zeros((3, 4)) for i, array in enumerate(ARRAYS)]
    assert (batch["x"] == np.stack(wanted)).all()
