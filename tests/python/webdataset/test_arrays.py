"""Arrays: decoded and collated to what the real package makes with numpy and torch."""

from __future__ import annotations

import collections
import io
import random

import headrace.webdataset as ours
import numpy as np
import pytest

real = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")

pytestmark = pytest.mark.filterwarnings("ignore")

TYPES = [
    *("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "?", "c8", "c16"),
    *(">f4", ">i2", "U3", "S5", "M8[s]", "f4,i2"),
]
SHAPES = [(), (0,), (1,), (7,), (3, 4), (2, 0, 3), (2, 3, 4), (1, 1, 1, 1, 5)]


def file_of(array, version=None, pickles=True):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version, allow_pickle=pickles)
    return file.getvalue()


def decoded(library, file):
    try:
        return library.Decoder([]).decode({"__key__": "a", "npy": file})["npy"]
    except Exception as error:
        return type(error.__cause__)


def assert_same(file):
    theirs, mine = decoded(real, file), decoded(ours, file)
    if isinstance(theirs, type):
        assert mine is theirs
        return
    assert type(mine) is type(theirs) and mine.dtype == theirs.dtype, (mine.dtype, theirs.dtype)
    assert mine.shape == theirs.shape and mine.strides == theirs.strides
    assert mine.flags == theirs.flags or str(mine.flags) == str(theirs.flags)
    assert mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_shape_order_and_version_is_decoded_as_numpy_does(kind):
    generator = np.random.default_rng(1)
    for shape in SHAPES:
        array = np.asarray(generator.integers(0, 100, shape)).astype(kind)
        for version in [(1, 0), (2, 0), (3, 0)]:
            assert_same(file_of(array, version))
            assert_same(file_of(np.asfortranarray(array), version))


def test_plain_arrays_are_decoded_without_numpy_s_reader(monkeypatch):
    array = np.arange(12.0).reshape(3, 4)
    monkeypatch.setattr(np.lib.format, "read_array", None)
    found = decoded(ours, file_of(array))
    assert np.array_equal(found, array)
    found.resize((6, 2))  # it owns its memory
    found[0] = 7


def test_damaged_and_odd_files_end_as_with_numpy():
    file = file_of(np.arange(20, dtype="f4").reshape(4, 5))
    for cut in range(0, len(file), 7):
        assert_same(file[:cut])
    assert_same(file + b"more")
    assert_same(file_of(np.array([{}, 1], dtype=object)))
    padded = file[:8] + (20000 - 10).to_bytes(2, "little") + file[10:127].ljust(19989) + b"\n"
    assert_same(padded + file[128:])  # numpy minds long headers
    draw = random.Random(2)
    for _ in range(500):
        changed = bytearray(file)
        changed[draw.randrange(80)] = draw.randrange(256)
        assert_same(bytes(changed))


def outcome(library, column, options):
    try:
        return library.filters.default_collation_fn([(each,) for each in column], **options)[0]
    except Exception as error:
        return type(error)


def columns():
    yield [1, 2, 3]
    yield [1, 2.5, True]
    yield [1.5, 2]
    yield ["a", "b"]
    yield [b"a", b""]
    yield [None, None]
    yield [2**70, 1]
    yield [np.float32(1), np.float32(2)]
    for kind in ("u1", "f4", "f8", "?", ">f4", "U3"):
        yield [np.full((2, 3), i).astype(kind) for i in range(4)]
        yield [np.full((2, 3), i).astype(kind).T for i in range(4)]
    yield [np.zeros(2, "f4"), np.zeros(2, "f8")]
    yield [np.zeros(2), np.zeros(3)]
    yield [np.zeros(2), [1, 2]]
    yield [np.zeros((0, 2)), np.zeros((0, 2))]
    yield [np.zeros(()), np.ones(())]
    yield [np.ma.masked_array([1, 2], [0, 1])] * 2
    yield [np.zeros(3)]
    yield [np.broadcast_to(np.float32(2), (3, 4))] * 2
    yield [np.arange(20).reshape(4, 5)[:, ::2], np.arange(12).reshape(4, 3)]
    yield [np.array([1, "a"], object)] * 2
    yield [np.zeros(2, "f4,i2")] * 2
    yield [np.zeros(2, "M8[s]")] * 2
    yield [np.zeros(2, "i8"), np.zeros(2, "q")]
    yield [np.zeros(40000, "f4") + i for i in range(5)]
    for kind in ("i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "g", "F", "D", "G"):
        yield [np.full(3, i).astype(kind) for i in range(3)]
    yield [2**63 - 1, -(2**63)]
    yield [2**63, 1]
    yield [True, False]
    yield [1, True]
    yield [1.5, float("nan"), float("inf")]
    yield [1.5, None]
    yield [1, "a"]
    yield ["a", 1]


def tensors(torch):
    yield [torch.arange(6).reshape(2, 3) + i for i in range(3)]
    for kind in (torch.uint8, torch.float32, torch.bool, torch.float16):
        yield [torch.full((5, 4, 3), i).to(kind).permute(2, 0, 1) for i in range(3)]
    yield [torch.zeros(2), torch.zeros(2, dtype=torch.float64)]
    yield [torch.zeros(2), torch.zeros(3)]
    yield [torch.zeros(2, requires_grad=True), torch.zeros(2)]
    yield [torch.tensor(1), torch.tensor(2)]
    yield [torch.zeros(0, 3), torch.zeros(0, 3)]
    yield [torch.nn.Parameter(torch.zeros(2)), torch.zeros(2)]
    yield [torch.zeros(2).to_sparse(), torch.zeros(2).to_sparse()]
    yield [torch.zeros(2), np.zeros(2)]


@pytest.mark.parametrize(
    "options", [{}, {"combine_scalars": False}, {"combine_tensors": False}], ids=str
)
def test_columns_are_collated_as_in_the_real_one(options):
    for column in columns():
        theirs, mine = outcome(real, column, options), outcome(ours, column, options)
        assert type(mine) is type(theirs), column
        if isinstance(theirs, np.ndarray):
            assert (mine.dtype, mine.strides) == (theirs.dtype, theirs.strides), column
            assert mine.tobytes() == theirs.tobytes()
        elif isinstance(theirs, type):
            assert mine is theirs, column
        else:
            assert str(mine) == str(theirs)


def same_tensor(torch, theirs, mine):
    assert type(mine) is type(theirs), (mine, theirs)
    if isinstance(theirs, list):
        assert [id(each) for each in mine] == [id(each) for each in theirs]
    elif isinstance(theirs, type):
        assert mine is theirs
    else:
        for name in ("dtype", "shape", "layout", "requires_grad"):
            assert getattr(mine, name) == getattr(theirs, name), name
        assert torch.equal(mine.to_dense(), theirs.to_dense())
        assert theirs.is_sparse or mine.stride() == theirs.stride()


@pytest.mark.parametrize("options", [{}, {"combine_tensors": False}], ids=str)
def test_tensors_are_collated_as_in_the_real_one(options):
    torch = pytest.importorskip("torch", reason="torch is not installed: NOT TESTED")
    for column in tensors(torch):
        same_tensor(torch, outcome(real, column, options), outcome(ours, column, options))


def whole_samples():
    """What is collated as a whole: not only tuples and dictionaries of one shape."""
    pair = collections.namedtuple("pair", "a b")
    yield [(1, "a"), (2, "b")]
    yield [(1, "a"), (2,)]
    yield [[1, b"a"], [2, b"b"]]
    yield [(1, 2), [3, 4]]
    yield [[1, 2], (3, 4)]
    yield [pair(1, 2.5), pair(3, 4.5)]
    yield [{"a": 1, "b": "x"}, {"b": "y", "a": 2}]
    yield [{"a": 1}, {"b": 1}]
    yield [{"a": 1}, {"a": 2, "b": 1}]
    yield [{1: 2, "a": 3.5}, {"a": 4.5, 1: 5}]
    yield [collections.OrderedDict(a=1), {"a": 2}]
    yield [{0: 1}, (2,)]
    yield [(2,), {0: 1}]
    yield ["ab", "cd"]
    yield ["ab", "c"]
    yield [np.arange(3), np.arange(3)]
    yield [(), ()]
    yield [{}, {}]
    yield [5, 6]
    yield [None]
    yield []
    yield ((1, 2), (3, 4))
    yield [(None, 1), (2, None)]
    yield [(1, np.zeros(3)), (True, np.zeros(3))]


def written(value):
    """With types, and dictionaries whatever their order: the real one's is that of a set."""
    if isinstance(value, dict):
        return type(value), {key: written(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return type(value), [written(each) for each in value]
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tolist()
    return type(value), repr(value)


@pytest.mark.parametrize(
    "options", [{}, {"combine_scalars": False}, {"combine_tensors": False}], ids=str
)
def test_anything_with_places_or_keys_is_collated_as_in_the_real_one(options):
    def result(library, samples):
        try:
            return written(library.filters.default_collation_fn(samples, **options))
        except Exception as error:
            return type(error)

    for samples in whole_samples():
        assert result(ours, samples) == result(real, samples), samples
