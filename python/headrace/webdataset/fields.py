"""Stages that choose, rename and reorder the fields of a sample."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from typing import Any

from .handlers import Handler, reraise_exception

Sample = dict[str, Any]


def parse_field_spec(fields: Any) -> list[list[str]]:
    """ "a;b c" is [["a", "b"], ["c"]]: alternatives of each field."""
    if isinstance(fields, str):
        fields = fields.split()
    return [field.split(";") for field in fields]


def getfirst(a: Sample, keys: Any, default: Any = None, missing_is_error: bool = True) -> Any:
    """The first of the keys that the sample has."""
    if isinstance(keys, str):
        if keys in a:
            return a[keys]
        keys = keys.split(";")
    for key in keys:
        if key in a:
            return a[key]
    if missing_is_error:
        raise ValueError(f"didn't find {keys} in {list(a.keys())}")
    return default


def tuple_keys(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of `to_tuple`: one with spaces in it is several."""
    if len(args) == 1 and isinstance(args[0], str) and " " in args[0]:
        return tuple(args[0].split())
    return args


def _to_tuple(
    data: Iterable[Sample],
    *args: Any,
    handler: Handler = reraise_exception,
    missing_is_error: bool = True,
    none_is_error: bool | None = None,
) -> Iterator[tuple[Any, ...]]:
    """The values of these keys; each may name alternatives, "png;jpg"."""
    if none_is_error is None:
        none_is_error = missing_is_error
    args = tuple_keys(args)
    for sample in data:
        try:
            values = tuple(
                [getfirst(sample, keys, missing_is_error=missing_is_error) for keys in args]
            )
            # `is`, as comparing an array with None gives an array.
            if none_is_error and any(value is None for value in values):
                raise ValueError(f"to_tuple {args}: a value is None, of {list(sample)}")
        except Exception as exn:
            if handler(exn):
                continue
            break
        yield values


def _rename(
    data: Iterable[Sample], handler: Handler = reraise_exception, keep: bool = True, **kw: str
) -> Iterator[Sample]:
    """New names for keys: `new="old;older"`. `keep=False`: only those."""
    for sample in data:
        try:
            if keep:
                old = {key for keys in kw.values() for key in keys.split(";")}
                result = {key: value for key, value in sample.items() if key not in old}
            else:
                result = {}
            result.update({new: getfirst(sample, keys) for new, keys in kw.items()})
        except Exception as exn:
            if handler(exn):
                continue
            break
        yield result


def _rename_keys(
    source: Iterable[Sample],
    *args: tuple[str, str],
    keep_unselected: bool = False,
    must_match: bool = True,
    duplicate_is_error: bool = True,
    **kw: str,
) -> Iterator[Sample]:
    """New names for keys by pattern, (new, pattern) each; the last rule that matches wins.

    Of several keys with one new name the first is kept, where that is no error.
    """
    rules = [(pattern, new) for new, pattern in [*args, *kw.items()]]
    for sample in source:
        result: Sample = {}
        matched = dict.fromkeys((pattern for pattern, _ in rules), False)
        for path, value in sample.items():
            base = os.path.basename(path).lower()
            new = None
            for pattern, name in reversed(rules):
                if fnmatch(base, pattern):
                    matched[pattern] = True
                    new = name
                    break
            if new is None:
                if keep_unselected:
                    result[path] = value
            elif new not in result:
                result[new] = value
            elif duplicate_is_error:
                raise ValueError(f"duplicate value in sample {list(sample)} after rename")
        if must_match and not all(matched.values()):
            raise ValueError(f"not all patterns ({matched}) matched sample keys ({list(sample)})")
        yield result


def _extract_keys(
    source: Iterable[Sample],
    *patterns: str,
    duplicate_is_error: bool = True,
    ignore_missing: bool = False,
) -> Iterator[tuple[Any, ...]]:
    """The values of the keys that match the patterns; ";" separates alternatives."""
    for sample in source:
        result = []
        for pattern in patterns:
            alternatives = pattern.split(";")
            found = [
                key
                for key in sample
                if any(fnmatch(key, one) or fnmatch("." + key, one) for one in alternatives)
            ]
            if not found:
                if ignore_missing:
                    continue
                raise ValueError(f"cannot find {pattern} in sample keys {list(sample)}")
            if len(found) > 1 and duplicate_is_error:
                raise ValueError(f"multiple sample keys of {list(sample)} match {pattern}")
            result.append(sample[found[0]])
        yield tuple(result)


def _associate(
    data: Iterable[Sample], associator: Callable[[Any], Any] | dict[Any, Any], **kw: Any
) -> Iterator[Sample]:
    """Adds what a function of the key, or a table by key, knows about a sample."""
    for sample in data:
        if callable(associator):
            extra = associator(sample["__key__"])
        else:
            extra = associator.get(sample["__key__"], {})
        sample.update(extra)
        yield sample


def dict2tuple(d: dict[int, Any]) -> tuple[Any, ...]:
    """{0: a, 1: b} is (a, b)."""
    return tuple(d[i] for i in range(max(d.keys()) + 1))


def tuple2dict(l: Any) -> Any:  # noqa: E741 (part of the interface)
    """(a, b) is {0: a, 1: b}. A dictionary stays what it is."""
    return l if isinstance(l, dict) else dict(enumerate(l))
