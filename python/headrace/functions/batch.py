"""The batch that functions made of a batch of the engine's."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Error, FunctionError, NotFoundError, Origin, RowError
from .columns import Column, MemoryColumn, ObjectColumn, numpy_dtype
from .stages import Failure, Given, Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .. import _native


class FunctionBatch:
    """Has the interface of the engine's own `Batch`, so that `headrace.Batch` works over both."""

    def __init__(
        self,
        native: _native.Batch,
        columns: dict[str, Column | _native.Column],
        kept: list[int] | None,
        failures: list[Failure],
    ) -> None:
        """`kept`: rows of `native` that are left; None: all."""
        self._native = native
        self._columns = columns
        self._kept = kept
        self._failed = [row_error(native, failure) for failure in failures]

    @property
    def kinds(self) -> dict[str, str]:
        """Of columns that are not the engine's."""
        return {
            name: column.kind
            for name, column in self._columns.items()
            if isinstance(column, MemoryColumn)
        }

    def __len__(self) -> int:
        return len(self._native) if self._kept is None else len(self._kept)

    @property
    def fields(self) -> list[str]:
        return list(self._columns)

    @property
    def epoch(self) -> int:
        return self._native.epoch

    @property
    def step(self) -> int:
        return self._native.step

    @property
    def total(self) -> int:
        return self._native.total

    @property
    def state(self) -> str:
        return self._native.state

    def column(self, name: str) -> Any:
        if name not in self._columns:
            raise NotFoundError(
                f"the batch has no field '{name}'", hint=f"It has: {', '.join(self._columns)}."
            )
        return self._columns[name]

    def keys(self) -> list[str]:
        return self._left(self._native.keys())

    def origins(self) -> list[Origin]:
        return self._left(self._native.origins())

    def positions(self) -> NDArray[np.int64]:
        positions = self._native.positions()
        return positions if self._kept is None else positions[self._kept]

    def sets(self) -> NDArray[np.int64]:
        sets = self._native.sets()
        return sets if self._kept is None else sets[self._kept]

    def mask(self) -> NDArray[np.bool_]:
        mask = self._native.mask()
        return mask if self._kept is None else mask[self._kept]

    def errors(self) -> list[RowError]:
        return [*self._native.errors(), *self._failed]

    def pieces(self) -> NDArray[np.int64]:
        pieces = self._native.pieces()
        return pieces if self._kept is None else pieces[self._kept]

    @property
    def packed_rows(self) -> int:
        return self._native.packed_rows

    @property
    def packed_real_rows(self) -> int:
        return self._native.packed_real_rows

    def without_columns(self) -> FunctionBatch:
        """What it knows of its rows."""
        return FunctionBatch(self._native, {}, self._kept, [])

    def without_rows_like(self, other: list[Column]) -> FunctionBatch:
        """This batch, which has no rows, with the columns of another."""
        columns: dict[str, Column | _native.Column] = {column.name: column for column in other}
        empty = FunctionBatch(self._native, columns, self._kept, [])
        empty._failed = self._failed
        return empty

    def _left(self, rows: list[Any]) -> list[Any]:
        return rows if self._kept is None else [rows[i] for i in self._kept]


def empty_column(name: str, like: Any, kind: str) -> Column:
    """A column without rows, of the type and row shape of `like`."""
    if like.dtype == "object":
        return ObjectColumn(name, [])
    dtype = numpy_dtype(like.dtype)
    if not like.ragged:
        return MemoryColumn(name, kind, like.dtype, np.empty((0, *like.shape[1:]), dtype))
    shapes = like.row_shapes
    return MemoryColumn(
        name,
        kind,
        like.dtype,
        np.empty(0, dtype),
        np.zeros(1, np.int64),
        None if shapes is None else np.empty((0, shapes.shape[1]), np.int64),
    )


def given_of(native: _native.Batch, kinds: dict[str, str]) -> Given:
    """The engine's batch as functions read it; not a copy."""
    columns = {
        name: MemoryColumn.of(native.column(name), kinds.get(name, "bytes"))
        for name in native.fields
    }
    return Given(columns, native.positions().tolist(), native.step)


def batch_of(native: _native.Batch, given: Given, outcome: Outcome) -> FunctionBatch:
    """The batch of an outcome in this process. Columns that no function changed are the engine's
    own; if there is none, its memory goes back now."""
    sources = {id(column): name for name, column in given.columns.items()}
    columns: dict[str, Column | _native.Column] = {}
    for name, column in outcome.columns.items():
        source = sources.get(id(column))
        columns[name] = column if source is None else _renamed(native, source, name, column)
    return FunctionBatch(native.without_columns(), columns, outcome.kept, outcome.failures)


def _renamed(native: _native.Batch, source: str, name: str, column: Column) -> Any:
    return native.column(source) if source == name else column


def error_of(native: _native.Batch, failure: Failure) -> FunctionError:
    """What the consumer is told: what was raised, where, and the function's own traceback."""
    origins = native.origins()
    message = failure.message
    row = failure.row
    if row is None:
        message += f", on the batch of step {native.step}, which begins with this sample"
        row = 0
    origin = origins[row] if origins else Origin("", "", None)
    error = FunctionError(message, origin=origin, hint=failure.hint, traceback=failure.text)
    error.__cause__ = None if failure.error is None else pickle.loads(failure.error)
    return error


def row_error(native: _native.Batch, failure: Failure) -> RowError:
    """A row that was left out because its function failed."""
    assert failure.row is not None
    key = native.keys()[failure.row]
    error: Error = error_of(native, failure)
    return RowError(key, int(native.positions()[failure.row]), error)
