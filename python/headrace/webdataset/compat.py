"""WebDataset, and the classes that scripts import from here."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
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
    complain_of_nothing()


def complain_of_nothing() -> None:
    """Raises what `check_empty` says."""
    raise ValueError(
        "No samples found in dataset; perhaps you have fewer shards than workers.\n"
        "Turn off using empty_check=False in the WebDataset constructor."
    )


class _EnvironmentCache(FileCache):
    """The cache that WDS_CACHE switches on. The original reads it, and opens straight."""

    def __call__(self, urls: Iterable[Any]) -> Iterator[dict[str, Any]]:
        if utils.strict_compat():
            return StreamingOpen(self.verbose, self.handler)(urls)
        return super().__call__(urls)


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
        args = SimpleNamespace(**{k: v for k, v in locals().items() if k != "__class__"})
        args.mode = "resampled" if resampled else mode
        args.shardshuffle = _shards_to_shuffle(shardshuffle, args.mode == "resampled")
        self.seed = _seed_of(seed)
        self.update_cache_info(args)

        self.create_url_iterator(args)
        self.append(nodesplitter)
        self.append(workersplitter)
        if args.shardshuffle > 0 and detshuffle:
            self.append(detshuffle_stage(args.shardshuffle, seed=self.seed))
        elif args.shardshuffle > 0:
            self.append(ShardShuffle(args.shardshuffle, self.seed))
        self.append(_opener(args))
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

    def update_cache_info(self, args: SimpleNamespace) -> None:
        """Looks at WDS_CACHE and WDS_CACHE_SIZE if no folder is given: a step of the constructor.

        `args` has its arguments; a subclass may change them here. ValueError: there is no such
        folder.
        """
        args.cache_by_environment = args.cache_dir is None
        if args.cache_dir is None:
            args.cache_dir = os.environ.get("WDS_CACHE")
            args.cache_size = float(os.environ.get("WDS_CACHE_SIZE", args.cache_size))
        if args.cache_dir is not None:
            args.cache_dir = os.path.expanduser(args.cache_dir)
            if not os.path.exists(args.cache_dir):
                raise ValueError(f"cache directory {args.cache_dir} does not exist")

    def create_url_iterator(self, args: SimpleNamespace) -> None:
        """Adds the stage that gives the shards of `args.urls`: a step of the constructor."""
        self.append(_shard_source(args.urls, args.mode))

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

    def __exit__(self, *args: Any) -> None:
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


def _opener(args: SimpleNamespace) -> Any:
    """What opens shards: straight, or through copies in a folder."""
    if args.cache_dir is None or args.cache_size == 0:
        return StreamingOpen(verbose=args.verbose, handler=args.handler)
    by_url = args.url_to_name is pipe_cleaner
    cache = _EnvironmentCache if args.cache_by_environment else FileCache
    return cache(
        cache_dir=args.cache_dir,
        cache_size=int(args.cache_size),
        url_to_name=url_to_cache_name if by_url else args.url_to_name,
        verbose=args.verbose,
        handler=args.handler,
    )


def _seed_of(seed: int | None) -> int:
    if seed is not None:
        return seed
    if "WDS_SEED" in os.environ:
        return int(os.environ["WDS_SEED"])
    return random.randint(0, _MAX_SEED)


def _shard_source(urls: Any, mode: str | None) -> Any:
    if isinstance(urls, str) and urls.endswith((".yaml", ".yml")):
        return MultiShardSample(urls)
    if isinstance(urls, dict):
        assert "datasets" in urls
        return MultiShardSample(urls)
    if isinstance(urls, str) and urls.endswith(".json"):
        raise ValueError("unimplemented: a list of shards in JSON; give the list itself")
    if isinstance(urls, str) and urls.endswith("/"):
        return DirectoryShardList(urls, mode=mode)
    if mode == "resampled":
        return ResampledShards(urls)
    return SimpleShardList(urls)
