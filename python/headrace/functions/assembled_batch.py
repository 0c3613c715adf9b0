"""A batch whose rows are made of those of one or several other batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..errors import NotFoundError, Origin, RowError
from .columns import Column, MemoryColumn, ObjectColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .. import _native
    from .batch import FunctionBatch

    Source: TypeAlias = FunctionBatch | _native.Batch
    Taken: TypeAlias = list[tuple[Source, list[int]]]
    """Rows of batches, in order."""


class AssembledBatch:
    """Has the interface of the engine's own `Batch`. Keys, origins and positions are those of the
    samples that were taken, one each."""

    def __init__(self, columns: list[Column], rows: int, taken: Taken) -> None:
        self._columns = {column.name: column for column in columns}
        self._rows = rows
        self._taken = taken
        self.epoch = taken[0][0].epoch
        self.step = 0
        self.total = 0
        self.real_rows = rows
        """The first ones; the others pad the step."""
        self.failed: list[RowError] = []

    @property
    def kinds(self) -> dict[str, str]:
        return {
            name: column.kind
            for name, column in self._columns.items()
            if isinstance(column, MemoryColumn)
        }

    def __len__(self) -> int:
        return self._rows

    @property
    def fields(self) -> list[str]:
        return list(self._columns)

    def column(self, name: str) -> Column:
        if name not in self._columns:
            raise NotFoundError(
                f"the batch has no field '{name}'", hint=f"It has: {', '.join(self._columns)}."
            )
        return self._columns[name]

    def keys(self) -> list[str]:
        return self._of_each(lambda batch: batch.keys())

    def origins(self) -> list[Origin]:
        return self._of_each(lambda batch: batch.origins())

    def positions(self) -> NDArray[np.int64]:
        return np.array(self._of_each(lambda batch: batch.positions()), np.int64)

    def sets(self) -> NDArray[np.int64]:
        return np.array(self._of_each(lambda batch: batch.sets()), np.int64)

    def mask(self) -> NDArray[np.bool_]:
        return np.arange(self._rows) < self.real_rows

    def errors(self) -> list[RowError]:
        return self.failed

    def _of_each(self, get: Callable[[Source], Any]) -> list[Any]:
        found: list[Any] = []
        for batch, rows in self._taken:
            values = get(batch)
            found += [values[i] for i in rows]
        return found


def column_in(batch: Source, name: str, kinds: dict[str, str]) -> Column:
    """A column of a batch as memory or objects; not a copy."""
    column = batch.column(name)
    if isinstance(column, (MemoryColumn, ObjectColumn)):
        return column
    return MemoryColumn.of(column, kinds.get(name, "bytes"))


def joined(columns: list[Column]) -> Column:
    """The rows of all, one after the other. They are of one name and kind."""
    first = columns[0]
    if len(columns) == 1:
        return first
    memories = [column for column in columns if isinstance(column, MemoryColumn)]
    if len(memories) < len(columns) or len({column.dtype for column in memories}) > 1:
        return ObjectColumn(first.name, [row for column in columns for row in _values(column)])
    alike = len({column.shape[1:] for column in memories}) == 1
    if alike and not any(column.ragged for column in memories):
        whole = np.concatenate([column.memory for column in memories])
        return MemoryColumn(first.name, first.kind, first.dtype, whole)
    ragged = [_as_ragged(column) for column in memories]
    offsets = np.concatenate(
        ([0], np.cumsum(np.concatenate([np.diff(column.offsets) for column in ragged])))
    )
    shapes = [column.row_shapes for column in ragged if column.row_shapes is not None]
    return MemoryColumn(
        first.name,
        first.kind,
        first.dtype,
        np.concatenate([column.memory for column in ragged]),
        offsets.astype(np.int64),
        np.concatenate(shapes) if shapes else None,
    )


def _values(column: Column) -> list[Any]:
    from .columns import rows_of

    read = rows_of(column)
    return [read(i) for i in range(column.rows)]


def _as_ragged(column: MemoryColumn) -> MemoryColumn:
    if column.offsets is not None:
        return column
    rows, *shape = column.shape
    size = int(np.prod(shape, dtype=np.int64))
    offsets = np.arange(rows + 1, dtype=np.int64) * size
    shapes = np.tile(np.array(shape, np.int64), (rows, 1)) if len(shape) > 1 else None
    return MemoryColumn(
        column.name, column.kind, column.dtype, column.memory.reshape(-1), offsets, shapes
    )
