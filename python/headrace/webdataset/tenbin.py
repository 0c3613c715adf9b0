"""Arrays as bytes: the format of `.ten` fields, readable in place.

    ┌ chunk ─────────────────────────────┐┌ chunk ──────────────────────────┐
    │~TenBin~│length│ header, zero padded ││~TenBin~│length│ array, padded …│   and so on, by pairs
    └────────────────────────────────────┘└─────────────────────────────────┘
      8 bytes  int64   to 64 bytes
    header: int64 numbers: type as 8 characters, info as 8 characters, dimensions, each dimension

Native byte order, which is little-endian wherever Headrace runs. Types: f2 f4 f8 i1 i2 i4 i8 u1 u2
u4 u8 (the original cannot say uint32). Lengths are checked against the bytes that are there.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

long_to_short = {
    **{f"float{8 * size}": f"f{size}" for size in (2, 4, 8)},
    **{f"int{8 * size}": f"i{size}" for size in (1, 2, 4, 8)},
    **{f"uint{8 * size}": f"u{size}" for size in (1, 2, 4, 8)},
}
short_to_long = {short: long for long, short in long_to_short.items()}

_INT64 = struct.Struct("@q")
_MOST_DIMENSIONS = 9

# --- Small things --------------------------------------------------------------------------------


def bytelen(a: Any) -> int:
    """Bytes in an array, or in bytes. Raises ValueError for anything else."""
    if hasattr(a, "nbytes"):
        return int(a.nbytes)
    if isinstance(a, bytes | bytearray):
        return len(a)
    raise ValueError(f"no length in bytes: {type(a).__name__}")


def bytedata(a: Any) -> Any:
    """The memory of an array, or bytes as they are. Raises ValueError for anything else."""
    if isinstance(a, bytes | bytearray | memoryview):
        return a
    if hasattr(a, "data"):
        return a.data
    raise ValueError(f"no bytes in a {type(a).__name__}")


def str64(s: str) -> int:
    """At most eight ASCII characters as one number."""
    number: int = _INT64.unpack(s.encode("ascii").ljust(8, b"\0"))[0]
    return number


def unstr64(i: int) -> str:
    """The characters of such a number."""
    return _INT64.pack(i).decode("ascii").strip("\0")


def roundup(n: int, k: int = 64) -> int:
    """The next multiple of k."""
    return -(-n // k) * k


magic_str = "~TenBin~"
magic = str64(magic_str)
magic_bytes = magic_str.encode("ascii")


def check_acceptable_input_type(data: Any, allow64: Any) -> None:
    """Raises ValueError for arrays that have no form here, or have 64 bits without `allow64`."""
    for array in data:
        name = array.dtype.name
        if name not in long_to_short:
            raise ValueError(f"arrays of {name} have no tenbin form")
        if not allow64 and name.endswith("64"):
            raise ValueError(f"arrays of {name} need allow64")


def check_infos(data: Any, infos: Any, required_infos: Any = None) -> Any:
    """`data`; with required_infos=True (data, infos); a list of infos must agree, or ValueError."""
    if required_infos is None or required_infos is False:
        return data
    if required_infos is True:
        return data, infos
    if not isinstance(required_infos, tuple | list):
        raise ValueError("infos is none of True, False, a list, a tuple")
    if list(required_infos) != list(infos):
        raise ValueError(f"infos are {infos}, wanted {required_infos}")
    return data


# --- One array -----------------------------------------------------------------------------------


def encode_header(a: Any, info: str = "") -> Any:
    """The header of an array. Raises ValueError when it has no form here."""
    if a.ndim > _MOST_DIMENSIONS:
        raise ValueError(f"at most {_MOST_DIMENSIONS} dimensions, not {a.ndim}")
    if a.dtype.name not in long_to_short:
        raise ValueError(f"arrays of {a.dtype.name} have no tenbin form")
    numbers = [str64(long_to_short[a.dtype.name]), str64(info), a.ndim, *a.shape]
    return np.array(numbers, dtype="i8").data


def decode_header(h: Any) -> tuple[tuple[int, ...], Any, str]:
    """(shape, dtype, info). Raises ValueError for a header that is none."""
    numbers = np.frombuffer(h, dtype="i8").tolist()
    if len(numbers) < 3 or not 0 <= numbers[2] <= len(numbers) - 3:
        raise ValueError("a tenbin header is too short")
    name = unstr64(numbers[0])
    if name not in short_to_long:
        raise ValueError(f"a tenbin header has an unknown type: {name!r}")
    shape = tuple(numbers[3 : 3 + numbers[2]])
    if any(size < 0 for size in shape):
        raise ValueError(f"a tenbin header has the shape {shape}")
    return shape, np.dtype(short_to_long[name]), unstr64(numbers[1])


def encode_list(l: Any, infos: Any = None) -> list[Any]:  # noqa: E741
    """The chunks of some arrays: header, data, header, data, …"""
    if infos is None:
        infos = [""] * len(l)
    elif len(infos) != len(l):
        raise ValueError(f"{len(l)} arrays and {len(infos)} infos")
    chunks: list[Any] = []
    for array, info in zip(l, infos, strict=True):
        header = encode_header(array, info)
        contiguous = array if array.flags.c_contiguous else np.ascontiguousarray(array)
        chunks += [header, bytedata(contiguous)]
    return chunks


def decode_list(l: Sequence[Any], infos: Any = False) -> Any:  # noqa: E741
    """The arrays of such chunks, as views of them. infos: see `check_infos`."""
    arrays, found = [], []
    for header, data in zip(l[::2], l[1::2], strict=False):
        shape, dtype, info = decode_header(header)
        count = math.prod(shape)  # of Python integers: hostile dimensions do not wrap around
        if count * dtype.itemsize > bytelen(data):
            raise ValueError(f"a tenbin array of shape {shape} has {bytelen(data)} bytes")
        arrays.append(np.frombuffer(data, dtype=dtype, count=count).reshape(shape))
        found.append(info)
    return check_infos(arrays, found, infos)


# --- Buffers -------------------------------------------------------------------------------------


def encode_chunks(l: Sequence[Any]) -> bytearray:  # noqa: E741
    """Chunks, each with magic and length before it and padding behind it."""
    result = bytearray(sum(16 + roundup(bytelen(chunk)) for chunk in l))
    at = 0
    for chunk in l:
        size = bytelen(chunk)
        result[at : at + 16] = magic_bytes + _INT64.pack(size)
        result[at + 16 : at + 16 + size] = _flat(chunk)
        at += 16 + roundup(size)
    return result


def _flat(chunk: Any) -> Any:
    """One dimension of bytes, also of arrays without elements."""
    view = memoryview(chunk)
    return view.cast("B") if view.nbytes else b""


def decode_chunks(buf: Any) -> list[Any]:
    """The chunks of a buffer, as slices of it. Raises ValueError where it breaks the format."""
    total = bytelen(buf)
    chunks, at = [], 0
    while at < total:
        if bytes(buf[at : at + 8]) != magic_bytes:
            raise ValueError(f"no tenbin chunk at byte {at}")
        if at + 16 > total:
            raise ValueError(f"the tenbin chunk at byte {at} is cut")
        size = _INT64.unpack(buf[at + 8 : at + 16])[0]
        if not 0 <= size <= total - at - 16:
            raise ValueError(f"the tenbin chunk at byte {at} is cut, or its length is wrong")
        chunks.append(buf[at + 16 : at + 16 + size])
        at += 16 + roundup(size)
    return chunks


def encode_buffer(l: Any, infos: Any = None) -> bytearray:  # noqa: E741
    """A list of arrays as bytes. Raises ValueError when it is no list, or an array has no form."""
    if not isinstance(l, list):
        raise ValueError(f"a list of arrays is needed, not a {type(l).__name__}")
    return encode_chunks(encode_list(l, infos=infos))


def decode_buffer(buf: Any, infos: Any = False) -> Any:
    """The arrays, as views of `buf`; infos=True: and their infos."""
    return decode_list(decode_chunks(buf), infos=infos)


# --- Streams and files ---------------------------------------------------------------------------


def write_chunk(stream: Any, buf: Any) -> None:
    """One chunk to a binary stream."""
    size = bytelen(buf)
    stream.write(magic_bytes + _INT64.pack(size))
    stream.write(_flat(buf))
    stream.write(bytes(roundup(size) - size))


def read_chunk(stream: Any) -> bytes | None:
    """The next chunk of a binary stream; None at its end. Raises ValueError for a cut one."""
    head = stream.read(8)
    if head == b"":
        return None
    if head != magic_bytes:
        raise ValueError("no tenbin chunk here")
    length = stream.read(8)
    size = _INT64.unpack(length)[0] if len(length) == 8 else -1
    if size < 0:
        raise ValueError("a tenbin chunk has no length")
    data: bytes = stream.read(size)
    if len(data) != size:
        raise ValueError(f"a tenbin chunk of {size} bytes ends after {len(data)}")
    stream.read(roundup(size) - size)
    return data


def write(stream: Any, l: Any, infos: Any = None) -> None:  # noqa: E741
    """Arrays to a binary stream."""
    for chunk in encode_list(l, infos=infos):
        write_chunk(stream, chunk)


def read(stream: Any, n: int = sys.maxsize, infos: Any = False) -> Any:
    """At most n arrays from a binary stream."""
    chunks: list[bytes] = []
    while len(chunks) < 2 * n:
        header = read_chunk(stream)
        if header is None:
            break
        data = read_chunk(stream)
        if data is None:
            raise ValueError("the tenbin stream ends behind a header")
        chunks += [header, data]
    return decode_list(chunks, infos=infos)


def save(fname: str, *args: Any, infos: Any = None, nocheck: bool = False) -> None:
    """Arrays to a file, whose name must end in .ten unless nocheck."""
    _check_name(fname, nocheck)
    with open(fname, "wb") as stream:
        write(stream, args, infos=infos)


def load(fname: str, infos: Any = False, nocheck: bool = False) -> Any:
    """The arrays of a file, whose name must end in .ten unless nocheck."""
    _check_name(fname, nocheck)
    with open(fname, "rb") as stream:
        return read(stream, infos=infos)


def _check_name(fname: str, nocheck: bool) -> None:
    if not nocheck and not fname.endswith(".ten"):
        raise ValueError(f"{fname}: the name of a tenbin file ends in .ten")
