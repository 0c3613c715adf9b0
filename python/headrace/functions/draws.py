"""Random numbers of functions: a pure function of (seed, epoch, position, number of the function).

A function with a parameter `rng` is given `numpy.random.default_rng([seed, epoch, position,
number])`. Others may draw from global generators, as torchvision's transforms do: Python's, numpy's
and torch's are seeded before each call, and are as they were after the batch. A function that has
`set_random_state` (Albumentations) is given generators through it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .describe import Function

_MASK = (1 << 64) - 1


class Draws:
    """The generators of one epoch. Not for several threads: global generators are not either."""

    def __init__(self, seed: int, epoch: int) -> None:
        self._seed = seed
        self._epoch = epoch

    def before(self, function: Function, position: int) -> np.random.Generator | None:
        """Seeds whatever `function` draws from; the generator that it is given, if it wants one."""
        if function.takes_rng:
            return self._generator(position, function.number)
        if hasattr(function.call, "set_random_state"):
            generator = self._generator(position, function.number)
            python = random.Random(self._mixed(position, function.number))
            function.call.set_random_state(generator, python)
            return None
        self._seed_globals(self._mixed(position, function.number))
        return None

    def _generator(self, position: int, number: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, self._epoch, position, number])

    def _mixed(self, position: int, number: int) -> int:
        """64 bits from all four numbers, by the finaliser of SplitMix64 after each."""
        mixed = 0
        for part in (self._seed, self._epoch, position, number):
            mixed = (mixed + part + 0x9E3779B97F4A7C15) & _MASK
            mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
            mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
            mixed ^= mixed >> 31
        return mixed

    @staticmethod
    def _seed_globals(seed: int) -> None:
        random.seed(seed)
        np.random.seed(seed & 0xFFFFFFFF)
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.default_generator.manual_seed(seed)


@contextmanager
def globals_kept() -> Iterator[None]:
    """Puts the states of the global generators back: they are the training's, not ours."""
    python, numpy = random.getstate(), np.random.get_state()
    torch: Any = sys.modules.get("torch")
    state = None if torch is None else torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        if state is not None:
            torch.set_rng_state(state)
