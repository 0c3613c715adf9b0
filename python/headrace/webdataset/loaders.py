"""Fluid methods on what is no WebDataset: torch's `DataLoader`, and any iterable data set."""

from __future__ import annotations

from typing import Any

from .fluid import FluidInterface
from .pipeline import DataPipeline


class FluidWrapper(DataPipeline, FluidInterface):
    """Any iterable data set as the first stage of a pipeline with fluid methods."""

    def __init__(self, initial: Any) -> None:
        super().__init__()
        self.append(initial)


class WebLoader(DataPipeline, FluidInterface):
    """torch's `DataLoader`, with its arguments, as the first stage of such a pipeline."""

    def __init__(self, *args: Any, **kw: Any) -> None:
        from torch.utils.data import DataLoader

        super().__init__(DataLoader(*args, **kw))
