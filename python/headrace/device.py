"""Columns on a CUDA device: from page-locked slots, on a stream of their own.

    host     slot (page-locked) ─┐
    device   copy stream         └──▶ tensor ──┐ event
             training's stream   … step n - 1 … └──▶ step n …

The training's stream waits for the copy, the host for nothing. So the copy of a batch runs while
the device still computes the step before it, as long as the program does not wait for the device in
each step (`loss.item()` does). The engine locks its slots; columns that a function made are copied
to pinned memory first.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from .errors import UsageError


class Device:
    """Moves tensors to one CUDA device. For one thread at a time."""

    def __init__(self, name: str) -> None:
        """Raises UsageError if there is no such device."""
        import torch

        try:
            device = torch.device(name)
        except RuntimeError as error:
            raise UsageError(f"{name!r} is no device: {error}") from None
        if device.type != "cuda":
            raise UsageError(
                f"device is a CUDA device, not {name!r}", hint="Without device= batches stay here."
            )
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            raise UsageError(f"there is no device {name!r}: torch sees {count} CUDA devices")
        self._device = device
        self._copies: Any = None
        self._copied: deque[tuple[Any, Any]] = deque()

    @property
    def number(self) -> int:
        """Of the device, as CUDA counts those that this process sees."""
        import torch

        current: int = torch.cuda.current_device()
        return current if self._device.index is None else int(self._device.index)

    def move(self, tensor: Any) -> Any:
        """The tensor on the device; work that is queued there from now on finds it filled."""
        import torch

        if self._copies is None:
            self._copies = torch.cuda.Stream(self._device)
        with torch.cuda.stream(self._copies):
            # Memory that torch has pinned itself it keeps until the copy is done.
            source = tensor if tensor.is_pinned() else tensor.pin_memory()
            moved = source.to(self._device, non_blocking=True)
        if source is tensor:
            self._keep_until_copied(tensor)
        training = torch.cuda.current_stream(self._device)
        training.wait_stream(self._copies)
        moved.record_stream(training)
        return moved

    def _keep_until_copied(self, tensor: Any) -> None:
        """Its slot must not be filled again before."""
        while self._copied and self._copied[0][0].query():
            self._copied.popleft()
        self._copied.append((self._copies.record_event(), tensor))
