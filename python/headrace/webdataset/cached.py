"""Samples that are kept after the first whole pass: in memory, or in an LMDB folder.

Both hand out shallow copies of dictionaries, so that a later stage that changes a sample in place
does not change what the next epoch gets.
"""

from __future__ import annotations

import importlib
import itertools
import os
import pickle
import types
from collections.abc import Iterable, Iterator
from typing import Any

from . import utils
from .utils import PipelineStage


def _copy(sample: Any) -> Any:
    return dict(sample) if isinstance(sample, dict) and not utils.strict_compat() else sample


class Cached(PipelineStage):
    """Keeps the first whole pass in memory; later passes come from there.

    A pass that was broken off is not kept.
    """

    def __init__(self) -> None:
        self.cached: list[Any] | None = None

    def run(self, source: Iterable[Any]) -> Iterator[Any]:
        if self.cached is not None:
            yield from map(_copy, self.cached)
            return
        kept = []
        for sample in source:
            kept.append(_copy(sample))
            yield sample
        self.cached = kept


class LMDBCached(PipelineStage):
    """Keeps the first whole pass in the LMDB folder `fname`, also for later processes.

    map_size: the most that the folder may take, in bytes.
    pickler: has `dumps` and `loads`.
    chunksize: samples in one transaction.

    Samples come back in the order in which they came, and all of them: they are stored by number.
    (Folders that the original wrote are read as well; there they are stored by key.) Processes
    that read different shares of a data set, ranks and DataLoader workers, each keep a folder in
    `fname`. Raises ValueError when `utils.enforce_security` is set, since samples are unpickled.
    """

    MARK = b"_"  # this key is in a folder that holds a whole pass

    def __init__(
        self, fname: str, map_size: float = 1e12, pickler: Any = pickle, chunksize: int = 500
    ) -> None:
        self.fname, self.map_size, self.pickler = fname, map_size, pickler
        self.chunksize = chunksize
        self._opened: tuple[int, str, Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_opened": None}
        if isinstance(self.pickler, types.ModuleType):  # those cannot be pickled themselves
            state["pickler"] = self.pickler.__name__
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(self.pickler, str):
            self.pickler = importlib.import_module(self.pickler)

    @property
    def db(self) -> Any:
        """The open environment. LMDB's must not be used across a fork, so one a process."""
        folder = self.fname + _share()
        if self._opened is None or self._opened[:2] != (os.getpid(), folder):
            import lmdb  # type: ignore[import-not-found, import-untyped, unused-ignore]

            os.makedirs(folder, exist_ok=True)
            self._opened = os.getpid(), folder, lmdb.open(folder, map_size=int(self.map_size))
        return self._opened[2]

    def is_complete(self) -> bool:
        """Whether a whole pass is in the folder."""
        with self.db.begin() as transaction:
            return transaction.get(self.MARK) is not None

    def add_samples(self, samples: Iterable[Any]) -> None:
        """Stores samples under the numbers behind those that are there."""
        with self.db.begin(write=True) as transaction:
            first = transaction.stat()["entries"]
            for number, sample in enumerate(samples, first):
                transaction.put(b"%016d" % number, self.pickler.dumps(sample))

    def run(self, source: Iterable[Any]) -> Iterator[Any]:
        utils.refuse_if_secure("LMDBCached: Unpickling is not allowed for security reasons.")
        if self.is_complete():
            yield from self._stored()
            return
        self._clear()
        samples = iter(source)
        while chunk := list(itertools.islice(samples, self.chunksize)):
            self.add_samples(chunk)
            yield from chunk
        with self.db.begin(write=True) as transaction:
            transaction.put(self.MARK, b"1")

    def _clear(self) -> None:
        """Forgets what a pass left that was broken off."""
        with self.db.begin(write=True) as transaction:
            transaction.drop(self.db.open_db(txn=transaction), delete=False)

    def _stored(self) -> Iterator[Any]:
        with self.db.begin() as transaction:
            for key, value in transaction.cursor():
                if key != self.MARK:
                    yield self.pickler.loads(value)


def _share() -> str:
    """The part of the name that keeps ranks and workers apart; empty where there is only one."""
    rank, world, worker, workers = utils.pytorch_worker_info()
    if world * workers == 1:
        return ""
    return f"/share-{rank * workers + worker}-of-{world * workers}"
