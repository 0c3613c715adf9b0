"""All functions of a pipeline over one batch: first those on samples, row by row, each row through
all of them while the cache has it; then those on batches."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from ..batch import Ragged
from ..errors import UsageError
from .columns import Column, MemoryColumn, converted, rows_of
from .describe import Function
from .draws import Draws
from .results import Gathered, Memory, whole_column

_DROPPED = object()


@dataclass
class Failure:
    """What a function raised. Small, and pickled as it is."""

    row: int | None
    """Of the batch as the engine made it; None: it was a function on batches."""
    message: str
    hint: str
    text: str
    """The function's own traceback."""
    error: bytes | None
    """The exception itself, pickled; None: it cannot be."""


class FailedError(Exception):
    """Carries a failure to whoever runs the functions."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass
class Outcome:
    """The batch after all functions. With no row left, its columns are the engine's: nobody knows
    what the functions would have made."""

    columns: dict[str, Column]
    kept: list[int] | None
    """Rows of the engine's batch that are left; None: all."""
    failures: list[Failure] = field(default_factory=list)
    """Of rows that were left out."""


@dataclass
class Given:
    """A batch as the engine made it."""

    columns: dict[str, MemoryColumn]
    positions: list[int]
    """In the epoch; one a row."""
    step: int


def run_functions(
    functions: Iterable[Function], given: Given, draws: Draws, memory: Memory, skip: bool
) -> Outcome:
    """Runs all functions.

    Args:
        memory: for new columns.
        skip: leave out rows whose function fails, instead of raising.

    Raises:
        FailedError: a function raised, or returned what makes no column.
    """
    functions = list(functions)
    on_samples = [each for each in functions if each.step != "map_batches"]
    on_batches = [each for each in functions if each.step == "map_batches"]
    outcome = Outcome(dict(given.columns), None)
    if on_samples:
        outcome = _Samples(on_samples, given, draws, skip).run(memory)
    if not given.positions or outcome.kept == []:
        on_batches = []  # there is nothing to call them with
    for function in on_batches:
        _run_on_batch(function, outcome, given, draws, memory)
    return outcome


class _Samples:
    """The functions on samples, over one batch."""

    def __init__(self, functions: list[Function], given: Given, draws: Draws, skip: bool) -> None:
        self._functions = functions
        self._given = given
        self._draws = draws
        self._skip = skip
        self._readers = {name: rows_of(given.columns[name]) for name in self._fields_read()}
        self._maps = any(function.step == "map" for function in functions)
        self._replaces = any(f.step == "map" and f.replaces_all for f in functions)

    def run(self, memory: Memory) -> Outcome:
        rows = len(self._given.positions)
        gathered: dict[str, Gathered] | None = None
        kept: list[int] = []
        failures: list[Failure] = []
        for row in range(rows):
            before = {name: read(row) for name, read in self._readers.items()}
            try:
                after = self._one(row, before)
            except FailedError as failed:
                if not self._skip:
                    raise
                failures.append(failed.failure)
                continue
            if after is _DROPPED:
                continue
            kept.append(row)
            if not self._maps:
                continue
            if gathered is None:
                columns = self._given.columns
                gathered = {
                    name: Gathered(name, rows - row, columns.get(name), memory) for name in after
                }
            self._gather(gathered, row, before, after)
        left = None if len(kept) == rows else kept
        try:
            return Outcome(self._columns(gathered, left), left, failures)
        except UsageError as error:
            raise _failed(self._last_map(), None, error) from None

    def _fields_read(self) -> list[str]:
        known = self._given.columns
        read: dict[str, None] = {}
        for function in self._functions:
            if function.on is None:
                return list(known)
            read.update(dict.fromkeys(function.on))
        # A name that only an earlier function makes is not there yet.
        return [name for name in read if name in known]

    def _one(self, row: int, sample: dict[str, Any]) -> Any:
        """The sample after all functions, or _DROPPED."""
        position = self._given.positions[row]
        for function in self._functions:
            try:
                sample = self._step(function, position, sample)
            except FailedError:
                raise
            except Exception as error:
                raise _failed(function, row, error) from None
            if sample is _DROPPED:
                return _DROPPED
        return sample

    def _step(self, function: Function, position: int, sample: dict[str, Any]) -> Any:
        fields = _chosen(function, sample)
        inputs = {name: converted(value, function.to) for name, value in fields.items()}
        rng = self._draws.before(function, position)
        result = function.run(dict(inputs), rng)
        if function.step == "filter":
            return sample if result else _DROPPED
        changes = function.changes(result)
        for name, value in changes.items():
            if name in inputs and value is inputs[name]:
                changes[name] = sample[name]  # the object it was, before it was numpy or torch
        return changes if function.replaces_all else {**sample, **changes}

    def _gather(
        self,
        gathered: dict[str, Gathered],
        row: int,
        before: dict[str, Any],
        after: dict[str, Any],
    ) -> None:
        if after.keys() != gathered.keys():
            differ = ", ".join(sorted(after.keys() ^ gathered.keys()))
            error = UsageError(
                f"its fields are not those of the samples before it: {differ}",
                hint="Every sample of a pipeline has the same fields.",
            )
            raise _failed(self._last_map(), row, error)
        columns = self._given.columns
        for name, value in after.items():
            same = name in before and value is before[name] and columns[name].kind != "json"
            if same:
                gathered[name].append_unchanged(row, value)
            else:
                gathered[name].append(value)

    def _columns(
        self, gathered: dict[str, Gathered] | None, left: list[int] | None
    ) -> dict[str, Column]:
        """Those that functions made, and those that none of them was given."""
        columns: dict[str, Column] = {}
        if not self._replaces or gathered is None:
            columns = dict(self._given.columns)
            if left is not None:
                untouched = columns.keys() - (gathered or {}).keys()
                columns.update({name: columns[name].take(left) for name in untouched})
        columns.update({name: each.finish() for name, each in (gathered or {}).items()})
        return columns

    def _last_map(self) -> Function:
        return [function for function in self._functions if function.step == "map"][-1]


def _run_on_batch(
    function: Function, outcome: Outcome, given: Given, draws: Draws, memory: Memory
) -> None:
    rows = len(given.positions) if outcome.kept is None else len(outcome.kept)
    position = given.positions[0] if given.positions else 0
    try:
        columns = {name: _as_given(column, function.to) for name, column in outcome.columns.items()}
        inputs = _chosen(function, columns)
        result = function.run(dict(inputs), draws.before(function, position))
        changes = function.changes(result)
        made: dict[str, Column] = {}
        for name, value in changes.items():
            same = name in inputs and value is inputs[name]
            made[name] = outcome.columns[name] if same else whole_column(name, value, rows, memory)
    except Exception as error:
        raise _failed(function, None, error) from None
    outcome.columns = made if function.replaces_all else {**outcome.columns, **made}


def _as_given(column: Column, to: str) -> Any:
    """What a function on batches gets: an array, a `Ragged`, or a list."""
    if not isinstance(column, MemoryColumn):
        return column.values
    if column.ragged:
        return Ragged(column, column.kind, to == "torch")
    return column.array(column.memory, to)


def _chosen(function: Function, fields: dict[str, Any]) -> dict[str, Any]:
    if function.on is None:
        return fields
    missing = [name for name in function.on if name not in fields]
    if missing:
        raise UsageError(
            f"there is no field {missing[0]!r}", hint=f"There are: {', '.join(fields)}."
        )
    return {name: fields[name] for name in function.on}


def _failed(function: Function, row: int | None, error: Exception) -> FailedError:
    own = isinstance(error, UsageError)
    message = (
        f"{function.name}: {error.message}"
        if isinstance(error, UsageError)
        else f"{function.name} raised {type(error).__name__}: {error}"
    )
    hint = (error.hint or "") if isinstance(error, UsageError) else ""
    own_trace = _beyond_us(error.__traceback__)
    text = "".join(traceback.format_exception(type(error), error, own_trace))
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)  # exceptions that need arguments cannot be made again
    except Exception:
        pickled = None
    return FailedError(Failure(row, message, hint, "" if own else text, pickled))


def _beyond_us(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that begins in the function itself."""
    package = __name__.rpartition(".")[0]
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith(package):
        trace = trace.tb_next
    return trace
