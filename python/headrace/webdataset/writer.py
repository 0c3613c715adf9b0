"""TarWriter and ShardWriter: samples into tar shards, the archive written by the engine.

Against the original: the same members with the same contents, owner, mode and order, several times
faster. Times are whole seconds, so that no member is preceded by a block that says only that; the
end is two zero blocks, without filling up to 10 KiB.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable, Mapping
from typing import Any

from .._native import SampleWriter
from .encoders import (
    add_handlers,
    bytestr,
    cbor_dumps,
    default_handlers,
    encode_based_on_extension,
    encode_based_on_extension1,
    imageencoder,
    make_encoder,
    make_handlers,
    mp_dumps,
    numpy_dumps,
    numpy_npz_dumps,
    tenbin_dumps,
    torch_dumps,
)
from .gopen import gopen

__all__ = [
    "ShardWriter",
    "TarWriter",
    "add_handlers",
    "bytestr",
    "cbor_dumps",
    "default_handlers",
    "encode_based_on_extension",
    "encode_based_on_extension1",
    "gopen",
    "imageencoder",
    "make_encoder",
    "make_handlers",
    "mp_dumps",
    "numpy_dumps",
    "numpy_npz_dumps",
    "tenbin_dumps",
    "torch_dumps",
]

Sample = dict[str, Any]

# How the archive goes to its file, by the mode that tarfile would be opened with.
_COMPRESSORS: dict[str, Callable[[Any], Any]] = {
    "w|gz": lambda file: gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0),
    "w|bz2": lambda file: bz2.BZ2File(file, "wb"),
    "w|xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115  # TarWriter closes it
}


class TarWriter:
    """Writes samples to one tar.

        with TarWriter("a.tar") as sink:
            sink.write({"__key__": "a/b", "png": image, "cls": 3})    # a/b.cls, a/b.png

    fileobj: a path, a URL or a `pipe:` command for `gopen`, or a stream to write to, which is left
        open.
    user, group, mode: of every member.
    compress: False: none; True or "gz", "bz2", "xz"; None: by the end of the name.
    encoder: see `make_encoder`.
    keep_meta: also fields that begin with `_`.
    mtime: of every member, seconds since 1970, of which whole ones are kept; None: the time of
        writing. A fixed one gives the same file each time.
    format: accepted and ignored, as in the original.

    Not thread-safe. A process that forks must write from one side alone.
    """

    def __init__(
        self,
        fileobj: Any,
        user: str = "bigdata",
        group: str = "bigdata",
        mode: int = 0o0444,
        compress: bool | str | None = None,
        encoder: Any = True,
        keep_meta: bool = False,
        mtime: float | None = None,
        format: Any = None,
    ) -> None:
        if isinstance(fileobj, os.PathLike):
            fileobj = os.fspath(fileobj)
        compressor = _COMPRESSORS.get(self.tarmode(fileobj, compress))
        self.user, self.group, self.mode, self.mtime = user, group, mode, mtime
        self.compress, self.keep_meta = compress, keep_meta
        self.encoder = make_encoder(encoder)
        self._encode = _encode_field(encoder)
        whole_seconds = None if mtime is None else int(mtime)
        if whole_seconds is not None and whole_seconds < 0:
            raise ValueError(f"mtime {mtime} is before 1970")
        self.own_fileobj = gopen(fileobj, "wb") if isinstance(fileobj, str) else None
        self.stream = fileobj if self.own_fileobj is None else self.own_fileobj
        self._compressed = compressor(self.stream) if compressor else None
        sink = self.stream if self._compressed is None else self._compressed
        self._writer: SampleWriter | None = SampleWriter(
            sink.write, user, group, mode, whole_seconds
        )

    def __enter__(self) -> TarWriter:
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends the archive, and closes what was opened here. A second time does nothing."""
        writer, self._writer = self._writer, None
        try:
            if writer is not None:
                writer.finish()
            if self._compressed is not None:
                self._compressed.close()
            if hasattr(self.stream, "flush") and not getattr(self.stream, "closed", False):
                self.stream.flush()  # ShardWriter's `post` may read the file next
        finally:
            own, self.own_fileobj = self.own_fileobj, None
            if own is not None:
                own.close()

    def write(self, obj: Any) -> int:
        """Writes one sample and returns its bytes of content.

        Raises ValueError, and writes nothing, when there is no `__key__` or a field has no bytes.
        """
        if self._writer is None:
            raise OSError("the TarWriter is closed")
        if self._encode is None:
            obj = self.encoder(obj)
        sample = obj if type(obj) is dict else _as_dict(obj)
        return self._writer.write(sample, self._encode, self.keep_meta)

    @staticmethod
    def tarmode(fileobj: Any, compress: bool | str | None = None) -> str:
        """The mode in tarfile's terms: `w|`, `w|gz`, `w|bz2` or `w|xz`."""
        name = fileobj if isinstance(fileobj, str) and compress is not False else ""
        if compress is True:
            return "w|gz"
        for kind in ("gz", "bz2", "xz"):
            if compress == kind or name.endswith(kind):
                return f"w|{kind}"
        return "w|"


def _as_dict(sample: Any) -> Sample:
    if not isinstance(sample, Mapping):
        raise AttributeError(f"a sample is a dictionary, not {type(sample).__name__}")
    return dict(sample)


def _encode_field(encoder: Any) -> Callable[[Any, str], Any] | None:
    """For encoders that go field by field: what the engine asks for values that need one."""
    if encoder is True:
        encoder = default_handlers
    if not isinstance(encoder, dict):
        return None
    handlers = encoder
    return lambda value, field: encode_based_on_extension1(value, field, handlers)


class ShardWriter:
    """Writes samples to numbered shards, and begins the next one when one is full.

        with ShardWriter("train-%06d.tar", maxcount=10_000) as sink:
            for sample in samples:
                sink.write(sample)

    pattern: `pattern % number` names a shard.
    maxcount, maxsize: samples, and bytes of content, at which a shard is full.
    post: called with the name of each finished shard.
    start_shard: the first number.
    verbose: a line for each shard on stdout.
    opener: name -> stream, instead of `gopen`. The stream is left open.
    **kw: for TarWriter.
    """

    def __init__(
        self,
        pattern: str,
        maxcount: int = 100000,
        maxsize: float = 3e9,
        post: Callable[[str], Any] | None = None,
        start_shard: int = 0,
        verbose: int = 1,
        opener: Callable[[str], Any] | None = None,
        **kw: Any,
    ) -> None:
        self.pattern, self.maxcount, self.maxsize = pattern, maxcount, maxsize
        self.post, self.verbose, self.opener, self.kw = post, verbose, opener, kw
        self.shard = start_shard  # the number of the next one
        self.total = self.count = self.size = 0
        self.fname: str | None = None
        self.tarstream: TarWriter | None = None
        self.next_stream()

    def next_stream(self) -> None:
        """Ends the shard and begins the next."""
        self.finish()
        self.fname = self.pattern % self.shard
        if self.verbose:
            size = f"{self.size / 1e9:.1f} GB"
            print("# writing", self.fname, self.count, size, self.total)
        self.shard += 1
        target = self.opener(self.fname) if self.opener else self.fname
        self.tarstream = TarWriter(target, **self.kw)
        self.count = self.size = 0

    def write(self, obj: Any) -> None:
        """Writes one sample; see TarWriter.write."""
        if self.tarstream is None or self.count >= self.maxcount or self.size >= self.maxsize:
            self.next_stream()
        assert self.tarstream is not None
        self.size += self.tarstream.write(obj)
        self.count += 1
        self.total += 1

    def finish(self) -> None:
        """Ends the shard; a later write begins the next."""
        stream, self.tarstream = self.tarstream, None
        if stream is None:
            return
        stream.close()
        if callable(self.post):
            self.post(self.fname)  # type: ignore[arg-type]

    def close(self) -> None:
        """Ends the last shard."""
        self.finish()

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, *args: Any, **kw: Any) -> None:
        self.close()
