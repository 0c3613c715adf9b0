"""A worker process: takes a batch, runs the functions over it, says where the results lie.

Started as a fresh interpreter by `headrace.workers.pool`; it ends when its parent does.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import socket
import sys
import time
import traceback
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..functions.columns import Column, MemoryColumn, ObjectColumn, numpy_dtype
from ..functions.describe import Function
from ..functions.draws import Draws
from ..functions.results import copied
from ..functions.stages import FailedError, Failure, Given, run_functions
from .channel import Channel
from .memory import Shared, Writer

ENVIRONMENT = "HEADRACE_WORKER"
"""Set in a worker, so that a program that a worker imports does not start workers of its own."""


@dataclass
class Begin:
    """The first message to a worker."""

    functions: bytes
    """Pickled, a tuple of Function."""
    seed: int
    skip: bool
    main_path: str | None
    """Of the program, if functions are defined in it."""


@dataclass
class Place:
    """Where a column lies: its description, without its elements."""

    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...]
    slot: int
    offset: int
    offsets: NDArray[np.int64] | None
    row_shapes: NDArray[np.int64] | None

    @classmethod
    def of(cls, column: MemoryColumn, slot: int, offset: int) -> Place:
        return cls(
            column.name, column.kind, column.dtype, column.shape, slot, offset, column.offsets,
            column.row_shapes,
        )  # fmt: skip

    def column(self, memory: NDArray[np.uint8]) -> MemoryColumn:
        """The column over its slot's memory."""
        dtype = numpy_dtype(self.dtype)
        size = int(np.prod(self.shape, dtype=np.int64)) * dtype.itemsize
        elements = memory[self.offset : self.offset + size].view(dtype).reshape(self.shape)
        return MemoryColumn(
            self.name, self.kind, self.dtype, elements, self.offsets, self.row_shapes
        )


@dataclass
class Objects:
    """A column of objects: pickled, with the arrays inside them in the slot."""

    name: str
    text: bytes
    buffers: list[tuple[int, int]]
    """Offset and size of each in the slot of the results."""


@dataclass
class Task:
    """A batch for a worker."""

    number: int
    epoch: int
    step: int
    positions: list[int]
    columns: list[Place]
    results: int
    """Slot for them."""
    results_size: int
    new_slots: list[tuple[int, int]]
    """Number and size of slots whose descriptors come along."""
    forgotten: list[int]
    """Slots that will not come again."""


@dataclass
class Done:
    """A batch that went through all functions."""

    number: int
    seconds: float
    columns: list[Place | Objects | str]
    """str: the column of this name, as it was given."""
    kept: list[int] | None
    results_size: int
    failures: list[Failure] = field(default_factory=list)


@dataclass
class Failed:
    """A batch whose function failed."""

    number: int
    failure: Failure


@dataclass
class Broken:
    """The worker cannot work at all."""

    message: str
    hint: str
    text: str


def main(descriptor: int) -> None:
    """The whole life of a worker, over the socket `descriptor`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    os.environ[ENVIRONMENT] = str(os.getppid())
    channel = Channel(socket.socket(fileno=descriptor))
    try:
        begin, _ = channel.receive()
        worker = _begun(channel, begin)
        while worker is not None:
            task, descriptors = channel.receive()
            channel.send(worker.run(task, descriptors))
    except (EOFError, OSError):
        pass  # the parent has closed the channel, or is gone
    os._exit(0)  # no finalizer of a library may hold the parent up


class _Worker:
    def __init__(self, functions: tuple[Function, ...], seed: int, skip: bool) -> None:
        self._functions = functions
        self._seed = seed
        self._skip = skip
        self._slots: dict[int, Shared] = {}

    def run(self, task: Task, descriptors: list[int]) -> Done | Failed:
        begin = time.perf_counter()
        for number in task.forgotten:
            del self._slots[number]
        for (number, size), descriptor in zip(task.new_slots, descriptors, strict=True):
            self._slots[number] = Shared(number, descriptor, size)
        results = self._slots[task.results]
        results.map(task.results_size)
        given = Given(
            {place.name: place.column(self._slots[place.slot].bytes) for place in task.columns},
            task.positions,
            task.step,
        )
        writer = Writer(results)
        draws = Draws(self._seed, task.epoch)
        try:
            outcome = run_functions(self._functions, given, draws, writer, self._skip)
        except FailedError as failed:
            return Failed(task.number, failed.failure)
        columns = [
            _sent(name, column, given, results.number, writer)
            for name, column in outcome.columns.items()
        ]
        seconds = time.perf_counter() - begin
        return Done(task.number, seconds, columns, outcome.kept, results.size, outcome.failures)


def _sent(
    name: str, column: Column, given: Given, slot: int, writer: Writer
) -> Place | Objects | str:
    if isinstance(column, ObjectColumn):
        return _objects(name, column.values, writer)
    if given.columns.get(name) is column:
        return name
    offset = writer.offset_of(column.memory)
    if offset is None or not column.memory.flags.c_contiguous:
        copy = copied(column, writer)
        assert isinstance(copy, MemoryColumn)
        column, offset = copy, writer.offset_of(copy.memory)
        assert offset is not None
    place = Place.of(column, slot, offset)
    place.name = name
    return place


class _Pickler(pickle.Pickler):
    """numpy hands out the memory of arrays only where their elements lie one after the other."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is np.ndarray and not value.flags.forc and not value.dtype.hasobject:
            return np.ascontiguousarray(value).__reduce_ex__(5)
        return NotImplemented


def _objects(name: str, values: list[Any], writer: Writer) -> Objects:
    buffers: list[pickle.PickleBuffer] = []
    text = io.BytesIO()
    _Pickler(text, protocol=5, buffer_callback=buffers.append).dump(values)
    places = []
    for buffer in buffers:
        raw = np.frombuffer(buffer.raw(), np.uint8)
        piece = writer.take(raw.nbytes)
        piece[:] = raw
        offset = writer.offset_of(piece)
        assert offset is not None
        places.append((offset, raw.nbytes))
    return Objects(name, text.getvalue(), places)


def _begun(channel: Channel, begin: Begin) -> _Worker | None:
    """A worker with its functions; None: the parent was told why there is none."""
    try:
        if begin.main_path is not None:
            _import_main(begin.main_path)
        functions = pickle.loads(begin.functions)
    except BaseException as error:
        hint = (
            "Functions must be importable: define them at the top level of a module, and keep what "
            'a program runs below `if __name__ == "__main__":`.'
        )
        message = f"a worker cannot load the functions: {type(error).__name__}: {error}"
        channel.send(Broken(message, hint, traceback.format_exc()))
        return None
    _one_thread_each()
    return _Worker(functions, begin.seed, begin.skip)


def _import_main(path: str) -> None:
    """The program under another name than __main__, as multiprocessing's spawn does it."""
    from multiprocessing import spawn

    spawn._fixup_main_from_path(path)  # type: ignore[attr-defined]


def _one_thread_each() -> None:
    """Workers share the processors; libraries that are loaded by now leave them to each other."""
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    cv2: Any = sys.modules.get("cv2")
    if cv2 is not None:
        cv2.setNumThreads(0)
