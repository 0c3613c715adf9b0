"""The last step where the number of rows changes: rows come in their order, and batches of one size
go out.

    rows of steps:  a a . a | b . . b | c c c c | …      (. dropped by a filter)
    batches of 4:   a a a b | b c c c | c …

It is sequential, and the only part of a pipeline whose place is not arithmetic. Its state holds
places, never rows: how far each row of a step has gone out (`progress`). Restoring makes the rows
that were on their way once more; on other ranks, all since the one that was furthest behind, of
which those go out that have not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import StateError, UsageError
from .assembled_batch import AssembledBatch
from .batch import FunctionBatch
from .progress import Progress
from .stream import Stream

if TYPE_CHECKING:
    from .. import _native
    from ..errors import RowError


_VERSION = 2
"""Of the state."""


class Wanted(NamedTuple):
    """What goes out."""

    rows: int
    """A batch of this rank."""
    total: int
    """A batch of all ranks."""
    steps: int
    """An epoch."""
    rank: int


@dataclass
class Part:
    """What is left of a batch of the stream's."""

    batch: FunctionBatch
    step: int
    """Its own, over all passes."""
    rows: list[int]
    """Those to go out."""
    places: list[int]
    """Of each of them: which row of the step it is, over all ranks."""
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
        self._first_row = wanted.rank * wanted.rows
        self._epoch = 0
        self._step = 0
        self._parts: list[Part] = []
        self._progress = Progress.none(self._first_row, self._rows)  # at the start of the iteration
        self._next_step = 0  # of the stream, over all passes
        self._errors: list[RowError] = []
        self._passes_without_rows = 0
        self._start = self.state()  # what the next iteration begins with

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
        """An iteration begins."""
        start = json.loads(self._start)
        self._stream.pause()
        self._native.load_state(json.dumps(start["engine"]), 0)
        self._progress = Progress.from_json(start["progress"]).of(self._first_row, self._rows)
        self._next_step = self._progress.first_step
        place = divmod(self._next_step, self._pass_steps)
        self._native.load_state(self._native.state_at(*place), 0)
        self._native.rewind()
        self._stream.begin()
        self._epoch, self._step = start["epoch"], start["step"]
        self._parts = []
        self._errors = []
        self._passes_without_rows = 0
        self._restore(start)

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
        state = {
            "headrace_assembled": _VERSION,
            "engine": json.loads(self._native.state_at(0, 0)),
            "progress": self._progress.until(*self._next_row()).to_json(),
            "epoch": self._epoch,
            "step": self._step,
            "total": self._total,
            "steps": self._steps,
        }
        self._note(state)
        return json.dumps(state)

    def load_state(self, state: dict[str, Any]) -> None:
        """The next iteration goes on from there."""
        if state["headrace_assembled"] != _VERSION:
            raise StateError("the state is of another version of headrace")
        for name, own in (("total", self._total), ("steps", self._steps)):
            if state[name] != own:
                raise StateError(
                    f"the state is of other batches: {name} was {state[name]} and is {own}",
                    hint="On other ranks give batch(total=...), the rows of all of them.",
                )
        Progress.from_json(state["progress"]).of(self._first_row, self._rows)
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
        batch = self._stream.next()
        if batch is None:
            return self._next_pass()
        self._errors += batch.errors()
        step = batch.epoch * self._pass_steps + batch.step
        self._next_step = step + 1
        places = batch.positions() % self._total
        real = np.flatnonzero(batch.mask())
        to_come = real[self._progress.to_come(places[real], step)]
        rows = self._rows_to_take(batch, to_come.tolist())
        if rows:
            self._passes_without_rows = 0
            self._parts.append(Part(batch, step, rows, places[rows].tolist()))

    def _rows_to_take(self, batch: FunctionBatch, rows: list[int]) -> list[int]:
        """Of `rows`, which have not gone out."""
        return rows

    def _drop_used(self) -> None:
        while self._parts and self._parts[0].used == len(self._parts[0].rows):
            self._parts.pop(0)

    def _next_row(self) -> tuple[int, int]:
        """The step and the row of it that go out next."""
        if not self._parts:
            return self._next_step, self._first_row
        part = self._parts[0]
        return part.step, part.places[part.used]

    @property
    def _pass_steps(self) -> int:
        """Steps of a pass of the data."""
        return max(1, self._native.steps)

    def _next_pass(self) -> None:
        """The data is at its end: from its beginning, in the next epoch's order."""
        self._passes_without_rows += 1
        if self._passes_without_rows > 2:
            raise UsageError("no sample is left to fill batches with: the filter drops them all")
        self._stream.pause()
        self._native.rewind()
        self._stream.begin()

    def _note(self, state: dict[str, Any]) -> None:
        """Adds to a state what a batch needs to go on, beside whole rows."""

    def _restore(self, state: dict[str, Any]) -> None:
        """Takes it from there."""
