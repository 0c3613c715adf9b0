"""Stages as functions of their arguments: `shuffle(9)` is a stage, `_shuffle(src, 9)` runs it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any


class FilterFunction:
    """A stage: calls `f(iterator, *args, **kw)`. Picklable if `f` and the arguments are."""

    def __init__(self, f: Callable[..., Any], *args: Any, **kw: Any) -> None:
        self.f = f
        self.args = args
        self.kw = kw

    def __call__(self, data: Iterable[Any]) -> Iterator[Any]:
        return self.f(data, *self.args, **self.kw)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return f"<{self.f.__name__} {self.args} {self.kw}>"

    __repr__ = __str__


class RestCurried:
    """Makes stages of a function whose first argument is the iterator."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f
        functools.update_wrapper(self, f)

    def __call__(self, *args: Any, **kw: Any) -> FilterFunction:
        return FilterFunction(self.f, *args, **kw)


def pipelinefilter(f: Callable[..., Any]) -> RestCurried:
    """Turns `f(src, *args, **kw)` into `g(*args, **kw)`, which gives a stage."""
    return RestCurried(f)


def compose2(f: Callable[..., Any], g: Callable[..., Any]) -> Callable[..., Any]:
    """g after f."""
    return lambda *args, **kw: g(f(*args, **kw))


def compose(*args: Callable[..., Any]) -> Callable[..., Any]:
    """One function after the other, from left to right."""
    return functools.reduce(compose2, args)


def pipeline(source: Any, *args: Callable[..., Any]) -> Any:
    """The stages one after the other, on a source."""
    for stage in args:
        source = stage(source)
    return source
