"""MultiLoader: a data set in worker processes without torch. Needs pyzmq.

    loader = MultiLoader(wds.WebDataset(shards, shardshuffle=100).decode(), workers=4)

Each worker iterates over its share of the shards (`split_by_worker`) and sends its samples,
pickled, through one socket in the order in which they are ready:

    worker 0 --.
    worker 1 ---+--> ipc socket --> the loader's iterator
    worker 2 --'
"""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import pickle
import sys
import uuid
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import zmq  # type: ignore[import-not-found, unused-ignore]

the_protocol = pickle.HIGHEST_PROTOCOL

#: The workers of all loaders.
all_pids: weakref.WeakSet[Any] = weakref.WeakSet()

_LOOK_AFTER_MS = 200
_GOODBYE_S = 1.0


class EOF:
    """A worker's last message."""

    index: int  # of the worker

    def __init__(self, **kw: Any) -> None:
        self.__dict__.update(kw)


def reader(dataset: Iterable[Any], sockname: str, index: int, num_workers: int) -> None:
    """What a worker runs: sends every sample of its share, and then EOF."""
    os.environ["WORKER"] = str(index)
    os.environ["NUM_WORKERS"] = str(num_workers)
    # Leaving the context waits until everything is sent.
    with zmq.Context() as context, context.socket(zmq.PUSH) as socket:
        socket.connect(sockname)
        for sample in dataset:
            socket.send(pickle.dumps(sample, protocol=the_protocol))
        socket.send(pickle.dumps(EOF(index=index)))


class MultiLoader:
    """Iterates over `dataset` in `workers` processes.

    verbose: says when a worker begins and ends. nokill: a new iteration leaves the processes of one
    that was broken off. prefix: where the socket lies.

    Raises RuntimeError where a worker ends before its last sample; its own error is on stderr. (The
    original waits for ever.) Not thread-safe.
    """

    def __init__(
        self,
        dataset: Any,
        workers: int = 4,
        verbose: bool = False,
        nokill: bool = False,
        prefix: str = "/tmp/_multi-",
    ) -> None:
        self.dataset = dataset
        self.workers = workers
        self.verbose = verbose
        self.nokill = nokill
        self.prefix = prefix
        self.pids: list[Any] = []
        self.socket: Any = None
        self.ctx: Any = zmq.Context.instance()

    def kill(self) -> None:
        """Ends the workers of an iteration and closes its socket."""
        for process in self.pids:
            if process is not None:
                process.kill()
                process.join(_GOODBYE_S)
        self.pids = []
        if self.socket is not None:
            self._close(self.socket, self.sockname)
        self.socket = None

    def __iter__(self) -> Iterator[Any]:
        if not self.nokill:
            self.kill()
        self._start()
        socket, name, processes = self.socket, self.sockname, self.pids
        while any(process is not None for process in processes):
            message = self._received(socket, processes)
            if not isinstance(message, EOF):
                yield message
                continue
            self._say(f"worker {message.index} has finished")
            processes[message.index].join(_GOODBYE_S)
            processes[message.index] = None
        self._close(socket, name)

    def _start(self) -> None:
        self.sockname = f"ipc://{self.prefix}{uuid.uuid4()}"
        self._say(self.sockname)
        self.socket = self.ctx.socket(zmq.PULL)
        self.socket.bind(self.sockname)
        self.pids = [
            mp.Process(
                target=reader, args=(self.dataset, self.sockname, index, self.workers), daemon=True
            )
            for index in range(self.workers)
        ]
        all_pids.update(self.pids)
        for process in self.pids:
            process.start()

    def _received(self, socket: Any, processes: list[Any]) -> Any:
        while not socket.poll(_LOOK_AFTER_MS):
            for index, process in enumerate(processes):
                # What a worker sent arrives before its end is seen here.
                if process is None or process.is_alive() or socket.poll(_LOOK_AFTER_MS):
                    continue
                code = process.exitcode
                self.kill()
                raise RuntimeError(f"worker {index} ended with exit code {code}; see its error")
        return pickle.loads(socket.recv())

    @staticmethod
    def _close(socket: Any, name: str) -> None:
        socket.close(linger=0)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name.removeprefix("ipc://"))

    def _say(self, text: str) -> None:
        if self.verbose:
            print("#", text, file=sys.stderr)
