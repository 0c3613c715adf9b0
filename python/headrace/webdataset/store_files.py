"""Objects of Headrace's stores as Python files."""

from __future__ import annotations

import io
import os
import re
import warnings
from typing import TYPE_CHECKING, Any

from .. import _native
from ..notes import warn_of_notes

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

_BUFFER = 1 << 18
#: hf://org/name/resolve/main/x.tar, as the original wants it
_RESOLVED = re.compile(r"(hf://(?:datasets/|models/)?[^/@]+/[^/@]+)/(?:resolve|raw)/([^/]+)/")


def open_store_file(url: str, mode: str) -> Any:
    """`url` as a buffered file ("rb"), or as one to write to ("wb")."""
    url = _RESOLVED.sub(r"\1@\2/", url, count=1)
    if mode[0] == "w":
        return StoreSink(url)
    return io.BufferedReader(StoreFile(url), _BUFFER)


class StoreFile(io.RawIOBase):
    """An object, read front to back with a few parts on their way; seek() fetches anew."""

    def __init__(self, url: str) -> None:
        self.name = url
        self.reader = _native.ObjectReader(url)
        warn_of_notes(stacklevel=2)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, into: WriteableBuffer, /) -> int:
        self._check_open()
        return self.reader.readinto(into)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self._check_open()
        begin = {os.SEEK_SET: 0, os.SEEK_CUR: self.reader.tell(), os.SEEK_END: self.reader.size}
        if begin[whence] + offset < 0:
            raise ValueError(f"negative seek position {begin[whence] + offset}")
        self.reader.seek(begin[whence] + offset)
        return self.reader.tell()

    def tell(self) -> int:
        self._check_open()
        return self.reader.tell()

    def close(self) -> None:
        if not self.closed:
            self.reader.seek(self.reader.size)  # gives the memory back
        super().close()

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")


class StoreSink:
    """An object being written. It is there, whole, after close(), and not before."""

    def __init__(self, url: str) -> None:
        self.name = url
        self.closed = True
        self._writer = _native.ObjectWriter(url)
        self.closed = False

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        return self._writer.write(data)

    def flush(self) -> None:
        """Does nothing: objects have no beginning that could be there alone."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._writer.close()

    def __enter__(self) -> StoreSink:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if kind is None:
            self.close()
        elif not self.closed:
            self.closed = True
            self._writer.abandon()

    def __del__(self) -> None:
        if not self.closed:
            warnings.warn(
                f"{self.name} was not closed: nothing has been written",
                ResourceWarning,
                stacklevel=2,
            )
