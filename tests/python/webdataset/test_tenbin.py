"""tenbin beside the real one: the same bytes, the same arrays, and no trust in lengths."""

from __future__ import annotations

import inspect
import io
import struct

import numpy as np
import pytest
from headrace.webdataset import tenbin

real = pytest.importorskip("webdataset.tenbin", reason="webdataset is not installed: NOT TESTED")

TYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u8"]
SHAPES = [(), (1,), (64,), (3, 5), (2, 0, 3), (1,) * 9]
ARRAYS = [
    np.arange(int(np.prod(shape)), dtype=np.float64).astype(dtype).reshape(shape)
    for dtype in TYPES
    for shape in SHAPES
]
FULL = [array for array in ARRAYS if array.size and array.ndim]  # what the real one can read


def test_the_same_bytes_and_the_same_arrays_both_ways():
    packed = tenbin.encode_buffer(FULL)
    assert packed == real.encode_buffer(FULL)
    for read in (tenbin, real):
        for array, back in zip(FULL, read.decode_buffer(packed), strict=True):
            assert back.dtype == array.dtype and np.array_equal(back, array)


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_every_type_and_shape_comes_back(array):
    (back,) = tenbin.decode_buffer(tenbin.encode_buffer([array]))
    assert back.dtype == array.dtype and back.shape == array.shape and np.array_equal(back, array)


def test_infos_go_along():
    packed = tenbin.encode_buffer([np.zeros(1), np.zeros(2)], infos=["one", "twotwo22"])
    assert packed == real.encode_buffer([np.zeros(1), np.zeros(2)], infos=["one", "twotwo22"])
    assert tenbin.decode_buffer(packed, infos=True)[1] == ["one", "twotwo22"]
    assert len(tenbin.decode_buffer(packed, infos=("one", "twotwo22"))) == 2
    for wanted in (["one", "other"], "one"):
        with pytest.raises(ValueError, match="infos"):
            tenbin.decode_buffer(packed, infos=wanted)
    with pytest.raises(ValueError, match="infos"):
        tenbin.encode_buffer([np.zeros(1)], infos=["a", "b"])


def test_uint32_and_transposed_arrays_have_a_form_too():
    for array in (np.arange(6, dtype=np.uint32), np.arange(6.0).reshape(2, 3).T):
        assert np.array_equal(tenbin.decode_buffer(tenbin.encode_buffer([array]))[0], array)


@pytest.mark.parametrize("bad", [np.zeros(1, bool), np.array(["a"]), np.zeros((1,) * 10)])
def test_arrays_without_a_form_are_refused(bad):
    for library in (real, tenbin):
        with pytest.raises(ValueError):  # noqa: PT011
            library.encode_buffer([bad])


def test_only_lists_are_packed():
    for library in (real, tenbin):
        with pytest.raises(ValueError, match="list"):
            library.encode_buffer((np.zeros(1),))


def test_streams_and_files(tmp_path):
    stream = io.BytesIO()
    tenbin.write(stream, FULL[:3])
    assert stream.getvalue() == real.encode_buffer(FULL[:3])
    stream.seek(0)
    assert len(tenbin.read(stream, 2)) == 2 and len(tenbin.read(stream)) == 1
    path = str(tmp_path / "a.ten")
    tenbin.save(path, *FULL[:3], infos=["a", "b", "c"])
    assert [array.tolist() for array in real.load(path)] == [a.tolist() for a in FULL[:3]]
    assert tenbin.load(path, infos=True)[1] == ["a", "b", "c"]
    for refuse in (tenbin.save, tenbin.load):
        with pytest.raises(ValueError, match=r"\.ten"):
            refuse(str(tmp_path / "a.bin"))
    tenbin.save(str(tmp_path / "a.bin"), FULL[0], nocheck=True)
    assert tenbin.load(str(tmp_path / "a.bin"), nocheck=True)[0].dtype == FULL[0].dtype


def test_cut_anywhere_it_is_an_error_or_whole_arrays():
    packed = bytes(tenbin.encode_buffer([np.arange(10.0), np.arange(3)]))
    wholes = 0
    for end in range(len(packed)):
        for decode in (tenbin.decode_buffer, lambda cut: tenbin.read(io.BytesIO(cut))):
            try:
                arrays = decode(packed[:end])
            except ValueError:
                continue
            wholes += 1
            assert all(array.tolist() in (list(range(10)), [0, 1, 2]) for array in arrays)
    assert wholes < len(packed)


def test_hostile_lengths_are_refused_without_taking_memory():
    packed = tenbin.encode_buffer([np.arange(10.0)])
    for at in range(0, 16 + 64 + 16, 8):
        for number in (-1, 1 << 40, (1 << 63) - 1, -(1 << 63)):
            lie = bytearray(packed)
            lie[at : at + 8] = struct.pack("@q", number)
            try:
                tenbin.decode_buffer(bytes(lie))
            except ValueError:
                continue
            assert at == 24 or at >= 48  # the info, and padding


@pytest.mark.parametrize("name", [n for n in dir(real) if not n.startswith("_")])
def test_names_and_parameters_are_the_real_ones(name):
    theirs, mine = getattr(real, name), getattr(tenbin, name)
    if inspect.isfunction(theirs):
        mine, theirs = inspect.signature(mine), inspect.signature(theirs)
        assert [(p.name, p.kind, p.default) for p in mine.parameters.values()] == [
            (p.name, p.kind, p.default) for p in theirs.parameters.values()
        ]
