"""Recipes: how the fields of a sample become the columns of a batch.

    .decode(image=hr.image("jpg;png").random_resized_crop(224).flip(),
            label=hr.integer("cls"),
            caption=hr.text("txt", default=""))

The argument names the fields of a sample to decode, tried in this order. A recipe never changes:
every method returns a new one.
"""

from __future__ import annotations

from builtins import bytes as _bytes
from builtins import float as _float
from typing import Any

__all__ = ["Field", "bytes", "float", "integer", "json", "npy", "text"]


class Field:
    """The recipe of one column. Made by `hr.integer`, `hr.text` and the others."""

    __slots__ = ("_spec",)
    _spec: dict[str, Any]

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec

    @property
    def kind(self) -> str:
        """ "bytes", "text", "json", "integer", "float", "npy", "image", "mask" or "boxes"."""
        return str(self._spec["kind"])

    @property
    def sources(self) -> str:
        """The fields of a sample that it is made from, separated by semicolons."""
        return str(self._spec["sources"])

    def _with(self, **changes: Any) -> Any:
        return type(self)({**self._spec, **changes})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Field) and self._spec == other._spec

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        default = self._spec["default"]
        extra = "" if default is None else f", default={default!r}"
        return f"hr.{self.kind}({self.sources!r}{extra})"


def integer(sources: str = "cls", *, dtype: str = "int64", default: int | None = None) -> Field:
    """Decimal integers in ASCII: a column of shape (rows,) of any integer `dtype`."""
    text = None if default is None else str(int(default)).encode()
    return Field({"kind": "integer", "sources": sources, "dtype": dtype, "default": text})


def float(sources: str, *, dtype: str = "float32", default: _float | None = None) -> Field:
    """Decimal numbers in ASCII: a column of shape (rows,), float32 or float64."""
    text = None if default is None else repr(_float(default)).encode()
    return Field({"kind": "float", "sources": sources, "dtype": dtype, "default": text})


def text(sources: str = "txt", *, default: str | None = None) -> Field:
    """UTF-8 text: a `Ragged` whose rows are str. Bytes that are not UTF-8 are a `DataError`."""
    encoded = None if default is None else default.encode()
    return Field({"kind": "text", "sources": sources, "default": encoded})


def bytes(sources: str, *, default: _bytes | None = None) -> Field:
    """The field as it is: a `Ragged` whose rows are bytes."""
    return Field({"kind": "bytes", "sources": sources, "default": default})


_MISSING: Any = object()


def json(sources: str = "json", *, default: Any = _MISSING) -> Field:
    """JSON documents: a `Ragged` whose rows are Python objects, parsed when they are looked at."""
    encoded = None
    if default is not _MISSING:
        from json import dumps

        encoded = dumps(default).encode()
    return Field({"kind": "json", "sources": sources, "default": encoded})


def npy(sources: str = "npy", *, default: _bytes | None = None) -> Field:
    """numpy array files: one array if all rows of a batch have the same shape, else a `Ragged`."""
    return Field({"kind": "npy", "sources": sources, "default": default})
