"""What functions returned, row by row or a column at once, gathered into columns again.

Rows that are arrays of one shape are copied into their place as they come, while the processor's
cache still has them; only when a row turns out to be different are the rows before it moved.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..batch import Ragged
from ..errors import UsageError
from .columns import DTYPES, Column, MemoryColumn, ObjectColumn, numpy_dtype

Bytes = NDArray[np.uint8]


class Memory(Protocol):
    """Where columns are made."""

    def take(self, size: int) -> Bytes:
        """`size` bytes, aligned to 64; contents undefined."""


class PrivateMemory:
    """Memory of this process, freed with the last array over it."""

    def take(self, size: int) -> Bytes:
        return np.empty(size, np.uint8)


class Gathered:
    """One column in the making, row after row."""

    def __init__(self, name: str, expected: int, given: Column | None, memory: Memory) -> None:
        """`given`: the column that functions were given under this name, of `expected` rows."""
        self._name = name
        self._expected = expected
        self._given = given
        self._memory = memory
        self._dense: NDArray[Any] | None = None
        self._dtype = ""
        self._rows: list[Any] = []
        self._filled = 0
        self._unchanged: list[int] | None = [] if given is not None else None

    def append_unchanged(self, row: int, value: Any) -> None:
        """The very object that is row `row` of the given column."""
        if self._unchanged is None:
            self.append(value)
        else:
            self._unchanged.append(row)
            self._rows.append(value)

    def append(self, value: Any) -> None:
        if self._unchanged is not None:  # so far all were
            self._unchanged = None
            before, self._rows = self._rows, []
            for each in before:
                self.append(each)
        part = _array(value)
        if part is None or not self._place(*part):
            self._leave_dense()
            self._rows.append(value)

    def finish(self) -> Column:
        """The column.

        Raises:
            UsageError: its rows do not go together.
        """
        if self._unchanged is not None and self._given is not None:
            if len(self._unchanged) == self._given.rows:
                return self._given
            return self._given.take(self._unchanged)
        if self._dense is not None and not self._rows:
            return MemoryColumn(self._name, "array", self._dtype, self._dense[: self._filled])
        return column_of_rows(self._name, self._rows, self._memory)

    def _place(self, array: NDArray[Any], dtype: str) -> bool:
        """Copies the row to its place, if it is like those before it."""
        if self._dense is None:
            if self._rows or dtype not in DTYPES or array.ndim == 0:
                return False
            size = array.nbytes * self._expected
            shape = (self._expected, *array.shape)
            self._dense = self._memory.take(size)[:size].view(array.dtype).reshape(shape)
            self._dtype = dtype
        if array.shape != self._dense.shape[1:] or dtype != self._dtype:
            return False
        self._dense[self._filled] = array
        self._filled += 1
        return True

    def _leave_dense(self) -> None:
        if self._dense is None:
            return
        rows = self._dense[: self._filled]
        if self._dtype == "bfloat16":
            import torch

            self._rows = list(torch.from_numpy(rows.view(np.int16)).view(torch.bfloat16))
        else:
            self._rows = list(rows)
        self._dense = None


def column_of_rows(name: str, rows: list[Any], memory: Memory) -> Column:
    """A column of values, one a row.

    Arrays of one type: dense, or ragged where shapes differ; numbers: dense; str and bytes: ragged;
    anything else: objects.
    """
    if not rows:
        return ObjectColumn(name, rows)
    if all(isinstance(row, str) for row in rows):
        return _joined(name, "text", [row.encode() for row in rows], memory)
    if all(isinstance(row, (bytes, bytearray)) for row in rows):
        return _joined(name, "bytes", rows, memory)
    if all(isinstance(row, (bool, int, float, np.generic)) for row in rows):
        return _numbers(name, rows, memory)
    arrays = [_array(row) for row in rows]
    first = arrays[0]
    if first is None or any(each is None for each in arrays) or first[1] not in DTYPES:
        return ObjectColumn(name, rows)
    found = {(each[1], each[0].ndim) for each in arrays if each is not None}
    if len(found) > 1:
        kinds = " and of ".join(f"{dtype} with {ndim} dimensions" for dtype, ndim in sorted(found))
        raise UsageError(
            f"the rows of {name!r} are arrays of {kinds}",
            hint="Rows of one column need one type and number of dimensions.",
        )
    return _stacked(name, [each[0] for each in arrays if each is not None], first[1], memory)


def whole_column(name: str, value: Any, rows: int, memory: Memory) -> Column:
    """A column that a function on batches returned: an array, a `Ragged`, or a list with a row
    each.

    Raises:
        UsageError: it is something else, or has another number of rows.
    """
    column: Column
    if isinstance(value, Ragged):
        column = _of_ragged(name, value)
    elif isinstance(value, (list, tuple)):
        column = column_of_rows(name, list(value), memory)
    else:
        part = _array(value)
        if part is None or part[0].ndim == 0 or part[1] not in DTYPES:
            raise UsageError(
                f"{name!r} is {type(value).__name__}",
                hint="A column is an array, a tensor, or a list with a value for each row.",
            )
        column = MemoryColumn(name, "array", part[1], np.ascontiguousarray(part[0]))
    if column.rows != rows:
        raise UsageError(
            f"{name!r} has {column.rows} rows, and the batch {rows}",
            hint="A function on batches keeps the number of rows; filter() drops some.",
        )
    return column


def copied(column: Column, memory: Memory) -> Column:
    """The same column in `memory`."""
    if isinstance(column, ObjectColumn):
        return column
    place = _shaped(memory, column.memory.shape, column.memory.dtype)
    np.copyto(place, column.memory)
    return MemoryColumn(
        column.name, column.kind, column.dtype, place, column.offsets, column.row_shapes
    )


def _array(value: Any) -> tuple[NDArray[Any], str] | None:
    """An array or tensor as numpy memory and the name of its type; None: it is neither."""
    if isinstance(value, np.ndarray):
        return value, _name_of(value.dtype)
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return None
    value = value.detach().cpu()
    if value.dtype == torch.bfloat16:
        return value.contiguous().view(torch.int16).numpy().view(np.uint16), "bfloat16"
    array: NDArray[Any] = value.numpy()
    return array, _name_of(array.dtype)


@functools.cache
def _name_of(dtype: np.dtype[Any]) -> str:
    return dtype.name  # slow: numpy makes the text each time


def _shaped(memory: Memory, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return memory.take(size)[:size].view(dtype).reshape(shape)


def _offsets(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))


def _joined(name: str, kind: str, rows: list[bytes], memory: Memory) -> Column:
    offsets = _offsets([len(row) for row in rows])
    place = _shaped(memory, (int(offsets[-1]),), np.dtype(np.uint8))
    place[:] = np.frombuffer(b"".join(rows), np.uint8)
    return MemoryColumn(name, kind, "uint8", place, offsets)


def _numbers(name: str, rows: list[Any], memory: Memory) -> Column:
    values = np.asarray(rows)
    if values.dtype.name not in DTYPES:
        return ObjectColumn(name, rows)
    return copied(MemoryColumn(name, "array", values.dtype.name, values), memory)


def _stacked(name: str, rows: list[NDArray[Any]], dtype: str, memory: Memory) -> Column:
    holds = numpy_dtype(dtype)
    if all(row.shape == rows[0].shape for row in rows):
        place = _shaped(memory, (len(rows), *rows[0].shape), holds)
        for i, row in enumerate(rows):
            place[i] = row
        return MemoryColumn(name, "array", dtype, place)
    offsets = _offsets([row.size for row in rows])
    place = _shaped(memory, (int(offsets[-1]),), holds)
    for begin, row in zip(offsets[:-1].tolist(), rows, strict=True):
        place[begin : begin + row.size].reshape(row.shape)[...] = row
    shapes = np.array([row.shape for row in rows], np.int64) if rows[0].ndim > 1 else None
    return MemoryColumn(name, "array", dtype, place, offsets, shapes)


def _of_ragged(name: str, value: Ragged) -> MemoryColumn:
    column = value._column
    if isinstance(column, MemoryColumn):
        return MemoryColumn(
            name, column.kind, column.dtype, column.memory, column.offsets, column.row_shapes
        )
    return MemoryColumn.of(column, value._kind)
