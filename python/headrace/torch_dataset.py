"""A loader as the data set of torch's `DataLoader` and torchdata's `StatefulDataLoader`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import IterableDataset, get_worker_info

from .batch import Batch, Ragged
from .errors import UsageError
from .loader import Loader

_MAX_WORKERS = 1024


class TorchDataset(IterableDataset[dict[str, Any]]):  # type: ignore[misc, unused-ignore]
    """Yields whole batches as plain dicts, so the `DataLoader` gets `batch_size=None`.

    A dict has a tensor for each column (ragged ones: a list with a row each), the samples' keys
    in "__key__" and in "__mask__" the mask of rows that are no padding.

    Without workers an iteration is an iteration of the loader. With K workers, worker i takes the
    steps i, i + K, … of the rank, and the `DataLoader` puts them in order again; each pass is the
    next epoch, unless `set_epoch` says otherwise.

    Example:
        >>> data = hr.open("shards/").shuffle(seed=1).batch(256).loader(to="torch")
        >>> for batch in DataLoader(data.as_torch_dataset(), batch_size=None, num_workers=0):
        ...     batch["jpg"], batch["__key__"]
    """

    def __init__(self, loader: Loader) -> None:
        if loader._to != "torch":
            raise UsageError("as_torch_dataset() yields tensors", hint="Use .loader(to='torch').")
        self._loader = loader
        # The epoch that each worker starts next. Workers come and go with every pass, so it lies
        # in shared memory; -1: the epoch of the loader.
        self._next_epoch = torch.full((_MAX_WORKERS,), -1, dtype=torch.int64).share_memory_()
        self._share: Loader | None = None
        self._base: dict[str, Any] | None = None
        self._taken = 0
        self._goes_on = False

    def __len__(self) -> int:
        """Steps of this rank in a whole epoch, over all workers."""
        return len(self._loader)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        info = get_worker_info()
        loader = self._current()
        if info is not None:
            self._begin_pass(info.id, loader)
        # The iteration begins now and not with the first batch: its state is asked for before.
        batches = iter(loader)
        if info is not None:
            self._base = loader.state_dict()
        return self._dicts(batches)

    def set_epoch(self, epoch: int) -> None:
        """The next pass is this epoch."""
        self._next_epoch.fill_(epoch)
        self._current().set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """The state after the last batch of this process; `StatefulDataLoader` asks for it.

        All workers of a pass began with the same state, "run"; a worker has "taken" so many steps
        of its share since then.
        """
        run = self._current().state_dict() if self._base is None else self._base
        return {"run": run, "taken": self._taken}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from there, with as many workers as there were."""
        loader = self._current()
        loader.load_state_dict(state["run"])
        loader._native.skip(state["taken"])
        self._taken = state["taken"]
        self._goes_on = True

    def _current(self) -> Loader:
        """The loader of this process: the whole one, or in a worker its share."""
        info = get_worker_info()
        if info is None:
            return self._loader
        if self._share is None:
            if info.num_workers > _MAX_WORKERS:
                raise UsageError(f"more than {_MAX_WORKERS} workers")
            self._share = self._loader._share(info.id, info.num_workers)
        return self._share

    def _begin_pass(self, worker: int, share: Loader) -> None:
        if not self._goes_on:
            self._taken = 0
            epoch = int(self._next_epoch[worker])
            if epoch >= 0:
                share.set_epoch(epoch)
        self._goes_on = False
        self._next_epoch[worker] = share.epoch + 1

    def _dicts(self, batches: Iterator[Batch]) -> Iterator[dict[str, Any]]:
        for batch in batches:
            if self._base is not None:
                self._taken += 1
            yield _plain(batch)
        self._base = None
        self._taken = 0

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_share": None}


def _plain(batch: Batch) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name in batch.fields:
        column = batch[name]
        out[name] = column.tolist() if isinstance(column, Ragged) else column
    out["__key__"] = batch.keys
    out["__mask__"] = batch.mask
    return out
