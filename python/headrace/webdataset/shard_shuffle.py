"""The shuffle of shards, with another order in each epoch.

The first epoch's order is that of the seed alone. Which epoch it is is counted in memory that
forked workers share, a place for each, as the objects in them are copies that do not outlive the
epoch. Workers that do not share it (spawn, forkserver) take torch's own seed of the epoch instead.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from typing import Any

from . import utils
from .pytorch import torch_data
from .shuffling import _shuffle
from .utils import PipelineStage

_PLACES = 1024
_NUMBER = struct.Struct("<q")


class ShardShuffle(PipelineStage):
    """A shuffle buffer of `size` shards."""

    def __init__(self, size: int, seed: int) -> None:
        self.size = size
        self.seed = seed
        self._is_copy = False
        self._epochs = mmap.mmap(-1, _PLACES * _NUMBER.size)

    def __str__(self) -> str:
        return f"<shard shuffle {self.size} seed={self.seed}>"

    __repr__ = __str__

    def __copy__(self) -> ShardShuffle:
        return ShardShuffle(self.size, self.seed)

    def __getstate__(self) -> dict[str, Any]:
        return {"size": self.size, "seed": self.seed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]
        self._is_copy = True

    def run(self, src: Iterator[Any]) -> Iterator[Any]:
        return _shuffle(src, self.size, seed=self._seed_of_pass())

    def _seed_of_pass(self) -> int:
        data = torch_data()
        info = data.get_worker_info() if data is not None else None
        if info is not None and self._is_copy:
            return utils.make_seed(self.seed, info.seed - info.id)
        place = (0 if info is None else info.id + 1) % _PLACES * _NUMBER.size
        (epoch,) = _NUMBER.unpack_from(self._epochs, place)
        _NUMBER.pack_into(self._epochs, place, epoch + 1)
        if epoch == 0 or utils.strict_compat():
            return self.seed
        return utils.make_seed(self.seed, epoch)
