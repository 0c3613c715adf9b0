"""Where shards come from, and how they are dealt to nodes and workers.

A shard list yields dictionaries with a `url`; everything else is a stage over those.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import utils
from .currying import pipelinefilter
from .directory_list import (
    DirectoryShardList,
    check_pid_is_running,
    get_pid_from_filename,
    without_last_extension,
)
from .expansion import envlookup, envsubst, expand_source, expand_urls
from .multi_shard import MSSource, MultiShardSample, expand
from .pytorch import IterableDataset
from .utils import is_iterable, obsolete

__all__ = [
    "DirectoryShardList",
    "MSSource",
    "MultiShardSample",
    "ResampledShardList",
    "ResampledShards",
    "SimpleShardList",
    "check_pid_is_running",
    "envlookup",
    "envsubst",
    "expand",
    "expand_source",
    "expand_urls",
    "get_pid_from_filename",
    "is_iterable",
    "non_empty",
    "obsolete",
    "resampled",
    "shardspec",
    "single_node_only",
    "split_by_node",
    "split_by_worker",
    "without_last_extension",
]

Shard = dict[str, Any]


class SimpleShardList(IterableDataset):
    """The shards of a list, or of a text with braces and `::`.

    `seed`: None for the order of the list, True to shuffle by the time, a number for a shuffle
    that is the same in each iteration.
    """

    def __init__(self, urls: Any, seed: Any = None) -> None:
        self.urls = expand_urls(urls)
        assert isinstance(self.urls[0], str)
        self.seed = seed

    def __len__(self) -> int:
        return len(self.urls)

    def __iter__(self) -> Iterator[Shard]:
        urls = list(self.urls)
        if self.seed is not None:
            random.Random(time.time() if self.seed is True else self.seed).shuffle(urls)
        for url in urls:
            yield {"url": url}


class ResampledShards(IterableDataset):
    """`nshards` shards drawn with replacement; `.epoch` counts iterations, the first is 0.

    `deterministic`: drawn by the worker's seed, the epoch and `seed`; else afresh each time.
    """

    def __init__(
        self,
        urls: Any,
        nshards: int = sys.maxsize,
        seed: int = 0,
        worker_seed: Callable[[], int] | None = None,
        deterministic: bool = False,
        max_urls: int = int(1e6),
        empty_check: bool = True,
    ) -> None:
        self.urls = expand_source(urls, max_urls)
        if empty_check and not self.urls:
            raise ValueError("no shards to draw from (empty_check=False lets that pass)")
        self.nshards = nshards
        self.worker_seed = utils.pytorch_worker_seed if worker_seed is None else worker_seed
        self.deterministic = deterministic
        self.seed = seed
        self.epoch = -1

    def __iter__(self) -> Iterator[Shard]:
        self.epoch += 1
        parts: list[Any] = [self.worker_seed(), self.epoch, self.seed]
        if not self.deterministic:
            parts += [os.getpid(), time.time_ns(), os.urandom(4)]
        self.rng = random.Random(utils.make_seed(*parts))
        for _ in range(self.nshards):
            yield {"url": self.urls[self.rng.randint(0, len(self.urls) - 1)]}


ResampledShardList = ResampledShards


def resampled_(src: Iterable[Any], n: int = sys.maxsize) -> Iterator[Any]:
    """`n` draws with replacement from everything that comes in."""
    print("# resampled loading", file=sys.stderr)
    items = list(src)
    print(f"# resampled got {len(items)} samples, yielding {n}", file=sys.stderr)
    rng = random.Random(utils.make_seed(os.getpid(), time.time_ns(), os.urandom(20)))
    for _ in range(n):
        yield rng.choice(items)


resampled = pipelinefilter(resampled_)


def non_empty(src: Iterable[Any]) -> Iterator[Any]:
    """ValueError when nothing comes."""
    empty = True
    for item in src:
        yield item
        empty = False
    if empty:
        raise ValueError("pipeline stage received no data at all and this was declared as an error")


def single_node_only(src: Iterable[Any], group: Any = None) -> Iterator[Any]:
    """ValueError where there is more than one node: each would read the same."""
    _, world_size, _, _ = utils.pytorch_worker_info(group=group)
    if world_size > 1:
        raise ValueError(
            "more than one node would read the same shards: give a nodesplitter, as split_by_node"
        )
    yield from src


def split_by_node(src: Iterable[Any], group: Any = None) -> Iterator[Any]:
    """Every world_size-th item, from the rank on."""
    rank, world_size, _, _ = utils.pytorch_worker_info(group=group)
    return _every(src, rank, world_size)


def split_by_worker(src: Iterable[Any]) -> Iterator[Any]:
    """Every num_workers-th item, from the worker's number on."""
    _, _, worker, num_workers = utils.pytorch_worker_info()
    return _every(src, worker, num_workers)


def _every(src: Iterable[Any], first: int, step: int) -> Iterator[Any]:
    for i, item in enumerate(src):
        if i % step == first:
            yield item


def shardspec(spec: Any) -> Any:
    """A shard list from a text: a `.yaml` file is a MultiShardSample, all else a list."""
    if isinstance(spec, str) and spec.endswith(".yaml"):
        return MultiShardSample(spec)
    return SimpleShardList(spec)
