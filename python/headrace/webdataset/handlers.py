"""What to do about an error in a stage: a handler takes the exception and decides.

It raises it, or returns True (skip the item and go on) or False (end this stage's stream).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

Handler = Callable[[Exception], bool]

_PAUSE_S = 0.5


def reraise_exception(exn: Exception) -> bool:
    """Raises it: the default everywhere."""
    raise exn


def ignore_and_continue(exn: Exception) -> bool:
    """Leaves the item out without a word."""
    return True


def warn_and_continue(exn: Exception) -> bool:
    """Leaves the item out with a warning, and half a second to read it."""
    _warn(exn)
    return True


def ignore_and_stop(exn: Exception) -> bool:
    """Ends the stream at this stage without a word."""
    return False


def warn_and_stop(exn: Exception) -> bool:
    """Ends the stream at this stage with a warning."""
    _warn(exn)
    return False


def _warn(exn: Exception) -> None:
    warnings.warn(repr(exn), stacklevel=3)
    time.sleep(_PAUSE_S)
