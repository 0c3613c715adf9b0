"""What a loader yields: columns over the engine's memory, without a copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .errors import Origin, RowError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from . import _native
    from .device import Device
    from .functions.assembled_batch import AssembledBatch
    from .functions.batch import FunctionBatch
    from .functions.columns import MemoryColumn

CHANNELS_LAST = "channels_last"
"""The kind of columns of pictures that are stored with their channels last and seen otherwise."""


class Batch:
    """The rows of one step on one rank.

    `batch["image"]` is an array over the memory of the batch (numpy, or torch with `to="torch"`),
    or a `Ragged` where the rows differ in length. Nothing is copied: the memory stays as it is
    while any of these arrays lives, and goes back to the loader when the last one is gone.

    A batch is not a Mapping: `batch.fields` are the names of its columns, `batch.keys` the keys of
    its samples. With `pack_tokens`, keys, origins, positions and sets are of the documents that its
    rows are made of, and not one a row.
    """

    __slots__ = ("_columns", "_device", "_keys", "_kinds", "_native", "_torch")

    def __init__(
        self,
        native: _native.Batch | FunctionBatch | AssembledBatch,
        kinds: dict[str, str],
        torch: bool,
        device: Device | None = None,
    ) -> None:
        self._native = native
        self._device = device
        self._kinds = kinds
        self._torch = torch
        self._keys: list[str] | None = None
        self._columns: dict[str, Any] = {}

    def __len__(self) -> int:
        """Rows, padded ones too."""
        return len(self._native)

    @property
    def fields(self) -> list[str]:
        """The names of the columns."""
        return self._native.fields

    @property
    def epoch(self) -> int:
        """Number of the epoch."""
        return self._native.epoch

    @property
    def step(self) -> int:
        """Number of the step in its epoch, the same on all ranks."""
        return self._native.step

    @property
    def total(self) -> int:
        """Rows of this step over all ranks, for weighting a loss."""
        return self._native.total

    @property
    def keys(self) -> list[str]:
        """The key of each row's sample. Looked up when first asked for."""
        if self._keys is None:
            self._keys = self._native.keys()
        return self._keys

    @property
    def origins(self) -> list[Origin]:
        """Shard, key and byte offset of each row's sample."""
        return self._native.origins()

    @property
    def positions(self) -> NDArray[np.int64]:
        """The position of each row in the epoch; int64, shape (rows,)."""
        return self._native.positions()

    @property
    def sets(self) -> NDArray[np.int64]:
        """Of a mixture: the number of the data set each row is from; int64, shape (rows,)."""
        return self._native.sets()

    @property
    def mask(self) -> Any:
        """True for real rows, False for repeats that pad the last step; bool, shape (rows,)."""
        mask = self._native.mask()
        return _moved(_torch().from_numpy(mask), self._device) if self._torch else mask

    @property
    def errors(self) -> list[RowError]:
        """The rows that were left out of this batch (`on_error="skip"`), or whose picture became
        gray (`on_error="gray"`), and why."""
        return self._native.errors()

    def column(self, name: str) -> Any:
        """The column itself: `dtype`, `shape`, `address`, and `__dlpack__` for other libraries, as
        in `jax.numpy.from_dlpack(batch.column("image"))`."""
        return self._native.column(name)

    def __getitem__(self, name: str) -> Any:
        """The column: an array of shape (rows, …), a `Ragged`, or, if a function made any other
        objects, a list of them.

        Raises:
            NotFoundError: there is no such column. It is a KeyError, too.
        """
        if name in self._columns:
            return self._columns[name]
        column = self.column(name)
        made: Any
        if column.dtype == "object":
            made = column.values  # an ObjectColumn
        elif column.ragged:
            made = Ragged(column, self._kinds.get(name, "bytes"), self._torch, self._device)
        else:
            made = _moved(_whole(column, self._torch), self._device)
            if self._kinds.get(name) == CHANNELS_LAST:
                made = _channels_first(made, self._torch)
        self._columns[name] = made
        return made

    def __contains__(self, name: object) -> bool:
        return name in self._native.fields

    __iter__ = None
    """Loop over `batch.fields`: a batch has no order of its own."""

    def __repr__(self) -> str:
        columns = []
        for name in self.fields:
            column = self._native.column(name)
            shape = (len(self), "ragged") if column.ragged else column.shape
            columns.append(f"{name}: {column.dtype} {_shape_text(shape)}")
        return f"Batch(epoch {self.epoch}, step {self.step}, {'; '.join(columns)})"


class Ragged:
    """A column whose rows differ in length: the values of all rows, and where each row begins.

        values   | row 0 ....| row 1 .| row 2 .......|
        offsets  0           6        9              16

    `column[i]` is a row: str for text, a Python object for JSON, bytes for bytes, an array of the
    row's own shape for pictures and numpy arrays.
    """

    __slots__ = ("_column", "_device", "_elements", "_kind", "_torch")

    def __init__(
        self,
        column: _native.Column | MemoryColumn,
        kind: str,
        torch: bool,
        device: Device | None = None,
    ) -> None:
        self._device = device
        self._elements: Any = None
        self._column = column
        self._kind = kind
        self._torch = torch

    @property
    def values(self) -> Any:
        """The elements of all rows, one after the other; shape (elements,). Not a copy."""
        if self._elements is None:
            self._elements = _moved(_whole(self._column, self._torch), self._device)
        return self._elements

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Row i is values[offsets[i]:offsets[i + 1]]; int64, shape (rows + 1,), read-only."""
        return self._column.offsets

    @property
    def shapes(self) -> NDArray[np.int64] | None:
        """The shape of each row; int64, shape (rows, dimensions). None: rows of one dimension."""
        return self._column.row_shapes

    def __len__(self) -> int:
        return self._column.rows

    def view(self, i: int) -> Any:
        """Row i as an array over the batch's memory; not a copy."""
        i = self._checked(i)
        offsets, shapes = self.offsets, self.shapes
        row = self.values[int(offsets[i]) : int(offsets[i + 1])]
        row = row if shapes is None else row.reshape(tuple(shapes[i].tolist()))
        return _channels_first(row, self._torch) if self._kind == CHANNELS_LAST else row

    def __getitem__(self, i: int) -> Any:
        i = self._checked(i)
        if self._kind == "text":
            return self._column.text_of(i)
        if self._kind == "bytes":
            return self._column.bytes_of(i)
        if self._kind == "json":
            return _loads(self._column.bytes_of(i))
        return self.view(i)

    def __iter__(self) -> Iterator[Any]:
        if self._kind in ("text", "bytes", "json"):
            return iter(self.tolist())
        return (self.view(i) for i in range(len(self)))

    def tolist(self) -> list[Any]:
        """All rows, each as `column[i]` gives it."""
        if self._kind == "text":
            return self._column.all_texts()
        if self._kind == "bytes":
            return self._column.all_bytes()
        if self._kind == "json":
            return [_loads(document) for document in self._column.all_bytes()]
        return [self.view(i) for i in range(len(self))]

    def __repr__(self) -> str:
        return f"Ragged({len(self)} rows of {self._kind}, {self._column.dtype})"

    def _checked(self, i: int) -> int:
        rows = len(self)
        if not -rows <= i < rows:
            raise IndexError(f"row {i} of {rows}")
        return i + rows if i < 0 else i


def _loads(document: bytes) -> Any:
    from json import loads

    return loads(document)


def _whole(column: _native.Column | MemoryColumn, torch: bool) -> Any:
    """All elements of a column, in its shape."""
    if torch:
        return _torch().from_dlpack(column)
    if column.dtype == "bfloat16":
        raise UsageError(
            "numpy has no bfloat16: use loader(to='torch'), or hand batch.column(name) to a "
            "library that reads DLPack"
        )
    return column.numpy()


def _channels_first(array: Any, torch: bool) -> Any:
    """(…, height, width, channels) as (…, channels, height, width); not a copy."""
    return _torch().movedim(array, -1, -3) if torch else _numpy().moveaxis(array, -1, -3)


def _numpy() -> Any:
    import numpy as np

    return np


def _moved(array: Any, device: Device | None) -> Any:
    return array if device is None else device.move(array)


def _torch() -> Any:
    import torch

    return torch


def _shape_text(shape: tuple[object, ...]) -> str:
    return f"({', '.join(map(str, shape))})"
