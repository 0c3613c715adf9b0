"""What the engine wants people to know, as warnings."""

from __future__ import annotations

import warnings

from . import _native


def warn_of_notes(stacklevel: int) -> None:
    """Warns of what was noted since the last time. `stacklevel`: 1 is who calls this."""
    for note in _native.take_notes():
        warnings.warn(note, RuntimeWarning, stacklevel=stacklevel + 1)
