"""Columns on a CUDA device: through pinned memory, on a stream of their own.

    host     slot ──copy──▶ pinned memory ──┐
    device   copy stream                    └──▶ tensor ──┐ event
             training's stream   … step n - 1 …           └──▶ step n …

The training's stream waits for the copy, the host for nothing. So the copy of a batch runs while
the device still computes the step before it, as long as the program does not wait for the device in
each step (`loss.item()` does).
"""

from __future__ import annotations

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

    def move(self, tensor: Any) -> Any:
        """The tensor on the device; work that is queued there from now on finds it filled."""
        import torch

        if self._copies is None:
            self._copies = torch.cuda.Stream(self._device)
        with torch.cuda.stream(self._copies):
            # torch keeps pinned memory for the next time, and until the copy is done.
            moved = tensor.pin_memory().to(self._device, non_blocking=True)
        training = torch.cuda.current_stream(self._device)
        training.wait_stream(self._copies)
        moved.record_stream(training)
        return moved
