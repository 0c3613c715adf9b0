"""torch's `IterableDataset` without importing torch.

The classes of this package derive from `IterableDataset` below. Once torch is there, they count as
torch's own (`isinstance`), whichever of the two was imported first: a `DataLoader` asks an object
for its class, and that is when it is registered.
"""

from __future__ import annotations

import sys
from typing import Any

_registered: list[type] = []


def torch_data() -> Any:
    """The module torch.utils.data if somebody has imported it, else None."""
    return sys.modules.get("torch.utils.data")


def _register() -> None:
    base = getattr(torch_data(), "IterableDataset", None)
    if base is not None and base not in _registered:
        _registered.append(base)
        base.register(IterableDataset)


class IterableDataset:
    """The base of data sets that are iterated over."""

    @property
    def __class__(self) -> type:
        _register()
        return type(self)

    @__class__.setter
    def __class__(self, value: type) -> None:
        object.__dict__["__class__"].__set__(self, value)

    def __add__(self, other: Any) -> Any:
        from torch.utils.data import ChainDataset

        return ChainDataset([self, other])  # type: ignore[list-item, unused-ignore]


def __getattr__(name: str) -> Any:
    """torch's classes under the names that scripts import from here."""
    if name == "DataLoader":
        from torch.utils.data import DataLoader

        return DataLoader
    if name == "TorchTensor":
        from torch import Tensor

        return Tensor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
