"""`xdecode`: fields chosen by pattern are decoded from a stream of their bytes."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from typing import IO, Any

from . import utils

StreamDecoder = Callable[[IO[bytes]], Any]


def decode_bin(stream: IO[bytes]) -> bytes:
    return stream.read()


def decode_text(stream: IO[bytes]) -> str:
    return stream.read().decode("utf-8")


def decode_pickle(stream: IO[bytes]) -> Any:
    """Unpickles, with one warning; ValueError where `enforce_security` is set."""
    if not utils.strict_compat():
        utils.refuse_if_secure("Unpickling is not allowed")
    utils.warn_of_pickle("A pickle")
    return pickle.load(stream)


default_decoders: list[tuple[str, Any]] = [
    ("*.bin", decode_bin),
    ("*.txt", decode_text),
    ("*.pyd", decode_pickle),
]


def find_decoder(decoders: list[tuple[str, Any]], path: str) -> Any:
    """The last of the decoders whose pattern fits; keys with `__` at the start stay."""
    if path.startswith((".__", "__")):
        return False
    for pattern, f in reversed(decoders):
        if fnmatch(path, pattern) or fnmatch("." + path, pattern):
            return f
    return None


def _xdecode(
    source: Iterable[dict[str, Any]],
    *args: tuple[str, Any],
    must_decode: bool = True,
    defaults: list[tuple[str, Any]] = default_decoders,
    **kw: Any,
) -> Iterator[dict[str, Any]]:
    """(pattern, f) or ext=f: f(stream) is the field's value; False keeps the bytes."""
    decoders = [*defaults, *args, *((f"*.{ext}", f) for ext, f in kw.items())]
    for sample in source:
        result = {}
        for path, data in sample.items():
            f = find_decoder(decoders, path)
            if f is None and must_decode:
                raise ValueError(f"no decoder found for {path}")
            if not f:
                result[path] = data
            else:
                result[path] = f(io.BytesIO(data) if isinstance(data, bytes) else data)
        yield result
