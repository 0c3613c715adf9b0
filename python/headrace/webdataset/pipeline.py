"""DataPipeline: a list of stages, run one into the other each time it is iterated over."""

from __future__ import annotations

import copy
import functools
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, TypeVar

from . import utils
from .pytorch import IterableDataset, torch_data
from .utils import PipelineStage

_P = TypeVar("_P", bound="DataPipeline")


class DataPipeline(IterableDataset, PipelineStage):
    """Stages, the first a source, the others from iterator to iterator.

    The first may be an iterable data set, a torch `DataLoader`, a list or a function without
    arguments; the others are functions of an iterator, or objects with `run(iterator)`. `None` is
    left out, lists of stages are taken apart. Stages that are Headrace's own, next to each other,
    run as one in C++. May be iterated over any number of times, pickled and sent to workers.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.pipeline: list[Any] = []
        self.length = -1
        self.repetitions = 1
        self.nsamples = -1
        self.is_strict = False
        for arg in args:
            if arg is None:
                continue
            if isinstance(arg, list):
                self.pipeline.extend(arg)
            else:
                self.pipeline.append(arg)

    def close(self) -> None:
        """Closes the stages that can be closed; the pipeline is of no use afterwards."""
        for stage in self.pipeline:
            if hasattr(stage, "close"):
                stage.close()
        del self.pipeline

    def invoke(self, f: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        """The iterator of one stage. ValueError: it is none."""
        if isinstance(f, PipelineStage) and not isinstance(f, DataPipeline):
            return f.run(*args, **kwargs)  # type: ignore[attr-defined, no-any-return]
        if not args and (_is_dataset(f) or isinstance(f, list)):
            return iter(f)
        if callable(f):
            return f(*args, **kwargs)  # type: ignore[no-any-return]
        raise ValueError(f"{f}: not a valid pipeline stage")

    def iterator1(self) -> Iterator[Any]:
        """One pass through all stages."""
        from .fusion import fused

        source = self.invoke(self.pipeline[0])
        for stage in fused(self.pipeline[1:]):
            source = self.invoke(stage, source)
        return source

    def iterator(self) -> Iterator[Any]:
        """All passes; a source with nothing in it ends them."""
        for _ in range(self.repetitions):
            empty = True
            for sample in self.iterator1():
                yield sample
                empty = False
            if empty:
                return

    def __iter__(self) -> Iterator[Any]:
        return utils.strictly(self._passes) if self.is_strict else self._passes()

    def _passes(self) -> Iterator[Any]:
        if self.repetitions == 1 and (self.nsamples < 0 or utils.strict_compat()):
            return iter(self.iterator1())
        return islice(self.iterator(), self.nsamples) if self.nsamples > 0 else self.iterator()

    def stage(self, i: int) -> Any:
        """The i-th stage object."""
        return self.pipeline[i]

    def append(self, f: Any) -> None:
        """Adds a stage, in place."""
        self.pipeline.append(f)

    def compose(self: _P, *args: Any) -> _P:
        """A copy with more stages. The stages are shared, but for the shuffle of shards."""
        result = copy.copy(self)
        result.pipeline = [_own(stage) for stage in self.pipeline] + [*args]
        return result

    def strict_compat(self: _P) -> _P:
        """The same pipeline with the original's behaviour, also where that loses data.

        What HEADRACE_WDS_STRICT=1 does for all pipelines, for this one and what is made from it.
        Call it on the data set, not on a loader over it, and before `with_epoch` and its like.
        """
        result = self._changed()
        result.is_strict = True
        return result

    def wants_strict(self) -> bool:
        """Whether this pipeline, or all, shall behave as the original does."""
        return self.is_strict or utils.strict_compat()

    def with_length(self: _P, n: int, silent: bool = False) -> _P:
        """The same stream with `len()` n. It is not cut: only those who ask are told."""
        if not silent:
            warnings.warn(
                "with_length() only sets the value of len(dataset) for those who ask for it; it "
                "does not change how many samples there are",
                stacklevel=2,
            )
        result = self._changed()
        result.size = n  # type: ignore[attr-defined]
        result.__class__ = _sized(type(result))  # type: ignore[arg-type]
        return result

    def with_epoch(self: _P, nsamples: int = -1, nbatches: int = -1) -> _P:
        """Exactly max(nsamples, nbatches) items an iteration, starting over where the source ends.

        Each iteration starts from the beginning.
        """
        result = self._changed()
        result.repetitions = sys.maxsize
        result.nsamples = max(nsamples, nbatches)
        return result

    def repeat(self: _P, nepochs: int = -1, nbatches: int = -1) -> _P:
        """`nepochs` passes (endless if not given), at most `nbatches` items in all if given."""
        result = self._changed()
        result.repetitions = nepochs if nepochs > 0 else sys.maxsize
        result.nsamples = nbatches
        return result

    def _changed(self: _P) -> _P:
        """What the last three change: a copy, or, as the original has it, the object itself."""
        if self.wants_strict():
            return self
        result = copy.copy(self)
        result.pipeline = [_own(stage) for stage in self.pipeline]
        return result


def _own(stage: Any) -> Any:
    """The stage for a copy of a pipeline. A shuffle of shards counts the epochs of its own."""
    from .shard_shuffle import ShardShuffle

    return copy.copy(stage) if isinstance(stage, ShardShuffle) else stage


def _is_dataset(f: Any) -> bool:
    if isinstance(f, (IterableDataset, DataPipeline)):
        return True
    data = torch_data()
    return data is not None and isinstance(f, (data.IterableDataset, data.DataLoader))


def add_length_method(obj: Any) -> Any:
    """Gives `obj`, which has an attribute `size`, a length."""
    obj.__class__ = _sized(type(obj))  # type: ignore[arg-type]
    return obj


@functools.cache
def _sized(cls: type) -> type:
    """`cls` with `__len__`. A class of its own, as `len()` of the others is a TypeError."""
    if hasattr(cls, "__len__"):
        return cls

    def reduce(self: Any, protocol: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _unpickled, (cls, self.__dict__)

    return type(
        cls.__name__,
        (cls,),
        {
            "__len__": lambda self: self.size,
            "__reduce_ex__": reduce,
            "__copy__": lambda self: _unpickled(cls, self.__dict__),
            "__module__": cls.__module__,
        },
    )


def _unpickled(cls: type, state: dict[str, Any]) -> Any:
    obj: Any = object.__new__(_sized(cls))
    obj.__dict__.update(state)
    return obj
