"""One function of a pipeline, as the user gave it, and how it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import UsageError

Step = Literal["map", "map_batches", "filter"]
Arrays = Literal["numpy", "torch"]


@dataclass(frozen=True)
class Function:
    """A function and what it is given. Immutable; pickled as it is for worker processes."""

    step: Step
    call: Callable[..., Any]
    on: tuple[str, ...] | None
    """The fields it is given; None: all of them, as a dict."""
    single: bool
    """`on` was one name: the result is that field's value."""
    keywords: bool
    """Fields are given as keyword arguments, and the result is a dict of changed fields."""
    to: Arrays
    takes_rng: bool
    number: int
    """Among the functions of the pipeline, from 0."""

    @property
    def name(self) -> str:
        """For messages, as "map(normalise)"."""
        call = getattr(self.call, "func", self.call)  # of a functools.partial
        name = getattr(call, "__qualname__", None) or type(call).__qualname__
        return f"{self.step}({name})"

    def run(self, fields: dict[str, Any], rng: Any) -> Any:
        """The function's own result for `fields`, which has what `on` names."""
        extra = {"rng": rng} if self.takes_rng else {}
        if self.keywords:
            return self.call(**fields, **extra)
        if self.on is None:
            return self.call(fields, **extra)
        return self.call(*fields.values(), **extra)

    def changes(self, result: Any) -> dict[str, Any]:
        """The fields that `result` gives. They replace all others if `replaces_all`."""
        if self.on is None or self.keywords:
            if not isinstance(result, Mapping):
                raise UsageError(
                    f"{self.name} returned {_a(result)}, not a dict of fields",
                    hint='With on="field" it is given, and returns, that field\'s value alone.',
                )
            return dict(result)
        if self.single:
            return {self.on[0]: result}
        if not isinstance(result, (tuple, list)) or len(result) != len(self.on):
            raise UsageError(
                f"{self.name} on {', '.join(self.on)} returned {_a(result)}, "
                f"not a tuple of {len(self.on)} values"
            )
        return dict(zip(self.on, result, strict=True))

    @property
    def replaces_all(self) -> bool:
        """Fields that it does not return are gone."""
        return self.on is None and not self.keywords


def describe(
    step: Step,
    call: Callable[..., Any],
    on: str | tuple[str, ...] | list[str] | None,
    keywords: bool,
    to: Arrays,
    number: int,
) -> Function:
    """A function as the user gave it.

    Raises:
        UsageError: it is none, or `on` and `to` make no sense.
    """
    if not callable(call):
        raise UsageError(f"{step}() needs a function, not {call!r}")
    if to not in ("numpy", "torch"):
        raise UsageError(f"to is numpy or torch, not {to!r}")
    single = isinstance(on, str)
    names = (on,) if isinstance(on, str) else None if on is None else tuple(on)
    if names is not None and (not names or not all(isinstance(name, str) for name in names)):
        raise UsageError(f"on is the name of a field, or names, and not {on!r}")
    return Function(step, call, names, single, bool(keywords), to, _takes_rng(call), number)


def _takes_rng(call: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(call).parameters
    except (TypeError, ValueError):
        return False
    rng = parameters.get("rng")
    return rng is not None and rng.kind in (rng.POSITIONAL_OR_KEYWORD, rng.KEYWORD_ONLY)


def _a(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
