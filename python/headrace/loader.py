"""The loader: one epoch an iteration, resumable after any batch."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast, overload

from . import _native
from .batch import CHANNELS_LAST, Batch
from .distributed import Place, check_agreement
from .errors import DataError, StateError, StoppedError, UsageError
from .states import check_kind

if TYPE_CHECKING:
    from types import TracebackType

    from .dataset import Mix
    from .functions.assembled_batch import AssembledBatch
    from .functions.assembler import Assembler
    from .functions.batch import FunctionBatch
    from .functions.planned_packing import PlannedPacking
    from .functions.stream import Stream
    from .torch_dataset import TorchDataset

_DEFAULTS: dict[str, Any] = {
    "shuffle": False,
    "seed": 0,
    "lanes": 0,
    "window_bytes": 32 << 20,
    "bucket_steps": 0,
    "bucket_by": "",
    "pack_length": 0,
    "pack_by": "",
    "functions": (),
    "mix": None,
    "assemble": None,
    "steps": 0,
}

_live: weakref.WeakSet[Loader] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for loader in list(_live):
        loader.close()


class Stats(dict[str, Any]):
    """What a loader did, as a dict of numbers (seconds are summed over threads)."""

    @property
    def sentence(self) -> str:
        """What limits the run and what to change."""
        return str(self["sentence"])


class Loader:
    """Batches of one rank. Made by `.loader()`.

    Every iteration is one epoch of `len(loader)` steps, the same number on every rank. A new
    iteration starts its epoch again, except after `load_state_dict`, where it goes on; after an
    iteration that came to its end the next one is the next epoch.

    Threads start at the first iteration and end with the loader, with `close()`, or at the end of
    a `with` block. An unstarted loader may be pickled and forked.

    Example:
        >>> with hr.open("shards/").shuffle(seed=7).batch(256).loader() as loader:
        ...     for batch in loader:
        ...         batch["jpg"][0]
    """

    def __init__(
        self,
        source: Mix,
        options: dict[str, Any],
        place: Place,
        to: str,
        share: tuple[int, int] = (0, 1),
    ) -> None:
        self._source = source
        self._options = options
        self._place = place
        self._to = to
        self._restored: tuple[str, int] | None = None
        self._iteration = 0
        self._agreed = False
        self._closed = False
        if to == "torch":
            import torch  # noqa: F401  # now, not between two batches
        self._device = None
        if options.get("device"):
            from .device import Device

            self._device = Device(options["device"])
        self._native = self._build(*share)
        functions = self._functions()
        self._assembler = self._assembled(functions)
        self._stream: Stream | Assembler | None = self._assembler or functions
        self._packing = self._planned_packing()
        _live.add(self)

    def _build(self, worker: int, workers: int) -> _native.Loader:
        fields = self._options.get("fields", {})
        options = {
            **_DEFAULTS,
            **self._options,
            "fields": {name: recipe._spec for name, recipe in fields.items()},
            "weights": self._source.weights,
            "mixture_steps": self._source.steps,
            "rank": self._place.rank,
            "world": self._place.world,
            "worker": worker,
            "workers": workers,
            "memory_bytes": self._options["memory_bytes"] // workers,
        }
        if workers > 1:
            import os

            threads = self._options["threads"] or os.cpu_count() or 1
            options["threads"] = max(1, threads // workers)
        if self._options.get("assemble") and options["tail"] == "short":
            options["tail"] = "pad"  # rows that pad are left out, and each rank has the same ones
        options["shared_memory"] = options["function_workers"] > 0
        return _native.Loader([each._native for each in self._source.sets], options)

    def _functions(self) -> Stream | None:
        """Where the user's functions run; None: there are none."""
        functions = self._options.get("functions", ())
        if not functions and self._options.get("assemble") is None:
            return None
        from .functions.stream import Budget, Stream

        budget = Budget(self._options["on_error"] == "skip", self._options["max_errors"])
        seed = self._options.get("seed", 0)
        processes = self._options["function_workers"]
        if processes == 0:
            return Stream(self._native, functions, self._kinds(), seed, budget)
        from .workers.stream import WorkerStream

        stream = WorkerStream(self._native, functions, self._kinds(), seed, budget, processes)
        weakref.finalize(self, stream.close)
        return stream

    def _assembled(self, stream: Stream | None) -> Assembler | None:
        """What makes batches of the rows that functions left; None: they stay as they are."""
        assemble = self._options.get("assemble")
        if assemble is None or stream is None:
            return None
        from .functions.assembler import Wanted

        world = self._place.world
        rows = self._options["rows"] or self._options["total"] // world
        if self._options["total"] % world:
            raise UsageError(
                f"{world} ranks cannot share {self._options['total']} rows evenly",
                hint="Batches that are filled up have as many rows on each rank.",
            )
        wanted = Wanted(rows, rows * world, self._options["steps"], self._place.rank)
        kinds = self._kinds()
        if assemble["kind"] == "refill":
            from .functions.refill import Refill

            return Refill(self._native, stream, kinds, wanted)
        from .functions.token_packing import TokenPacking

        field, length = assemble["field"], assemble["length"]
        return TokenPacking(self._native, stream, kinds, wanted, field, length)

    def _planned_packing(self) -> PlannedPacking | None:
        """What puts documents into the rows that the engine planned; None: rows are samples."""
        if not self._options.get("pack_length"):
            return None
        from .functions.planned_packing import PlannedPacking

        field, length = self._options["pack_field"], self._options["pack_length"]
        return PlannedPacking(field, length, self._kinds())

    def _kinds(self) -> dict[str, str]:
        fields = self._options.get("fields", {})
        return {
            name: CHANNELS_LAST if recipe._spec.get("layout") == CHANNELS_LAST else recipe.kind
            for name, recipe in fields.items()
        }

    def _share(self, worker: int, workers: int) -> Loader:
        """This loader's share of the steps inside one of torch's `workers` processes, which runs
        functions itself and leaves batches on the host."""
        if self._assembler is not None:
            raise UsageError(
                "batches are filled up or packed in one process",
                hint="Use DataLoader(num_workers=0); loader(workers=K) runs functions in others.",
            )
        place = self._place._replace(group=None)
        options = {**self._options, "function_workers": 0, "device": ""}
        share = Loader(self._source, options, place, self._to, (worker, workers))
        share._continue_from(self._restored, self.epoch)
        return share

    def _continue_from(self, restored: tuple[str, int] | None, epoch: int) -> None:
        if restored is not None:
            self._load(*restored)
        elif epoch != self.epoch:
            self.set_epoch(epoch)

    def _batch(self, native: _native.Batch) -> Batch:
        return Batch(native, self._kinds(), self._to == "torch", self._device)

    def _function_batch(self, made: FunctionBatch | AssembledBatch) -> Batch:
        return Batch(made, {**self._kinds(), **made.kinds}, self._to == "torch", self._device)

    def __len__(self) -> int:
        """Steps of this rank in a whole epoch."""
        return self._native.steps if self._assembler is None else self._assembler.steps

    def __iter__(self) -> Iterator[Batch]:
        self._check_open()
        if not self._agreed:
            more = [self._options.get(name) for name in ("assemble", "steps")]
            check_agreement(self._place, f"{self._native.agreement()} {more}")
            self._agreed = True
            if self._device is not None:
                self._native.page_lock(self._device.number)
        self._pause()
        self._native.rewind()
        if self._stream is not None:
            self._stream.begin()
        self._iteration += 1
        return _Epoch(self, self._iteration)

    def _next(self, iteration: int) -> Batch | None:
        self._check_open()
        if iteration != self._iteration:
            raise UsageError(
                "a newer iteration of this loader has begun, so the older one has ended",
                hint="Make two loaders to iterate twice at the same time.",
            )
        batch = self._native_batch() if self._stream is None else self._made_batch(self._stream)
        if batch is None:
            for each in self._source.sets:
                each._warn()
        return batch

    def _native_batch(self) -> Batch | None:
        native = self._native.next()
        if native is None:
            return None
        if self._packing is not None:
            return self._function_batch(self._packing.pack(native))
        return self._batch(native)

    def _made_batch(self, stream: Stream | Assembler) -> Batch | None:
        made = stream.next()
        if made is None:
            return None
        if self._packing is not None:
            made = self._packing.pack(cast("FunctionBatch", made))
        return self._function_batch(made)

    def _pause(self) -> None:
        """Nothing may run ahead while the engine goes to another place."""
        if self._stream is not None:
            self._stream.pause()

    @property
    def epoch(self) -> int:
        """The number of the epoch that is going on, or comes next."""
        return self._native.epoch if self._assembler is None else self._assembler.epoch

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch: from its start, or where `load_state_dict` put it."""
        if epoch == self.epoch and self._assembler is not None:
            return
        self._not_assembled("set_epoch()")
        if epoch != self.epoch:
            self._restored = None
        self._iteration += 1
        self._pause()
        self._native.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """The state after the last batch: small, JSON-able, the same on all ranks.

        With `filter(refill=True)` and `pack_tokens` without `by=` each rank has its own;
        `hr.merge_states` makes one of them.
        """
        return _parsed(self._native.state() if self._stream is None else self._stream.state())

    def state_at(self, epoch: int, step: int) -> dict[str, Any]:
        """The state before step `step` of `epoch`, by arithmetic alone."""
        self._not_assembled("state_at()")
        return _parsed(self._native.state_at(epoch, step))

    def load_state_dict(self, state: dict[str, Any], total: int | None = None) -> None:
        """Goes on from `state`, on any number of ranks.

        Args:
            state: from `state_dict` or `state_at`.
            total: another number of rows a step, over all ranks; the lanes must divide it.

        Raises:
            StateError: it belongs to another data set or other options; the message says which.
        """
        from json import dumps

        check_kind(state, self._assembler is not None)
        if total and self._assembler is not None:
            raise UsageError("total= is not for batches that are filled up or packed")
        self._pause()
        try:
            self._load(dumps(state), total or 0)
        except (UsageError, DataError) as error:
            raise StateError(error.message, hint=error.hint or "") from None
        self._iteration += 1

    def _load(self, text: str, total: int) -> None:
        if self._assembler is None:
            self._native.load_state(text, total)
        else:
            self._assembler.load_state(_parsed(text))
        self._restored = (text, total)

    def _not_assembled(self, what: str) -> None:
        if self._assembler is not None:
            raise UsageError(
                f"{what} is not for batches that are filled up or packed",
                hint="Where an epoch begins depends on those before it: load a state.",
            )

    def stats(self) -> Stats:
        """What the loader did so far, and in `.sentence` what limits it and what to change."""
        functions = {} if self._stream is None else self._stream.stats()
        return Stats({**self._native.stats(), **functions})

    @overload
    def explain(self) -> str: ...
    @overload
    def explain(self, position: int, *, epoch: int | None = None) -> dict[str, Any]: ...
    def explain(self, position: int | None = None, *, epoch: int | None = None) -> Any:
        """What the order costs, or what was drawn for one row.

        Args:
            position: of a row in the epoch (`batch.positions`). None: lines of text about lanes,
                window, extra reads and the tail.
            epoch: the current one if not given.

        Returns:
            Without a position a str. Else plain data: "epoch", "position", "key"; "columns": for
            each column of pictures a list with a dict for each operation that was run, its name and
            what was drawn (boxes are top, left, height, width, in pixels of the picture before the
            operation); and "mixed", with `mix_rows`: the operation, the partner's position and the
            share "lam" that was drawn, or None.
        """
        if position is None:
            return f"{self._native.explain().rstrip()}\n{self._native.tail_sentence()}"
        return _parsed(self._native.explain_row(self._epoch_or(epoch), position))

    def row_at(self, position: int, *, epoch: int | None = None) -> Batch:
        """The row at a position of an epoch once more, as a batch of one row.

        It is read, decoded and drawn for as it was then, on any rank; user functions and
        `mix_rows` are left out.
        """
        return self._batch(self._native.row_at(self._epoch_or(epoch), position))

    def _epoch_or(self, epoch: int | None) -> int:
        return self._native.epoch if epoch is None else epoch

    def close(self) -> None:
        """Ends the threads. Batches that were handed out stay valid. May be called twice."""
        self._closed = True
        self._native.stop()
        if self._stream is not None:
            self._stream.close()

    def as_torch_dataset(self) -> TorchDataset:
        """This loader as the data set of torch's `DataLoader` or torchdata's
        `StatefulDataLoader`, for programs that insist on one: give it `batch_size=None`.

        Best without workers: the engine has its own threads. With K workers each takes every K-th
        step, so the global order stays the same.
        """
        from .torch_dataset import TorchDataset

        return TorchDataset(self)

    def __enter__(self) -> Loader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        if self._native.started:
            raise UsageError(
                "a loader that has started cannot be pickled",
                hint="Pickle it before the first iteration, or send its state_dict().",
            )
        return {
            "source": self._source,
            "options": self._options,
            "place": self._place._replace(group=None),
            "to": self._to,
            "restored": self._restored,
            "epoch": self.epoch,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(  # type: ignore[misc]
            state["source"], state["options"], state["place"], state["to"]
        )
        self._continue_from(state["restored"], state["epoch"])

    def __repr__(self) -> str:
        place = self._place
        return f"Loader({self._source!r}, {len(self):,} steps, rank {place.rank} of {place.world})"

    def _check_open(self) -> None:
        if self._closed:
            raise StoppedError("the loader was closed")


class _Epoch:
    """One iteration."""

    __slots__ = ("_ended", "_iteration", "_loader")

    def __init__(self, loader: Loader, iteration: int) -> None:
        self._loader = loader
        self._iteration = iteration
        self._ended = False

    def __iter__(self) -> _Epoch:
        return self

    def __next__(self) -> Batch:
        if self._ended:
            raise StopIteration
        batch = self._loader._next(self._iteration)
        if batch is None:
            self._ended = True
            raise StopIteration
        return batch


def _parsed(text: str) -> dict[str, Any]:
    from json import loads

    state: dict[str, Any] = loads(text)
    return state
