"""The shuffle buffer, and the stages made with it."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from typing import Any

from .utils import PipelineStage


def pick(buf: list[Any], rng: random.Random) -> Any:
    """Takes a random item out of the list; the last one takes its place."""
    k = rng.randint(0, len(buf) - 1)
    sample = buf[k]
    buf[k] = buf[-1]
    buf.pop()
    return sample


def _shuffle(
    data: Iterator[Any],
    bufsize: int = 1000,
    initial: int = 100,
    rng: Any = None,
    seed: Any = None,
    handler: Any = None,
) -> Iterator[Any]:
    """Holds `bufsize` items and gives random ones of them; begins when it holds `initial`.

    `seed` and `rng` exclude each other; without them the order differs each time.
    """
    rng = generator_of(rng, seed)
    next_of = type(data).__next__ if hasattr(type(data), "__next__") else None
    if next_of is None:
        raise TypeError(f"{type(data).__name__!r} object is not an iterator")
    return _shuffled(data, bufsize, min(initial, bufsize), rng)


def generator_of(rng: Any = None, seed: Any = None) -> Any:
    """The generator that these arguments of a shuffle mean."""
    assert seed is None or rng is None
    return random.Random(seed if seed is not None else _fresh_seed()) if rng is None else rng


def _shuffled(data: Iterator[Any], bufsize: int, initial: int, rng: Any) -> Iterator[Any]:
    if type(rng) is random.Random:
        from .. import _native

        yield from _native.ShuffleBuffer(data, bufsize, initial, rng.getrandbits)
        return
    buf: list[Any] = []
    for sample in data:
        buf.append(sample)
        if len(buf) < bufsize:
            for another in data:
                buf.append(another)
                break
        if len(buf) >= initial:
            yield pick(buf, rng)
    while buf:
        yield pick(buf, rng)


def shuffled_records(
    records: Any,
    bufsize: int = 1000,
    initial: int = 100,
    rng: Any = None,
    seed: Any = None,
    handler: Any = None,
) -> Any:
    """The same of samples that C++ has. `rng`: a random.Random."""
    from .. import _native

    getrandbits = generator_of(rng, seed).getrandbits
    return _native.ShuffledRecords(records, bufsize, initial, getrandbits)


def _fresh_seed() -> int:
    return (os.getpid() << 40) ^ time.time_ns()


class detshuffle(PipelineStage):
    """A shuffle buffer whose order is fixed by `seed` and the number of the iteration, `.epoch`."""

    def __init__(
        self, bufsize: int = 1000, initial: int = 100, seed: int = 0, epoch: int = -1
    ) -> None:
        self.bufsize = bufsize
        self.initial = initial
        self.seed = seed
        self.epoch = epoch

    def run(self, src: Iterator[Any]) -> Iterator[Any]:
        return _shuffle(src, self.bufsize, self.initial, rng=self.next_generator())

    def next_generator(self) -> random.Random:
        """That of the iteration that begins."""
        self.epoch += 1
        return random.Random(int(self.seed) + self.epoch)
