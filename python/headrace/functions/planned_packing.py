"""Documents of tokens in the packed rows that the engine planned, a whole batch at a time.

The engine gives the documents of a step, and of each the piece that goes into the step's rows; the
functions ran over whole documents. What is left is to copy tokens, which knows nothing of epochs,
ranks or states.

    documents   |a a a a a|b b|c c c c c c|       values of a column, one after the other
    pieces          from 2                        (length, from, count, to), one a document
    rows of 4   |a a a b|b c c c|
    segments    |0 0 0 1|0 1 1 1|                 places   |2 3 4 0|1 0 1 2|

Tokens that nothing stands for (a document that was left out, the end of an epoch's last row) are 0,
of segment -1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataError, UsageError
from .assembled_batch import AssembledBatch, column_in
from .columns import Column, MemoryColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .assembled_batch import Source

_LENGTH, _FROM, _COUNT, _TO = range(4)  # of a piece
_TEXTS = ("text", "bytes", "json")


class PlannedPacking:
    """Makes batches of packed rows. One thread at a time."""

    def __init__(self, field: str, length: int, kinds: dict[str, str]) -> None:
        """`kinds`: of the engine's columns."""
        self._field = field
        self._length = length
        self._kinds = kinds
        self._dtype: np.dtype[Any] = np.dtype(np.int64)  # as in the batch before

    def pack(self, batch: Source) -> AssembledBatch:
        """The packed rows of a batch of documents.

        Raises:
            DataError: a document has another length than it was planned with.
            UsageError: documents are no arrays of whole numbers.
        """
        pieces = batch.pieces()
        values, offsets = self._documents(batch)
        self._check_lengths(batch, np.diff(offsets), pieces[:, _LENGTH])
        rows = batch.packed_rows
        columns = self._columns(values, offsets[:-1], pieces, (rows, self._length))
        made = AssembledBatch(columns, rows, [(batch.without_columns(), list(range(len(batch))))])
        made.step, made.total = batch.step, batch.total
        made.real_rows, made.failed = batch.packed_real_rows, batch.errors()
        return made

    def _documents(self, batch: Source) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The tokens of all documents, and where each begins, with the end of the last one."""
        if len(batch) == 0:
            return np.empty(0, self._dtype), np.zeros(1, np.int64)
        column = column_in(batch, self._field, self._kinds)
        if not isinstance(column, MemoryColumn) or not _is_of_numbers(column):
            raise UsageError(
                f"a row of {self._field!r} is no array of whole numbers of one dimension",
                hint="Make it one by map().",
            )
        self._dtype = column.memory.dtype
        if column.offsets is not None:
            return column.memory, column.offsets
        rows, tokens = column.shape
        return column.memory.reshape(-1), np.arange(rows + 1, dtype=np.int64) * tokens

    def _check_lengths(
        self, batch: Source, found: NDArray[np.int64], planned: NDArray[np.int64]
    ) -> None:
        wrong = np.flatnonzero(found != planned)
        if len(wrong) == 0:
            return
        row = int(wrong[0])
        raise DataError(
            f"a document of {self._field!r} has {found[row]} tokens, and the index, by which rows "
            f"were planned, says {planned[row]}",
            origin=batch.origins()[row],
            hint="Pack the data set again with --measure, let map() keep the length, or use "
            "pack_tokens() without by=.",
        )

    def _columns(
        self,
        values: NDArray[Any],
        begins: NDArray[np.int64],
        pieces: NDArray[np.int64],
        shape: tuple[int, int],
    ) -> list[Column]:
        full = pieces[:, _COUNT] > 0
        pieces, begins = pieces[full], begins[full]
        counts = pieces[:, _COUNT]
        number = np.repeat(np.arange(len(counts), dtype=np.int32), counts)  # each token's piece
        # What to add to a token's number among all, by piece.
        before = np.cumsum(counts) - counts
        at = np.arange(len(number), dtype=np.int64)
        to = at + (pieces[:, _TO] - before)[number]
        place = at + (pieces[:, _FROM] - before)[number]

        tokens = np.zeros(shape, values.dtype)
        places = np.zeros(shape, np.int32)
        numbers = np.full(shape, -1, np.int32)
        tokens.reshape(-1)[to] = values[place + begins[number]]
        places.reshape(-1)[to] = place
        numbers.reshape(-1)[to] = number
        return [
            MemoryColumn(self._field, "array", tokens.dtype.name, tokens),
            MemoryColumn("segments", "array", "int32", _from_zero(numbers)),
            MemoryColumn("places", "array", "int32", places),
        ]


def _is_of_numbers(column: MemoryColumn) -> bool:
    if column.kind in _TEXTS or column.dtype == "bfloat16" or column.memory.dtype.kind not in "iu":
        return False
    if column.offsets is None:
        return column.memory.ndim == 2
    return column.row_shapes is None or column.row_shapes.shape[1] == 1


def _from_zero(numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Each row's numbers less its first one; -1 stays."""
    missing = numbers < 0
    first = np.where(missing, np.iinfo(np.int32).max, numbers).min(axis=1, keepdims=True)
    return np.where(missing, np.int32(-1), numbers - first)
