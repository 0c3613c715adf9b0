"""Batches of a loader in their order, each after the functions.

A stream stands between the engine and the consumer. In this process it takes a batch when it is
asked for one; with workers it runs ahead (`headrace.workers.stream`).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ..errors import Error
from .batch import FunctionBatch, batch_of, empty_column, error_of, given_of
from .columns import Column
from .describe import Function
from .draws import Draws, globals_kept
from .results import PrivateMemory
from .stages import FailedError, run_functions

if TYPE_CHECKING:
    from .. import _native


class Budget:
    """How many rows an epoch may lose to functions that fail."""

    def __init__(self, skip: bool, most: int) -> None:
        self.skip = skip
        self._most = most
        self._lost = 0

    def begin(self) -> None:
        """An epoch."""
        self._lost = 0

    def spend(self, batch: FunctionBatch) -> None:
        """Raises when the rows that `batch` lost are too many."""
        errors = batch.errors()
        self._lost += len(errors)
        if self._lost <= self._most:
            return
        error: Error = errors[-1].error
        raise type(error)(
            f"more than {self._most} samples of this epoch are bad (max_errors); the last one: "
            + error.message,
            hint=error.hint or "",
        ) from error


class Stream:
    """Runs the functions in this process, when a batch is asked for."""

    def __init__(
        self,
        native: _native.Loader,
        functions: tuple[Function, ...],
        kinds: dict[str, str],
        seed: int,
        budget: Budget,
    ) -> None:
        self._native = native
        self._functions = functions
        self._kinds = kinds
        self._seed = seed
        self._budget = budget
        self._state: str | None = None  # after the batch handed out last
        self._empty: list[Column] = []  # like those of the batch handed out last
        self._began: float | None = None
        self._busy_seconds = 0.0

    def begin(self) -> None:
        """An iteration begins, after the engine's was rewound."""
        self._budget.begin()
        self._state = self._native.state()

    def next(self) -> FunctionBatch | None:
        """The next batch; None at the end of the epoch."""
        native = self._native.next()
        if native is None:
            self._end_epoch()
            return None
        begin = time.perf_counter()
        self._began = self._began or begin
        given = given_of(native, self._kinds)
        draws = Draws(self._seed, native.epoch)
        try:
            with globals_kept():
                outcome = run_functions(
                    self._functions, given, draws, PrivateMemory(), self._budget.skip
                )
        except FailedError as failed:
            raise error_of(native, failed.failure)  # noqa: B904  # it has its own cause
        finally:
            self._busy_seconds += time.perf_counter() - begin
        return self._handed(batch_of(native, given, outcome))

    def state(self) -> str:
        """The state after the batch that was handed out last."""
        return self._native.state() if self._state is None else self._state

    def pause(self) -> None:
        """Before the engine goes to another place: nothing may run ahead."""
        self._state = None

    def close(self) -> None:
        """Ends what runs ahead."""

    def stats(self) -> dict[str, Any]:
        """What the functions did, and what limits the run if they do."""
        stats: dict[str, Any] = {"function_seconds": self._busy_seconds}
        share = self._busy_seconds / self._seconds()
        if share > 0.5:
            stats["limit"] = "functions"
            stats["sentence"] = (
                f"The functions limit the run: they take {share:.0%} of the time in this process. "
                "Run them in others with loader(workers=K)."
            )
        return stats

    def _handed(self, batch: FunctionBatch) -> FunctionBatch:
        """`batch`, which is the next to be handed out. One without rows gets the columns of the one
        before it, if there was one."""
        self._budget.spend(batch)
        self._state = batch.state
        if len(batch) > 0:
            kinds = {**self._kinds, **batch.kinds}
            self._empty = [
                empty_column(name, batch.column(name), kinds.get(name, "bytes"))
                for name in batch.fields
            ]
        elif self._empty:
            batch = batch.without_rows_like(self._empty)
        return batch

    def _end_epoch(self) -> None:
        """The epoch is over, and the engine stands before the next one."""
        self._state = None
        self._budget.begin()

    def _seconds(self) -> float:
        """Since functions began to run."""
        return time.perf_counter() - self._began if self._began else 1e-9
