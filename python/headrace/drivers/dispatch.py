"""Which task runs next, what is tried again, and what gets a second copy: the same for all engines.

Time and machines come from the engine, so that tests run this under a clock of their own.
"""

from __future__ import annotations

import collections
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from ..errors import Error
from .program import CODES

#: Exit codes of the program that another try can change: a failure, partial, interrupted.
_WORTH_A_TRY = {1, 5, 130}
_MOST_TRIES = 4  # of a task that fails
_MOST_LOSSES = 10  # of a task whose machine is lost; those may be many at once
_ENOUGH_TO_COMPARE = 3  # tasks must have ended before any is called slow
_SLOW = 2.0  # times the median
_SHORT = 5.0  # seconds; below, a second copy is not worth its start


class TaskError(Error):
    """A task failed for good. `code` is that of its own error, where it said one."""


class Ended(NamedTuple):
    """An attempt that is over."""

    attempt: Any
    """What `start` gave."""
    exit_code: int | None
    """Of the program; None: the machine, or the engine's own process, was lost."""
    seconds: float
    """That it ran."""
    message: str = ""
    """What it said last."""


class Engine(Protocol):
    """Machines that run tasks. Used by one thread."""

    @property
    def limit(self) -> int:
        """Attempts that it may hold at once. May change."""

    @property
    def spare(self) -> int:
        """How many of these only wait for a machine that comes free."""

    @property
    def batch(self) -> int:
        """As many as this are started at once where there are as many: an array, a submission."""

    def start(self, tasks: Sequence[int]) -> Sequence[Any]:
        """Begins an attempt of each; gives something that names it, in order."""

    def wait(self) -> list[Ended]:
        """Attempts that ended, each once; returns after a while if none did."""

    def running_for(self, attempt: Any) -> float:
        """Seconds since it began to run; 0 while it waits for a machine."""

    def cancel(self, attempt: Any) -> None:
        """Ends it soon, if it has not ended. It need not be reported any more."""


@dataclass
class _Task:
    number: int
    attempts: list[Any] = field(default_factory=list)  # under way
    failures: int = 0
    losses: int = 0
    is_doubled: bool = False


class Progress(NamedTuple):
    """How far a job is."""

    finished: int
    tasks: int
    running: int
    retries: int
    """Attempts that had to be made again: failed, or lost with their machine."""
    doubles: int
    """Second copies of slow tasks."""


class Dispatcher:
    """Runs `tasks` on `engine`, each at least once and, but for lost machines, few twice.

    `told` gets the progress after every change. On an error, and on KeyboardInterrupt, everything
    under way is cancelled.
    """

    def __init__(
        self,
        engine: Engine,
        tasks: Iterable[int],
        told: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self._engine = engine
        self._waiting = collections.deque(_Task(number) for number in tasks)
        self._running: dict[Any, _Task] = {}
        self._seconds: list[float] = []
        self._told = told
        self._tasks = len(self._waiting)
        self._finished = self._retries = self._doubles = 0

    def run(self) -> Progress:
        """Until all are done. TaskError: one failed for good."""
        try:
            while self._waiting or self._running:
                self._start()
                for ended in self._engine.wait():
                    self._take(ended)
                self._double_the_slow()
                self._told(self.progress())
        finally:
            for attempt in self._running:
                self._engine.cancel(attempt)
        return self.progress()

    def progress(self) -> Progress:
        running = len({task.number for task in self._running.values()})
        return Progress(self._finished, self._tasks, running, self._retries, self._doubles)

    def _room(self, spare: int = 0) -> int:
        return max(0, self._engine.limit - spare - len(self._running))

    def _start(self) -> None:
        count = min(self._room(), len(self._waiting))
        if count < min(self._engine.batch, len(self._waiting)) and self._running:
            return
        self._begin([self._waiting.popleft() for _ in range(count)])

    def _begin(self, tasks: list[_Task]) -> None:
        if not tasks:
            return
        attempts = self._engine.start([task.number for task in tasks])
        for task, attempt in zip(tasks, attempts, strict=True):
            task.attempts.append(attempt)
            self._running[attempt] = task

    def _take(self, ended: Ended) -> None:
        task = self._running.pop(ended.attempt, None)
        if task is None:  # the other copy was first
            return
        task.attempts.remove(ended.attempt)
        if ended.exit_code == 0:
            self._finish(task, ended.seconds)
        elif not task.attempts:
            self._try_again(task, ended)

    def _finish(self, task: _Task, seconds: float) -> None:
        self._finished += 1
        self._seconds.append(seconds)
        for other in task.attempts:
            self._engine.cancel(other)
            del self._running[other]
        task.attempts.clear()

    def _try_again(self, task: _Task, ended: Ended) -> None:
        if ended.exit_code is None:
            task.losses += 1
        elif ended.exit_code in _WORTH_A_TRY or ended.exit_code < 0:
            task.failures += 1
        else:
            what = f"task {task.number} failed: {ended.message}"
            raise TaskError(what, code=CODES.get(ended.exit_code), hint=_GO_ON)
        if task.failures >= _MOST_TRIES or task.losses >= _MOST_LOSSES:
            tries = task.failures + task.losses
            what = (
                f"task {task.number} failed {tries} times, last: {ended.message or 'it was lost'}"
            )
            raise TaskError(what, hint=_GO_ON)
        self._retries += 1
        task.is_doubled = False
        self._waiting.append(task)

    def _double_the_slow(self) -> None:
        """When nothing else waits, machines are idle, and few tasks are left."""
        enough = max(_ENOUGH_TO_COMPARE, 0.75 * self._tasks)
        idle = self._room(self._engine.spare)
        if self._waiting or self._finished < enough or not idle:
            return
        slow = max(_SHORT, _SLOW * statistics.median(self._seconds))
        tasks = [
            task
            for attempt, task in self._running.items()
            if not task.is_doubled and self._engine.running_for(attempt) > slow
        ][:idle]
        for task in tasks:
            task.is_doubled = True
        self._doubles += len(tasks)
        self._begin(tasks)


_GO_ON = "What is finished stays; 'headrace run PLAN' goes on with the rest."
