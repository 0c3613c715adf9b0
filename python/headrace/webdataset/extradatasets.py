"""Small data sets: one that makes up samples, and others that bound or repeat a given one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from .pytorch import IterableDataset
from .utils import PipelineStage
from .utils import repeatedly as repeated


class MockDataset(IterableDataset):
    """Yields the same `sample` object `length` times."""

    def __init__(self, sample: Any, length: int) -> None:
        self.sample, self.length = sample, length

    def __iter__(self) -> Iterator[Any]:
        return itertools.repeat(self.sample, self.length)


class _Wrapper(IterableDataset, PipelineStage):
    """A data set that is iterated over by `invoke`, which may also be used as a stage."""

    dataset: Iterable[Any]

    def invoke(self, dataset: Iterable[Any]) -> Iterator[Any]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        return self.invoke(self.dataset)


class repeatedly(_Wrapper):
    """Iterates over `source` again and again; see `utils.repeatedly`. `length` is its `len`."""

    def __init__(
        self,
        source: Any,
        nepochs: int | None = None,
        nbatches: int | None = None,
        length: int | None = None,
    ) -> None:
        self.dataset = self.source = source
        self.nepochs, self.nbatches, self.length = nepochs, nbatches, length

    def invoke(self, source: Iterable[Any]) -> Iterator[Any]:
        limits: dict[str, Any] = {"nepochs": self.nepochs, "nbatches": self.nbatches}
        return iter(repeated(source, **limits))  # type: ignore[arg-type, unused-ignore]

    def __len__(self) -> int:
        if self.length is None:
            raise TypeError("this repeatedly was made without a length")
        return self.length


class with_epoch(_Wrapper):
    """Exactly `length` samples an epoch, where the last one ended; over the end it starts again."""

    def __init__(self, dataset: Any, length: int) -> None:
        self.dataset, self.length = dataset, length
        self.source: Iterator[Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "source": None}

    def invoke(self, dataset: Iterable[Any]) -> Iterator[Any]:
        if self.source is None:
            self.source = iter(repeated(dataset))  # type: ignore[arg-type, unused-ignore]
        return itertools.islice(self.source, self.length)


class with_length(_Wrapper):
    """Says that its `len` is `length`; the samples are those of `dataset`."""

    def __init__(self, dataset: Any, length: int) -> None:
        self.dataset, self.length = dataset, length

    def invoke(self, dataset: Iterable[Any]) -> Iterator[Any]:
        return iter(dataset)

    def __len__(self) -> int:
        return self.length
