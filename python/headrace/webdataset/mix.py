"""Several data sets as one: in turn, or drawn at random."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .pytorch import IterableDataset


def round_robin_shortest(*sources: Iterable[Any]) -> Iterator[Any]:
    """One item from each in turn, until one has no more."""
    iterators = [iter(source) for source in sources]
    while True:
        for iterator in iterators:
            try:
                sample = next(iterator)
            except StopIteration:
                return
            yield sample


def round_robin_longest(*sources: Iterable[Any]) -> Iterator[Any]:
    """One item from each in turn; those that have no more drop out."""
    iterators = [iter(source) for source in sources]
    i = 0
    while iterators:
        try:
            sample = next(iterators[i])
        except StopIteration:
            del iterators[i]
        else:
            yield sample
            i += 1
        if i >= len(iterators):
            i = 0


class RoundRobin(IterableDataset):
    """The data sets in turn, until the shortest ends (or the longest)."""

    def __init__(self, datasets: Sequence[Iterable[Any]], longest: bool = False) -> None:
        self.datasets = datasets
        self.longest = longest

    def __iter__(self) -> Iterator[Any]:
        mixed = round_robin_longest if self.longest else round_robin_shortest
        return mixed(*self.datasets)


def random_samples(
    sources: Sequence[Iterable[Any]], probs: Sequence[float] | None = None, longest: bool = False
) -> Iterator[Any]:
    """Items of sources drawn with these probabilities, until one ends (or all)."""
    weights = [1.0] * len(sources) if probs is None else list(probs)
    iterators = [iter(source) for source in sources]
    while iterators:
        (i,) = random.choices(range(len(iterators)), weights)
        try:
            sample = next(iterators[i])
        except StopIteration:
            if not longest:
                return
            del iterators[i], weights[i]
            continue
        yield sample


class RandomMix(IterableDataset):
    """Samples of data sets drawn at random (global `random`), by `probs` or evenly."""

    def __init__(
        self,
        datasets: Sequence[Iterable[Any]],
        probs: Sequence[float] | None = None,
        longest: bool = False,
    ) -> None:
        self.datasets = datasets
        self.probs = probs
        self.longest = longest

    def __iter__(self) -> Iterator[Any]:
        return random_samples(self.datasets, self.probs, longest=self.longest)
