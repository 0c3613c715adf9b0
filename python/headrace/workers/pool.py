"""Worker processes: started, given batches, and watched.

Workers are fresh interpreters, not forks: the parent has threads of its own (the engine's, BLAS's,
often CUDA's), and a forked child inherits their locks in whatever state they are. So functions are
pickled. SIGINT is blocked while a worker starts, so that a Ctrl-C is the parent's alone.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections import OrderedDict

from ..errors import UsageError, WorkerError
from ..functions.describe import Function
from .channel import Channel
from .process import ENVIRONMENT, Begin, Task

_KNOWN_SLOTS = 48  # that a worker keeps mapped
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# malloc keeps large arrays that a function makes and drops: fresh pages cost more than the work.
_KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "33554432", "MALLOC_TRIM_THRESHOLD_": "268435456"}
PATIENCE = 2.0
"""Seconds for workers to end by themselves."""


class Worker:
    """One process. `pending` are the numbers of its tasks, oldest first."""

    def __init__(self, number: int, of: int, begin: Begin) -> None:
        self.pending: list[int] = []
        self._number = number
        self._of = of
        self._slots: OrderedDict[int, None] = OrderedDict()  # mapped there; oldest use first
        ours, its = socket.socketpair()
        try:
            self._process = _started(its)
        finally:
            its.close()
        self.channel = Channel(ours)
        with contextlib.suppress(OSError):  # it is dead already; whoever receives finds out
            self.channel.send(begin)

    def give(self, task: Task, slots: dict[int, tuple[int, int]]) -> None:
        """Sends a task. `slots`: those it uses, number -> (descriptor, size)."""
        new = [number for number in slots if number not in self._slots]
        for number in slots:
            self._slots[number] = None
            self._slots.move_to_end(number)
        while len(self._slots) > max(_KNOWN_SLOTS, len(slots)):
            task.forgotten.append(self._slots.popitem(last=False)[0])
        task.new_slots = [(number, slots[number][1]) for number in new]
        self.pending.append(task.number)
        self.channel.send(task, [slots[number][0] for number in new])

    def died(self, what: str) -> WorkerError:
        """The error that says how it ended, once its channel has closed."""
        try:
            status = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            how = "closed its channel"
        else:
            how = f"ended with status {status}" if status >= 0 else _killed_by(-status)
        hint = "Look at what it wrote to stderr."
        if how.endswith("SIGKILL"):
            hint = (
                "Out of memory is the usual reason (see `dmesg`): use fewer workers=, smaller "
                "batches, or functions that need less."
            )
        message = f"worker {self._number} of {self._of} (process {self._process.pid}) {how}"
        return WorkerError(f"{message} {what}", hint=hint)

    def end(self) -> None:
        """Closes the channel, at which it ends by itself."""
        self.channel.close()

    def wait(self, until: float) -> None:
        """Until it has ended; a worker whose function does not come back is killed then, by the
        clock of time.monotonic()."""
        try:
            self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def start(functions: tuple[Function, ...], seed: int, skip: bool, count: int) -> list[Worker]:
    """Starts `count` workers.

    Raises:
        UsageError: the functions cannot be pickled, or this is a worker itself.
    """
    if ENVIRONMENT in os.environ and os.environ[ENVIRONMENT] == str(os.getppid()):
        raise UsageError(
            "a worker process would start workers: it has imported the program that started it",
            hint='Keep what the program runs below `if __name__ == "__main__":`.',
        )
    pickled = _pickled(functions)
    main_path = _main_path() if b"__main__" in pickled else None
    begin = Begin(pickled, seed, skip, main_path)
    return [Worker(number, count, begin) for number in range(count)]


def _pickled(functions: tuple[Function, ...]) -> bytes:
    for function in functions:
        try:
            pickle.dumps(function, protocol=5)
        except Exception as error:
            raise UsageError(
                f"{function.name} cannot be pickled, so no worker can run it: {error}",
                hint="With workers=, a function is one defined with def at the top level of a "
                "module, a picklable object with __call__, or functools.partial of those; no "
                "lambda, and none defined inside another function. Or use workers=0.",
            ) from None
    return pickle.dumps(functions, protocol=5)


def _main_path() -> str:
    path: str | None = getattr(sys.modules["__main__"], "__file__", None)
    if path is None:
        raise UsageError(
            "a function is defined in an interactive session or a notebook, where no worker finds "
            "it",
            hint="Put it into a module and import it, or use workers=0.",
        )
    return os.path.abspath(path)


def _started(end: socket.socket) -> subprocess.Popen[bytes]:
    code = (
        f"import sys; sys.path = {sys.path!r}; sys.argv = {sys.argv!r}; "
        f"from headrace.workers.process import main; main({end.fileno()})"
    )
    environment = {**_KEEP_MEMORY, **dict.fromkeys(_ONE_THREAD, "1"), **os.environ}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        return subprocess.Popen(
            [sys.executable, "-c", code],
            pass_fds=[end.fileno()],
            stdin=subprocess.DEVNULL,
            env=environment,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _killed_by(number: int) -> str:
    try:
        return f"was killed by {signal.Signals(number).name}"
    except ValueError:
        return f"was killed by signal {number}"
