"""Columns over memory that numpy sees, for functions to read and for batches to hold.

A `MemoryColumn` has the interface of the engine's own `Column`, so `Batch` and `Ragged` work over
both. bfloat16, which numpy lacks, lies in it as uint16.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError

if TYPE_CHECKING:
    from .. import _native

DTYPES = frozenset(
    {
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
        "bfloat16",
        "complex64",
        "complex128",
    }
)
"""Names of the types that arrays of a batch may have."""


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The numpy type that holds elements of the type `name`."""
    return np.dtype("uint16" if name == "bfloat16" else name)


class MemoryColumn:
    """Rows in memory: dense, or ragged with offsets as `Ragged` explains them.

    `memory` is an array of the column's shape (ragged: of all elements), not copied and kept alive.
    """

    __slots__ = ("dtype", "kind", "memory", "name", "offsets", "row_shapes")

    def __init__(
        self,
        name: str,
        kind: str,
        dtype: str,
        memory: NDArray[Any],
        offsets: NDArray[np.int64] | None = None,
        row_shapes: NDArray[np.int64] | None = None,
    ) -> None:
        self.name = name
        self.kind = kind
        self.dtype = dtype
        self.memory = memory
        self.offsets: Any = offsets
        self.row_shapes = row_shapes

    @classmethod
    def of(cls, column: _native.Column, kind: str) -> MemoryColumn:
        """The engine's column; not a copy."""
        offsets = column.offsets if column.ragged else None
        shapes = column.row_shapes if column.ragged else None
        return cls(column.name, kind, column.dtype, _memory_of(column), offsets, shapes)

    @property
    def ragged(self) -> bool:
        return self.offsets is not None

    @property
    def rows(self) -> int:
        return len(self.memory) if self.offsets is None else len(self.offsets) - 1

    @property
    def shape(self) -> tuple[int, ...]:
        return self.memory.shape

    @property
    def address(self) -> int:
        return int(self.memory.ctypes.data)

    def numpy(self) -> NDArray[Any]:
        if self.dtype == "bfloat16":
            raise UsageError(
                f"numpy has no bfloat16, the type of {self.name!r}", hint="Use to='torch'."
            )
        return self.memory

    def array(self, memory: NDArray[Any], to: str) -> Any:
        """`memory`, a part of this column's, as what a function is given."""
        if to == "numpy":
            return memory if self.dtype != "bfloat16" else self.numpy()
        import torch

        if self.dtype == "bfloat16":
            return torch.from_numpy(memory.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(memory)

    def bytes_of(self, row: int) -> bytes:
        return bytes(self.memory[self.offsets[row] : self.offsets[row + 1]].data)

    def text_of(self, row: int) -> str:
        return self.bytes_of(row).decode()

    def all_bytes(self) -> list[bytes]:
        whole = self.memory.data
        ends = self.offsets.tolist()
        return [bytes(whole[a:b]) for a, b in itertools.pairwise(ends)]

    def all_texts(self) -> list[str]:
        return [row.decode() for row in self.all_bytes()]

    def take(self, rows: list[int]) -> MemoryColumn:
        """A copy with these rows alone."""
        if self.offsets is None:
            return MemoryColumn(self.name, self.kind, self.dtype, self.memory[rows])
        parts = [self.memory[self.offsets[i] : self.offsets[i + 1]] for i in rows]
        memory = np.concatenate(parts) if parts else self.memory[:0]
        offsets = np.concatenate(([0], np.cumsum([len(part) for part in parts], dtype=np.int64)))
        shapes = None if self.row_shapes is None else self.row_shapes[rows]
        return MemoryColumn(self.name, self.kind, self.dtype, memory, offsets, shapes)

    def __dlpack__(self, **options: Any) -> Any:
        return self.array(self.memory, "torch" if self.dtype == "bfloat16" else "numpy").__dlpack__(
            **options
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class ObjectColumn:
    """Rows that are any Python objects: a list."""

    __slots__ = ("name", "values")
    kind = "objects"
    dtype = "object"
    ragged = False

    def __init__(self, name: str, values: list[Any]) -> None:
        self.name = name
        self.values = values

    @property
    def rows(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.values),)

    def take(self, rows: list[int]) -> ObjectColumn:
        """These rows alone."""
        return ObjectColumn(self.name, [self.values[i] for i in rows])


Column = MemoryColumn | ObjectColumn


def rows_of(column: Column) -> Callable[[int], Any]:
    """Gives row i as a function on samples gets it: an array over the column's memory, a numpy
    number, str, bytes, or an object."""
    if isinstance(column, ObjectColumn):
        return column.values.__getitem__
    if column.kind == "text":
        return column.text_of
    if column.kind == "bytes":
        return column.bytes_of
    if column.kind == "json":
        from json import loads

        return lambda i: loads(column.bytes_of(i))
    if column.dtype == "bfloat16":
        memory_of = _memory_rows(column)
        return lambda i: column.array(memory_of(i), "torch")
    return _memory_rows(column)


def _memory_rows(column: MemoryColumn) -> Callable[[int], Any]:
    memory, offsets, shapes = column.memory, column.offsets, column.row_shapes
    if offsets is None:
        return memory.__getitem__
    if shapes is None:
        return lambda i: memory[offsets[i] : offsets[i + 1]]
    return lambda i: memory[offsets[i] : offsets[i + 1]].reshape(tuple(shapes[i].tolist()))


def converted(value: Any, to: str) -> Any:
    """An array as numpy or torch has it, over the same memory; anything else as it is."""
    torch: Any = sys.modules.get("torch")
    if to == "torch":
        if isinstance(value, np.ndarray):
            from torch import from_numpy

            return from_numpy(value)
    elif torch is not None and isinstance(value, torch.Tensor):
        if value.dtype == torch.bfloat16:
            raise UsageError("numpy has no bfloat16", hint="Use to='torch'.")
        return value.numpy()
    return value


def _memory_of(column: _native.Column) -> NDArray[Any]:
    if column.dtype != "bfloat16":
        return column.numpy()
    import torch

    memory: NDArray[Any] = torch.from_dlpack(column).view(torch.int16).numpy().view(np.uint16)
    return memory
