"""Lists of shards as text: braces as the shell has them, environment variables, `::`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?")
_LETTERS = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d+))?")


def expand_braces(text: str) -> Iterator[str]:
    """`{a,b}`, `{000..127}`, `{0..9..2}`, `{a..c}`, nested too; the last varies fastest.

    A brace with neither a range nor a comma stands for itself.
    """
    opening = text.find("{")
    while opening >= 0:
        closing = _closing(text, opening)
        parts = _alternatives(text[opening + 1 : closing]) if closing >= 0 else None
        if parts is not None:
            tails = list(expand_braces(text[closing + 1 :]))
            for part in parts:
                for tail in tails:
                    yield text[:opening] + part + tail
            return
        opening = text.find("{", opening + 1)
    yield text


def _closing(text: str, opening: int) -> int:
    depth = 0
    for i in range(opening, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return i
    return -1


def _alternatives(inside: str) -> list[str] | None:
    if match := _RANGE.fullmatch(inside):
        return _numbers(match)
    if match := _LETTERS.fullmatch(inside):
        first, last = ord(match[1]), ord(match[2])
        return [chr(c) for c in _steps(first, last, int(match[3] or 1))]
    parts, depth, begin = [], 0, 0
    for i, char in enumerate(inside):
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            parts.append(inside[begin:i])
            begin = i + 1
    if not parts:
        return None
    parts.append(inside[begin:])
    return [one for part in parts for one in expand_braces(part)]


def _numbers(match: re.Match[str]) -> list[str]:
    ends = [match[1], match[2]]
    padded = any(re.match(r"-?0\d", end) for end in ends)
    width = max(map(len, ends)) if padded else 0
    numbers = _steps(int(ends[0]), int(ends[1]), int(match[3] or 1))
    return [f"{number:0{width}d}" if width else str(number) for number in numbers]


def _steps(first: int, last: int, step: int) -> range:
    step = abs(step) or 1
    return range(first, last + 1, step) if first <= last else range(first, last - 1, -step)


def envlookup(m: re.Match[str]) -> str:
    """The value of the environment variable WDS_<name>."""
    key = "WDS_" + m.group(1)
    assert key in os.environ, f"missing environment variable {key}"
    return os.environ[key]


def envsubst(s: str) -> str:
    """Replaces ${X} by the environment variable WDS_X."""
    return re.sub(r"\$\{(\w+)\}", envlookup, s)


def expand_urls(urls: Any) -> list[str]:
    """Every shard that a text (`a-{0..3}.tar::b.tar`) or a list of texts names."""
    if isinstance(urls, str):
        found: list[str] = []
        for url in envsubst(urls).split("::"):
            found.extend(expand_braces(envsubst(url)))
        return found
    return list(urls)


def expand_source(source: Any, max_urls: int = int(1e9)) -> list[Any]:
    """The same for anything to iterate over, of which the first `max_urls` are taken."""
    if isinstance(source, str):
        return expand_urls(source)
    if isinstance(source, list):
        return source
    if isinstance(source, Iterable):
        return [url for _, url in zip(range(max_urls), source)]  # noqa: B905
    raise ValueError(f"cannot handle {type(source)} as urls")
