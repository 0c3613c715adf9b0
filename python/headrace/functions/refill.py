"""Batches filled up with the rows that a filter left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .assembled_batch import AssembledBatch, column_in, joined
from .assembler import Assembler

if TYPE_CHECKING:
    from .assembled_batch import Taken


class Refill(Assembler):
    """Every batch has all its rows, taken from as many steps of the engine as that needs."""

    def _make(self) -> AssembledBatch:
        while sum(len(part.rows) - part.used for part in self._parts) < self._rows:
            self._pull()
        taken: Taken = []
        missing = self._rows
        for part in self._parts:
            rows = part.rows[part.used : part.used + missing]
            part.used += len(rows)
            missing -= len(rows)
            taken.append((part.batch, rows))
            if missing == 0:
                break
        columns = [
            joined([column_in(batch, name, self._kinds).take(rows) for batch, rows in taken])
            for name in taken[0][0].fields
        ]
        self._drop_used()
        return AssembledBatch(columns, self._rows, taken)
