"""Stages that apply a function to samples or choose among them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .handlers import Handler, reraise_exception


def _map(
    data: Iterable[Any], f: Callable[[Any], Any], handler: Handler = reraise_exception
) -> Iterator[Any]:
    """f of each sample; None leaves it out. A dictionary keeps its `__key__`."""
    for sample in data:
        try:
            result = f(sample)
        except Exception as exn:
            if handler(exn):
                continue
            break
        if result is None:
            continue
        if isinstance(sample, dict) and isinstance(result, dict):
            result["__key__"] = sample.get("__key__")
        yield result


def _map_dict(
    data: Iterable[Any], handler: Handler = reraise_exception, **kw: Callable[[Any], Any]
) -> Iterator[Any]:
    """A function for each of these keys, in place."""
    assert kw
    for sample in data:
        assert isinstance(sample, dict)
        try:
            for key, f in kw.items():
                sample[key] = f(sample[key])
        except Exception as exn:
            if handler(exn):
                continue
            break
        yield sample


def transform_with(sample: Any, transformers: Any) -> Any:
    """A function for each place of a list; None, and places without one, stay as they are."""
    if transformers is None or len(transformers) == 0:
        return sample
    result = list(sample)
    for i in range(min(len(sample), len(transformers))):
        if transformers[i] is not None:
            result[i] = transformers[i](sample[i])
    return result


def _map_tuple(
    data: Iterable[Any], *args: Callable[[Any], Any] | None, handler: Handler = reraise_exception
) -> Iterator[tuple[Any, ...]]:
    """A function for each place of a tuple."""
    for sample in data:
        try:
            result = tuple(transform_with(sample, args))
        except Exception as exn:
            if handler(exn):
                continue
            break
        yield result


def _select(data: Iterable[Any], predicate: Callable[[Any], Any]) -> Iterator[Any]:
    """Those for which the predicate is true."""
    for sample in data:
        if predicate(sample):
            yield sample


def _rsample(data: Iterable[Any], p: float = 0.5) -> Iterator[Any]:
    """Each with probability p."""
    assert 0.0 <= p <= 1.0
    for sample in data:
        if random.uniform(0.0, 1.0) < p:
            yield sample
