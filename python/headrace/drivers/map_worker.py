"""The process that a function of `headrace map --python` lives in.

    python -m headrace.drivers.map_worker module:function

Standard input is a socket to the program, which asks sample after sample and reads the answers.
What the function prints goes to standard error. src/job/map/python_mapper.cc is the other end.
"""

from __future__ import annotations

import importlib
import os
import socket
import struct
import sys
import traceback
from collections.abc import Callable, Iterable
from typing import Any

_SIZE = struct.Struct("<Q")
_DONE, _RAISED = 0, 1

Sample = dict[str, Any]


def _load(name: str) -> Callable[[Sample], Any]:
    module, colon, function = name.partition(":")
    if not colon:
        raise ValueError(f"{name!r} is not module:function")
    found: Any = importlib.import_module(module)
    for part in function.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{name} is a {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]


def _text(data: bytes) -> bytes:
    return _SIZE.pack(len(data)) + data


def _payload(field: str, value: object) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, int):
        return str(int(value)).encode()
    raise TypeError(f"the field {field!r} is a {type(value).__name__}, not bytes, str or int")


def _samples(made: object, key: str) -> list[tuple[str, Sample]]:
    """With their keys. Of several, those that have the key of what they come from get a number."""
    if made is None:
        return []
    if isinstance(made, dict):
        return [(made.get("__key__", key), made)]
    if not isinstance(made, Iterable):
        raise TypeError(f"the function returned a {type(made).__name__}, not a dict or a list")
    named = []
    for number, sample in enumerate(made):
        own = sample.get("__key__", key)
        named.append((f"{key}-{number:06d}" if own == key else own, sample))
    return named


def _answer(made: object, key: str) -> bytes:
    samples = _samples(made, key)
    parts = [_SIZE.pack(_DONE), _SIZE.pack(len(samples))]
    for own, sample in samples:
        fields = sorted(name for name in sample if not name.startswith("__"))
        parts += [_text(own.encode("utf-8", "surrogateescape")), _SIZE.pack(len(fields))]
        for name in fields:
            parts += [_text(name.encode()), _text(_payload(name, sample[name]))]
    return b"".join(parts)


class _Question:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self) -> int:
        (value,) = _SIZE.unpack_from(self._data, self._at)
        self._at += _SIZE.size
        return int(value)

    def data(self) -> bytes:
        size = self.number()
        self._at += size
        return self._data[self._at - size : self._at]

    def text(self) -> str:
        return self.data().decode("utf-8", "surrogateescape")


def _sample(data: bytes) -> Sample:
    question = _Question(data)
    number, key, fields = question.number(), question.text(), question.number()
    sample: Sample = {"__key__": key, "__number__": number}
    for _ in range(fields):
        name = question.text()
        sample[name] = question.data()
    return sample


def _receive(peer: socket.socket, size: int) -> bytes | None:
    """None when the program has gone."""
    data = bytearray(size)
    view = memoryview(data)
    while view:
        got = peer.recv_into(view)
        if got == 0:
            return None
        view = view[got:]
    return bytes(data)


def _serve(peer: socket.socket, name: str) -> None:
    def say(answer: bytes) -> None:
        peer.sendall(_text(answer))

    def raised() -> bytes:
        return _SIZE.pack(_RAISED) + _text(traceback.format_exc().encode())

    try:
        function = _load(name)
    except Exception:
        return say(raised())
    say(_SIZE.pack(_DONE) + _SIZE.pack(0))  # no samples: the greeting
    while (size := _receive(peer, _SIZE.size)) is not None:
        data = _receive(peer, *_SIZE.unpack(size))
        if data is None:
            return None
        sample = _sample(data)
        key = sample["__key__"]
        try:
            answer = _answer(function(sample), key)
        except Exception:
            answer = raised()
        say(answer)
    return None


def main() -> None:
    peer = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    _serve(peer, sys.argv[1])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # whatever threads the function left


if __name__ == "__main__":
    main()
