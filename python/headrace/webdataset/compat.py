"""WebDataset, and the classes that scripts import from here."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from . import utils
from .cache import FileCache, StreamingOpen, pipe_cleaner, url_to_cache_name
from .currying import FilterFunction, pipelinefilter
from .fluid import FluidInterface
from .handlers import Handler, reraise_exception
from .loaders import FluidWrapper, WebLoader
from .pipeline import DataPipeline
from .shard_shuffle import ShardShuffle
from .shardlists import (
    DirectoryShardList,
    MultiShardSample,
    ResampledShards,
    SimpleShardList,
    single_node_only,
    split_by_worker,
)
from .shuffling import detshuffle as detshuffle_stage
from .tariterators import group_by_keys, tar_file_expander

if TYPE_CHECKING:
    from .exact import Exact

__all__ = [
    "FluidInterface",
    "FluidWrapper",
    "WebDataset",
    "WebLoader",
    "check_empty",
    "pipelinefilter",
]

_W = TypeVar("_W", bound="WebDataset")

_DEFAULT_SHARD_BUFFER = 100
_MAX_SEED = 1_000_000


def check_empty(source: Iterable[Any]) -> Iterator[Any]:
    """ValueError when no sample comes."""
    samples = iter(source)
    for first in samples:
        yield first
        yield from samples
        return
    raise ValueError(
        "No samples found in dataset; perhaps you have fewer shards than workers.\n"
        "Turn off using empty_check=False in the WebDataset constructor."
    )


@dataclass
class _Cache:
    folder: str | None
    size: float


class WebDataset(DataPipeline, FluidInterface):
    """Samples of tar shards, one dictionary each: `__key__`, `__url__`, extension -> bytes.

    `urls`: a text ("a-{000..127}.tar::b.tar"), a list of shards, the path of a YAML description,
    or a folder with "/" at its end. Shards go through `nodesplitter`, `workersplitter` and, with
    `shardshuffle=n`, a shuffle buffer of n. The order of shards differs from epoch to epoch, also
    in the workers of a torch `DataLoader`; the first epoch's follows from `seed` alone.
    Damaged and missing shards, and repeated fields, are exceptions that `handler` decides about.
    """

    def __init__(
        self,
        urls: Any,
        handler: Handler = reraise_exception,
        mode: str | None = None,
        resampled: bool = False,
        repeat: bool = False,
        shardshuffle: Any = None,
        cache_size: int = -1,
        cache_dir: str | None = None,
        url_to_name: Callable[[str], str] = pipe_cleaner,
        detshuffle: bool = False,
        nodesplitter: Any = single_node_only,
        workersplitter: Any = split_by_worker,
        select_files: Callable[[str], Any] | None = None,
        rename_files: Callable[[str], str] | None = None,
        empty_check: bool = True,
        verbose: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__()
        is_resampled = resampled or mode == "resampled"
        shards = _shards_to_shuffle(shardshuffle, is_resampled)
        cache = _cache_of(cache_dir, cache_size)
        self.seed = _seed_of(seed)

        self.append(_shard_source(urls, is_resampled, mode))
        self.append(nodesplitter)
        self.append(workersplitter)
        if shards > 0 and detshuffle:
            self.append(detshuffle_stage(shards, seed=self.seed))
        elif shards > 0:
            self.append(ShardShuffle(shards, self.seed))
        if cache.folder is None or cache.size == 0:
            self.append(StreamingOpen(verbose=verbose, handler=handler))
        else:
            self.append(
                FileCache(
                    cache_dir=cache.folder,
                    cache_size=int(cache.size),
                    url_to_name=url_to_cache_name if url_to_name is pipe_cleaner else url_to_name,
                    verbose=verbose,
                    handler=handler,
                )
            )
        self.append(
            FilterFunction(
                tar_file_expander,
                handler=handler,
                select_files=select_files,
                rename_files=rename_files,
            )
        )
        self.append(FilterFunction(group_by_keys, handler=handler))
        if empty_check:
            self.append(check_empty)
        self.pipeline = [stage for stage in self.pipeline if stage is not None]

    def exact(
        self,
        batch: int | None = None,
        *,
        seed: int | None = None,
        tail: str = "short",
        **options: Any,
    ) -> Exact:
        """Batches of this pipeline in Headrace's order: exactly once, resumable, elastic.

        Args:
            batch: rows a rank; not given: those of the `batched` stage at the end.
            seed: of the shuffle; not given: the data set's.
            tail: what becomes of the rows left at the end: "short", "pad" or "drop".
            options: of Headrace's loader, as threads=, memory=, rank= and world=.

        Raises:
            ValueError: a stage cannot take part; the error names it.
        """
        from .exact import Exact

        return Exact(self, batch, seed, tail, options)

    def __enter__(self: _W) -> _W:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()


def _shards_to_shuffle(shardshuffle: Any, is_resampled: bool) -> int:
    """The size of the buffer, 0 for none."""
    if is_resampled and shardshuffle not in (False, None):
        warnings.warn("shardshuffle is ignored where shards are resampled", stacklevel=3)
        return 0
    if shardshuffle is None:
        if not is_resampled:
            warnings.warn(
                "WebDataset(shardshuffle=...) is None; set explicitly to False or a number",
                stacklevel=3,
            )
        return 0
    if shardshuffle is True:
        warnings.warn("WebDataset(shardshuffle=...) is True; set a number", stacklevel=3)
        return _DEFAULT_SHARD_BUFFER
    return int(shardshuffle)


def _cache_of(cache_dir: str | None, cache_size: float) -> _Cache:
    """The folder that is given, or that of WDS_CACHE."""
    folder, size = cache_dir, float(cache_size)
    if folder is None:
        named = os.environ.get("WDS_CACHE")
        if named is not None and not os.path.exists(named):
            raise ValueError(f"cache directory {named} does not exist")
        folder = None if utils.strict_compat() else named
        size = float(os.environ.get("WDS_CACHE_SIZE", size))
    elif not os.path.exists(folder):
        raise ValueError(f"cache directory {folder} does not exist")
    return _Cache(folder, size)


def _seed_of(seed: int | None) -> int:
    if seed is not None:
        return seed
    if "WDS_SEED" in os.environ:
        return int(os.environ["WDS_SEED"])
    return random.randint(0, _MAX_SEED)


def _shard_source(urls: Any, is_resampled: bool, mode: str | None) -> Any:
    if isinstance(urls, str) and urls.endswith((".yaml", ".yml")):
        return MultiShardSample(urls)
    if isinstance(urls, dict):
        assert "datasets" in urls
        return MultiShardSample(urls)
    if isinstance(urls, str) and urls.endswith(".json"):
        raise ValueError("unimplemented: a list of shards in JSON; give the list itself")
    if isinstance(urls, str) and urls.endswith("/"):
        return DirectoryShardList(urls, mode=mode)
    if is_resampled:
        return ResampledShards(urls)
    return SimpleShardList(urls)
