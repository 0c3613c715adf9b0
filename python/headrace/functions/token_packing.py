"""Documents of tokens, packed into rows of a fixed length as they come; `planned_packing` is for
those whose lengths the index has.

documents:  a a a a a | b b | c c c c c c …
rows of 4:  a a a a   | a b b c   | c c c c …
segments:   0 0 0 0   | 0 1 1 2   | 0 0 0 0
places:     0 1 2 3   | 4 0 1 0   | 1 2 3 4
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UsageError
from .assembled_batch import AssembledBatch, column_in
from .assembler import Assembler, Part, Wanted
from .batch import FunctionBatch
from .columns import Column, MemoryColumn, rows_of
from .stream import Stream

if TYPE_CHECKING:
    from .. import _native
    from .assembled_batch import Taken


class TokenPacking(Assembler):
    """Documents follow each other without gaps; one that a row's end cuts goes on in the next."""

    def __init__(
        self,
        native: _native.Loader,
        stream: Stream,
        kinds: dict[str, str],
        wanted: Wanted,
        field: str,
        length: int,
    ) -> None:
        self._cut: dict[tuple[int, int], int] = {}  # of documents by step and row: gone-out tokens
        super().__init__(native, stream, kinds, wanted)
        self._field = field
        self._length = length

    def _make(self) -> AssembledBatch:
        missing = self._rows * self._length
        pieces: list[Any] = []
        places: list[Any] = []
        taken: Taken = []
        while missing > 0:
            while not self._parts:
                self._pull()
            part = self._parts[0]
            used = self._cut.pop(self._next_row(), 0)
            document = self._document(part)
            piece = document[used : used + missing]
            pieces.append(piece.copy())
            places.append(np.arange(used, used + len(piece), dtype=np.int32))
            taken.append((part.batch, [part.rows[part.used]]))
            missing -= len(piece)
            used += len(piece)
            if used < len(document):
                self._cut[self._next_row()] = used
            else:
                part.used += 1
                self._drop_used()
        return self._batch(pieces, places, taken)

    def _rows_to_take(self, batch: FunctionBatch, rows: list[int]) -> list[int]:
        read = rows_of(column_in(batch, self._field, self._kinds))
        for row in rows:
            document = read(row)
            tokens = isinstance(document, np.ndarray) and document.dtype.kind in "iu"
            if not tokens or document.ndim != 1:
                raise UsageError(
                    f"a row of {self._field!r} is no array of whole numbers of one dimension",
                    hint="Make it one by map().",
                )
        return [row for row in rows if len(read(row)) > 0]

    def _note(self, state: dict[str, Any]) -> None:
        state["cut"] = [[step, row, used] for (step, row), used in sorted(self._cut.items())]

    def _restore(self, state: dict[str, Any]) -> None:
        own = range(self._first_row, self._first_row + self._rows)
        self._cut = {(step, row): used for step, row, used in state["cut"] if row in own}

    def _document(self, part: Part) -> Any:
        """The tokens of the oldest row."""
        column = column_in(part.batch, self._field, self._kinds)
        return rows_of(column)(part.rows[part.used])

    def _batch(self, pieces: list[Any], places: list[Any], taken: Taken) -> AssembledBatch:
        shape = (self._rows, self._length)
        lengths = [len(piece) for piece in pieces]
        numbers = np.repeat(np.arange(len(pieces), dtype=np.int32), lengths).reshape(shape)
        tokens = np.concatenate(pieces).reshape(shape)
        columns: list[Column] = [
            MemoryColumn(self._field, "array", tokens.dtype.name, tokens),
            MemoryColumn("segments", "array", "int32", numbers - numbers[:, :1]),
            MemoryColumn("places", "array", "int32", np.concatenate(places).reshape(shape)),
        ]
        return AssembledBatch(columns, self._rows, taken)
