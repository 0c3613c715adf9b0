"""What the reader in C++ reads from: a descriptor where there is one, else any object with read(n).

Archives compressed by gzip, bzip2 or xz are told by their first bytes.
"""

from __future__ import annotations

import io
import os
import tarfile
import zlib
from typing import Any, Protocol

from .. import _native
from . import utils
from .store_files import StoreFile


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Prefixed:
    """A stream of which some bytes have been read already."""

    def __init__(self, head: bytes, stream: Readable) -> None:
        self._head = head
        self._stream = stream

    def read(self, size: int) -> bytes:
        if self._head:
            piece, self._head = self._head[:size], self._head[size:]
            return piece
        return self._stream.read(size)

    def seekable(self) -> bool:
        return False


class Unpacked:
    """The content of a compressed stream; what is wrong with it is a tarfile.ReadError."""

    def __init__(self, unpacked: Any) -> None:
        self._unpacked = unpacked

    def read(self, size: int) -> bytes:
        try:
            # read1: what there is comes before the error about what is not.
            piece: bytes = self._unpacked.read1(size)
            return piece
        except EOFError as exn:
            raise tarfile.ReadError("unexpected end of data") from exn
        except (OSError, zlib.error) as exn:
            raise tarfile.ReadError(f"invalid compressed data: {exn}") from exn
        except Exception as exn:
            if type(exn).__name__ != "LZMAError":
                raise
            raise tarfile.ReadError(f"invalid compressed data: {exn}") from exn


_LONGEST_MAGIC = 6


def _unpacker(head: bytes, stream: Any) -> Any:
    """The stream itself, or what unpacks it."""
    if head.startswith(b"\x1f\x8b"):
        import gzip

        return Unpacked(gzip.GzipFile(fileobj=stream, mode="rb"))
    if head.startswith(b"BZh"):
        import bz2

        return Unpacked(bz2.BZ2File(stream, "rb"))
    if head.startswith(b"\xfd7zXZ"):
        import lzma

        return Unpacked(lzma.LZMAFile(stream, "rb"))
    return stream


def _source(stream: Any) -> Any:
    """A descriptor or an object of a store at the right place, or an object with read(n)."""
    if type(stream) is io.BufferedReader and type(stream.raw) is StoreFile:
        unpacker = _unpacker(stream.peek(_LONGEST_MAGIC), stream)
        if unpacker is not stream:
            return unpacker
        stream.raw.seek(stream.tell())
        return stream.raw.reader
    if type(stream) is io.BufferedReader and type(stream.raw) is io.FileIO and stream.seekable():
        descriptor, place = stream.fileno(), stream.tell()
        head = os.pread(descriptor, _LONGEST_MAGIC, place)
        unpacker = _unpacker(head, stream)
        if unpacker is not stream:
            return unpacker
        os.lseek(descriptor, place, os.SEEK_SET)
        return descriptor
    head = b""
    while len(head) < _LONGEST_MAGIC and (more := stream.read(_LONGEST_MAGIC - len(head))):
        head += more
    return _unpacker(head, Prefixed(head, stream))


def open_members(stream: Any, skip_meta: bool, select: Any, rename: Any) -> Any:
    """An iterator of (name, bytes)."""
    return _native.TarMembers(
        _source(stream), select, rename, lenient=utils.strict_compat(), skip_meta=skip_meta
    )


def open_shard(stream: Any, url: Any, local_path: Any) -> tuple[Any, Any, Any, bool]:
    """What C++ begins a shard with: where from, `__url__`, `__local_path__`, lenient or not."""
    return _source(stream), url, local_path, utils.strict_compat()
