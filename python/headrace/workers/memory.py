"""Memory that several processes map.

It is a file without a name (memfd, or elsewhere a temporary file that is unlinked at once), passed
to other processes by its descriptor. So nothing can be left in /dev/shm: the memory goes with the
last process that has it, also after kill -9.
"""

from __future__ import annotations

import itertools
import mmap
import os
import tempfile
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ALIGNMENT = 64
_ids = itertools.count(-1, -1)  # below zero: those of the engine's slots are above


class Shared:
    """A mapping of shared memory. Owns its descriptor."""

    def __init__(self, number: int, descriptor: int, size: int) -> None:
        self.number = number
        self.descriptor = descriptor
        self.size = 0
        self.bytes: NDArray[np.uint8] = np.empty(0, np.uint8)
        self.map(size)

    @classmethod
    def create(cls, size: int) -> Shared:
        """New memory, all zeros."""
        descriptor = _nameless_file()
        os.ftruncate(descriptor, size)
        return cls(next(_ids), descriptor, size)

    def map(self, size: int) -> None:
        """Maps it again after it has grown to `size`, here or in another process."""
        if size != self.size:
            self.bytes = np.frombuffer(mmap.mmap(self.descriptor, size), np.uint8)
            self.size = size

    def grow(self, size: int) -> None:
        """To `size` bytes; arrays over the mapping there was before see the same memory."""
        os.ftruncate(self.descriptor, size)
        self.map(size)

    def __del__(self) -> None:
        os.close(self.descriptor)


class Pool:
    """Slots for results: taken for a batch, back when its last array is gone. Any thread may use
    it; finalizers do, at any moment, so it has no lock."""

    def __init__(self, keep: int) -> None:
        """At most about `keep` free slots are kept."""
        self._keep = keep
        self._free: deque[Shared] = deque()
        self.made = 0

    def take(self) -> Shared:
        try:
            return self._free.pop()
        except IndexError:
            self.made += 1
            return Shared.create(mmap.PAGESIZE)

    def give_back(self, slot: Shared) -> None:
        if len(self._free) < self._keep:
            self._free.append(slot)


class Lease:
    """A slot in use. `array` is its memory; when that and all its views are gone, so is the lease,
    and the slot goes back."""

    def __init__(self, slot: Shared, pool: Pool) -> None:
        self.slot = slot
        self._pool = pool

    @property
    def array(self) -> NDArray[np.uint8]:
        return np.asarray(self)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.slot.bytes.__array_interface__

    def __del__(self) -> None:
        self._pool.give_back(self.slot)


class Writer:
    """Takes memory from a slot, one piece after the other, and lets it grow."""

    def __init__(self, slot: Shared) -> None:
        self._slot = slot
        self._used = 0
        # By address. Holding the pieces holds the mappings they are from.
        self._pieces: dict[int, tuple[int, NDArray[np.uint8]]] = {}

    def take(self, size: int) -> NDArray[np.uint8]:
        begin = -(-self._used // _ALIGNMENT) * _ALIGNMENT
        self._used = begin + size
        if self._used > self._slot.size:
            # An eighth of slack, so that batches that differ a little find it large enough.
            self._slot.grow(-(-(self._used * 9 // 8) // mmap.PAGESIZE) * mmap.PAGESIZE)
        piece = self._slot.bytes[begin : self._used]
        self._pieces[piece.ctypes.data] = begin, piece
        return piece

    def offset_of(self, array: NDArray[Any]) -> int | None:
        """Where `array` lies in the slot, if it begins a piece that was taken; else None."""
        found = self._pieces.get(array.ctypes.data)
        return None if found is None else found[0]


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("headrace-result", os.MFD_CLOEXEC)
    descriptor, path = tempfile.mkstemp()
    os.unlink(path)
    return descriptor
