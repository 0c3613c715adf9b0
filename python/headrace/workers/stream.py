"""Batches of a loader in their order, the functions run by worker processes ahead of the consumer.

    engine ──▶ feeder ──▶ worker 0 ──▶ receiver 0 ──┐
               (thread)   worker 1 ──▶ receiver 1 ──┴─▶ next(): by number

Every batch has a number; the least busy worker gets it, and the consumer takes them in order. Two
batches a worker are on the way. A batch the engine made lies in shared memory until its results are
there; results lie in a slot that goes back when the last array over it is gone.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import Error, StoppedError, UsageError
from ..functions.batch import FunctionBatch, error_of
from ..functions.describe import Function
from ..functions.stream import Budget, Stream
from .memory import Lease, Pool
from .pool import PATIENCE, Worker, start
from .process import Broken, Done, Failed, Objects, Place, Task

if TYPE_CHECKING:
    from .. import _native

_AHEAD = 2  # batches a worker: the one it works on, and the one after it


@dataclass
class _OnItsWay:
    """A batch that a worker has."""

    native: _native.Batch
    lease: Lease
    wanted: bool = True
    """False: the iteration it belongs to has ended."""


@dataclass
class _Ready:
    native: _native.Batch
    lease: Lease
    answer: Done | Failed


class WorkerStream(Stream):
    """One thread at a time consumes; any may close."""

    def __init__(
        self,
        native: _native.Loader,
        functions: tuple[Function, ...],
        kinds: dict[str, str],
        seed: int,
        budget: Budget,
        workers: int,
    ) -> None:
        super().__init__(native, functions, kinds, seed, budget)
        self._count = workers
        self._slots = Pool(_AHEAD * workers + 2)
        self._workers: list[Worker] = []
        self._receivers: list[threading.Thread] = []
        self._feeder: threading.Thread | None = None
        self._pid = 0

        self._changed = threading.Condition()  # guards what follows
        self._on_their_way: dict[int, _OnItsWay] = {}
        self._ready: dict[int, _Ready | Exception] = {}
        self._fed = 0  # batches that have a number
        self._handed_out = 0
        self._fed_all = False
        self._moved_on = False  # the engine is in the next epoch already
        self._halt = False
        self._broken: Error | None = None
        self._closed = False

        self._wait_seconds = 0.0

    # --- The consumer's side ---------------------------------------------------------------------

    def next(self) -> FunctionBatch | None:
        self._start()
        ready = self._wait()
        if ready is None:
            if not self._moved_on:
                self._native.next()
            self._end_epoch()
            return None
        if isinstance(ready.answer, Failed):
            raise error_of(ready.native, ready.answer.failure)
        return self._handed(self._assembled(ready, ready.answer))

    def pause(self) -> None:
        super().pause()
        if not self._workers or self._forked():
            return
        with self._changed:
            self._halt = True
            self._changed.notify_all()
        _join(self._feeder)
        with self._changed:
            self._feeder = None
            self._halt = self._fed_all = self._moved_on = False
            self._ready.clear()
            self._handed_out = self._fed
            for batch in self._on_their_way.values():
                batch.wanted = False
            broken = self._broken is not None
        if broken:
            self._end_workers()

    def close(self) -> None:
        if self._forked():
            return
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._native.stop()
        _join(self._feeder)
        self._end_workers()
        self._ready.clear()

    def stats(self) -> dict[str, Any]:
        stats: dict[str, Any] = {
            "function_seconds": self._busy_seconds,
            "function_wait_seconds": self._wait_seconds,
        }
        seconds = self._seconds()
        share = self._busy_seconds / (self._count * seconds) if seconds else 0.0
        if share > 0.7 and self._wait_seconds > 0.1 * seconds:
            stats["limit"] = "functions"
            stats["sentence"] = (
                f"The functions limit the run: its {self._count} workers are busy {share:.0%} of "
                "the time. Use more workers=, or let recipes of decode() do part of the work."
            )
        return stats

    def _wait(self) -> _Ready | None:
        """The next batch; None: this epoch has no more."""
        begin = time.perf_counter()
        with self._changed:
            number = self._handed_out
            while number not in self._ready:
                if self._closed:
                    raise StoppedError("the loader was closed")
                if self._broken is not None:
                    raise self._broken
                if self._fed_all and number == self._fed:
                    return None
                self._changed.wait()
            ready = self._ready.pop(number)
            self._handed_out += 1
            self._changed.notify_all()
        self._wait_seconds += time.perf_counter() - begin
        if isinstance(ready, Exception):
            raise ready
        return ready

    def _assembled(self, ready: _Ready, done: Done) -> FunctionBatch:
        ready.lease.slot.map(done.results_size)
        memory = ready.lease.array
        columns: dict[str, Any] = {}
        for made in done.columns:
            if isinstance(made, str):
                columns[made] = ready.native.column(made)
            elif isinstance(made, Objects):
                columns[made.name] = _objects(made, memory)
            else:
                columns[made.name] = made.column(memory)
        return FunctionBatch(ready.native.without_columns(), columns, done.kept, done.failures)

    # --- Workers and threads ---------------------------------------------------------------------

    def _forked(self) -> bool:
        return self._pid not in (0, os.getpid())

    def _start(self) -> None:
        if self._forked():
            raise UsageError(
                "this loader was started before the process forked",
                hint="Make the loader in the child, or start no iteration before the fork.",
            )
        if not self._workers:
            self._pid = os.getpid()
            self._workers = start(self._functions, self._seed, self._budget.skip, self._count)
            self._receivers = [_thread(self._receive, worker) for worker in self._workers]
        if self._feeder is None:
            self._feeder = _thread(self._feed)

    def _end_workers(self) -> None:
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.end()
        until = time.monotonic() + PATIENCE
        for worker in workers:
            worker.wait(until)
        for receiver in self._receivers:
            _join(receiver)
        with self._changed:
            self._broken = None
            self._on_their_way.clear()

    def _feed(self) -> None:
        """Gives the engine's batches to workers, until the epoch has no more."""
        steps = self._native.steps
        while self._room():
            try:
                native = self._native.next()
            except Exception as error:
                return self._end_feeding(error)
            if native is None:
                self._moved_on = True  # a loaded state was the end of an epoch
                return self._end_feeding(None)
            self._give(native)
            if native.step + 1 == steps:
                return self._end_feeding(None)

    def _room(self) -> bool:
        """Waits until one more batch may be on its way; False: no more are wanted."""
        with self._changed:
            while not (self._halt or self._closed or self._broken):
                ahead = self._fed - self._handed_out
                if ahead < _AHEAD * self._count and len(self._on_their_way) < _AHEAD * self._count:
                    return True
                self._changed.wait()
            return False

    def _end_feeding(self, error: Exception | None) -> None:
        with self._changed:
            if error is not None:
                self._ready[self._fed] = error
                self._fed += 1
            self._fed_all = True
            self._changed.notify_all()

    def _give(self, native: _native.Batch) -> None:
        lease = Lease(self._slots.take(), self._slots)
        results = lease.slot
        with self._changed:
            number = self._fed
            self._fed += 1
            self._on_their_way[number] = _OnItsWay(native, lease)
            worker = min(self._workers, key=lambda each: len(each.pending), default=None)
        if worker is None:
            return  # they have just been ended
        slots = {number: (descriptor, size) for number, descriptor, _, size in native.shared()}
        task = Task(
            number=number,
            epoch=native.epoch,
            step=native.step,
            positions=native.positions().tolist(),
            columns=[self._place(native, name) for name in native.fields],
            results=results.number,
            results_size=results.size,
            new_slots=[],
            forgotten=[],
        )
        slots[results.number] = (results.descriptor, results.size)
        with contextlib.suppress(OSError):  # it is dead; its receiver tells
            worker.give(task, slots)

    def _place(self, native: _native.Batch, name: str) -> Place:
        """Where a column of the engine's lies."""
        column = native.column(name)
        shared = native.shared()
        slot, offset = shared[0][0], 0
        for number, _, address, size in shared:
            if address <= column.address < address + size:
                slot, offset = number, column.address - address
        return Place(
            name,
            self._kinds.get(name, "bytes"),
            column.dtype,
            column.shape,
            slot,
            offset,
            column.offsets if column.ragged else None,
            column.row_shapes if column.ragged else None,
        )

    def _receive(self, worker: Worker) -> None:
        """Takes the answers of one worker, until it is gone."""
        while True:
            try:
                answer, _ = worker.channel.receive()
            except (EOFError, OSError):
                return self._lost(worker)
            if isinstance(answer, Broken):
                error = UsageError(f"{answer.message}\n\n{answer.text}", hint=answer.hint)
                return self._break(error)
            with self._changed:
                worker.pending.remove(answer.number)
                batch = self._on_their_way.pop(answer.number, None)
                if isinstance(answer, Done):
                    self._began = self._began or time.perf_counter() - answer.seconds
                    self._busy_seconds += answer.seconds
                if batch is not None and batch.wanted:
                    self._ready[answer.number] = _Ready(batch.native, batch.lease, answer)
                del batch  # its memory goes back now, not with the next answer
                self._changed.notify_all()

    def _lost(self, worker: Worker) -> None:
        if self._closed or worker not in self._workers:
            return
        self._break(worker.died(self._what_for(worker)))

    def _what_for(self, worker: Worker) -> str:
        with self._changed:
            batch = self._on_their_way.get(worker.pending[0]) if worker.pending else None
        if batch is None:
            return "while it had nothing to do"
        names = ", ".join(function.name for function in self._functions)
        return f"while it ran {names} on step {batch.native.step} of epoch {batch.native.epoch}"

    def _break(self, error: Error) -> None:
        with self._changed:
            if self._broken is None:
                self._broken = error
            self._changed.notify_all()


def _objects(made: Objects, memory: Any) -> Any:
    from ..functions.columns import ObjectColumn

    buffers = [memory[offset : offset + size] for offset, size in made.buffers]
    return ObjectColumn(made.name, pickle.loads(made.text, buffers=buffers))


def _thread(target: Any, *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, name="headrace-worker", daemon=True)
    thread.start()
    return thread


def _join(thread: threading.Thread | None) -> None:
    if thread is not None and thread is not threading.current_thread():
        thread.join()
