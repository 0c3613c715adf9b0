"""Functions by name, so that other processes find them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import UsageError


def importable(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """("module:function", the environment in which another Python imports it from where it is)."""
    module = getattr(function, "__module__", None) or "__main__"
    name = getattr(function, "__qualname__", "")
    if module == "__main__" or not name or "<" in name:
        raise UsageError(
            f"other processes cannot import {name or function!r} of {module}",
            hint="Put it into a module, as a function of its own, and import it.",
        )
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return f"{module}:{name}", {}
    path = Path(file).resolve()
    levels = module.count(".") + (path.name == "__init__.py")
    known = os.environ.get("PYTHONPATH")
    folders = [str(path.parents[levels]), *([known] if known else [])]
    return f"{module}:{name}", {"PYTHONPATH": os.pathsep.join(folders)}
