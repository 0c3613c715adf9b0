"""The last step where the number of rows changes: rows come in their order, and batches of one size
go out.

    rows of steps:  a a . a | b . . b | c c c c | …      (. dropped by a filter)
    batches of 4:   a a a b | b c c c | c …

It is sequential, and the only part of a pipeline whose place is not arithmetic. Its state holds
places, never rows: where the engine stood before the oldest row that is still to come, and how much
of what followed has gone out. Restoring makes those rows once more.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import StateError, UsageError
from .assembled_batch import AssembledBatch
from .batch import FunctionBatch
from .stream import Stream

if TYPE_CHECKING:
    from .. import _native
    from ..errors import RowError


class Wanted(NamedTuple):
    """What goes out."""

    rows: int
    """A batch of this rank."""
    total: int
    """A batch of all ranks."""
    steps: int
    """An epoch."""


@dataclass
class Part:
    """What is left of a batch of the stream's."""

    batch: FunctionBatch
    rows: list[int]
    """Its rows, but those that pad a step and those with nothing to take."""
    before: str
    """The engine's state before it."""
    used: int = 0
    """Of `rows`, that have gone out."""


class Assembler:
    """Has the interface of a `Stream`. `refill` and `token_packing` say what a batch is made of."""

    def __init__(
        self, native: _native.Loader, stream: Stream, kinds: dict[str, str], wanted: Wanted
    ) -> None:
        self._native = native
        self._stream = stream
        self._kinds = kinds
        self._rows = wanted.rows
        self._total = wanted.total
        self._steps = wanted.steps
        self._epoch = 0
        self._step = 0
        self._parts: list[Part] = []
        self._used = 0  # of the oldest row: what of it has gone out
        self._errors: list[RowError] = []
        self._passes_without_rows = 0
        self._start: str | None = None  # the state that the next iteration begins with

    def _make(self) -> AssembledBatch:
        """The next batch, from parts that `_pull` brings."""
        raise NotImplementedError

    # --- The interface of a stream ---------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """Of `steps` batches; passes over the data are not in step with it."""
        return self._epoch

    @property
    def steps(self) -> int:
        return self._steps

    def begin(self) -> None:
        """An iteration begins, after the engine's was rewound."""
        if self._start is None:
            self._stream.begin()
            self._start = self.state()
            return
        start = json.loads(self._start)
        self._stream.pause()
        self._native.load_state(json.dumps(start["engine"]), 0)
        self._native.rewind()
        self._stream.begin()
        self._epoch, self._step = start["epoch"], start["step"]
        self._parts = []
        self._errors = []
        self._passes_without_rows = 0
        self._skip(start["rows"], start["used"])

    def next(self) -> AssembledBatch | None:
        """The next batch; None at the end of the epoch."""
        if self._step == self._steps:
            self._epoch, self._step = self._epoch + 1, 0
            self._start = self.state()
            return None
        batch = self._make()
        batch.step, batch.total = self._step, self._total
        batch.failed = self._errors
        self._errors = []
        self._step += 1
        return batch

    def state(self) -> str:
        """The state after the batch that was handed out last; of this rank."""
        first = self._parts[0] if self._parts else None
        engine = self._stream.state() if first is None else first.before
        return json.dumps(
            {
                "headrace_assembled": 1,
                "engine": json.loads(engine),
                "rows": 0 if first is None else first.used,
                "used": self._used,
                "epoch": self._epoch,
                "step": self._step,
                "wanted": [self._rows, self._total, self._steps],
            }
        )

    def load_state(self, state: dict[str, Any]) -> None:
        """The next iteration goes on from there."""
        wanted = [self._rows, self._total, self._steps]
        if state["wanted"] != wanted:
            raise StateError(
                "the state is of other batches: (rows, of all ranks, steps) were "
                f"{state['wanted']} and are {wanted}"
            )
        self._native.load_state(json.dumps(state["engine"]), 0)
        self._start = json.dumps(state)
        self._epoch, self._step = state["epoch"], state["step"]

    def pause(self) -> None:
        self._stream.pause()

    def close(self) -> None:
        self._stream.close()

    def stats(self) -> dict[str, Any]:
        return self._stream.stats()

    # --- For those that make batches -------------------------------------------------------------

    def _pull(self) -> None:
        """One more part at the end, if the next batch of the stream has rows."""
        before = self._stream.state()
        batch = self._stream.next()
        if batch is None:
            return self._next_pass()
        self._errors += batch.errors()
        rows = self._rows_to_take(batch)
        if rows:
            self._passes_without_rows = 0
            self._parts.append(Part(batch, rows, before))

    def _rows_to_take(self, batch: FunctionBatch) -> list[int]:
        return [i for i, real in enumerate(batch.mask().tolist()) if real]

    def _drop_used(self) -> None:
        while self._parts and self._parts[0].used == len(self._parts[0].rows):
            self._parts.pop(0)

    def _next_pass(self) -> None:
        """The data is at its end: from its beginning, in the next epoch's order."""
        self._passes_without_rows += 1
        if self._passes_without_rows > 2:
            raise UsageError("no sample is left to fill batches with: the filter drops them all")
        self._stream.pause()
        self._native.rewind()
        self._stream.begin()

    def _skip(self, rows: int, used: int) -> None:
        """Goes to the place of a state: past `rows` rows, and `used` of the one after them."""
        self._used = used
        if rows or used:
            while not self._parts:
                self._pull()
            self._parts[0].used = rows
