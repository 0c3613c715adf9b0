"""From shards to samples: opening, tar members, grouping by key.

A tar member `dir/name.seg.jpg` is the field `seg.jpg` of the sample `dir/name`; members next to
each other with one key make a sample. The stages may be used one by one, with dictionaries between
them, or as one, `tarfile_samples`, which runs in C++.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import _native
from . import utils
from .currying import pipelinefilter
from .gopen import gopen
from .handlers import Handler, reraise_exception
from .tar_source import open_members, open_shard

trace = False
meta_prefix = "__"
meta_suffix = "__"

Names = Callable[[str], Any]
_ANY_META = "__[^/]*__($|/)"


def base_plus_ext(path: str) -> tuple[str | None, str | None]:
    """Key and extension: the path up to, and behind, the first dot of its last part."""
    match = re.match(r"^((?:.*/|)[^.]+)[.]([^/]*)$", path)
    return (match[1], match[2]) if match else (None, None)


def valid_sample(sample: Any) -> bool:
    """A dictionary with something in it that is not marked `__bad__`."""
    return (
        sample is not None
        and isinstance(sample, dict)
        and len(sample) > 0
        and not sample.get("__bad__", False)
    )


def shardlist(urls: Any, *, shuffle: bool = False) -> Iterator[dict[str, Any]]:
    """Dictionaries with the `url` of each shard."""
    from .expansion import expand_urls

    names = expand_urls(urls)
    if shuffle:
        import random

        random.shuffle(names)
    for url in names:
        yield {"url": url}


def url_opener(
    data: Iterable[dict[str, Any]], handler: Handler = reraise_exception, **kw: Any
) -> Iterator[dict[str, Any]]:
    """Adds an open `stream` to each dictionary with a `url`."""
    for sample in data:
        assert isinstance(sample, dict), sample
        assert "url" in sample
        try:
            sample.update(stream=gopen(sample["url"], **kw))
        except Exception as exn:
            exn.args = (*exn.args, sample["url"])
            if handler(exn):
                continue
            break
        yield sample


def tar_file_iterator(
    fileobj: Any,
    skip_meta: str | None = _ANY_META,
    handler: Handler = reraise_exception,
    select_files: Names | None = None,
    rename_files: Names | None = None,
) -> Iterator[dict[str, Any]]:
    """{"fname": name, "data": bytes} of each regular file in an archive (plain, gz, bz2, xz)."""
    members = open_members(fileobj, skip_meta == _ANY_META, select_files, rename_files)
    while True:
        try:
            for name, data in members:
                if skip_meta and skip_meta != _ANY_META and re.match(skip_meta, name):
                    continue
                yield {"fname": name, "data": data}
            return
        except Exception as exn:
            exn.args = (*exn.args, fileobj)
            if not handler(exn):
                return


def tar_file_expander(
    data: Iterable[dict[str, Any]],
    handler: Handler = reraise_exception,
    select_files: Names | None = None,
    rename_files: Names | None = None,
    eof_value: Any = {},  # noqa: B006 (part of the interface)
) -> Iterator[dict[str, Any]]:
    """The members of each open shard, with its `__url__`; `eof_value` between shards."""
    for source in data:
        url = source["url"]
        local_path = source.get("local_path")
        try:
            assert isinstance(source, dict)
            assert "stream" in source
            for sample in tar_file_iterator(
                source["stream"], select_files=select_files, rename_files=rename_files
            ):
                sample["__url__"] = url
                if local_path is not None:
                    sample["__local_path__"] = local_path
                yield sample
            if eof_value is not None:
                yield eof_value
        except Exception as exn:
            exn.args = (*exn.args, source.get("stream"), source.get("url"))
            if not handler(exn):
                break


def group_by_keys(
    data: Iterable[dict[str, Any]],
    keys: Callable[[str], tuple[Any, Any]] = base_plus_ext,
    lcase: bool = True,
    suffixes: set[str] | None = None,
    handler: Handler = reraise_exception,
) -> Iterator[dict[str, Any]]:
    """Members next to each other with one key become a sample."""
    current: dict[str, Any] | None = None
    for filesample in data:
        try:
            assert isinstance(filesample, dict)
            if filesample == {}:
                if valid_sample(current):
                    yield current  # type: ignore[misc]
                current = None
                continue
            fname, value = filesample["fname"], filesample["data"]
            prefix, suffix = keys(fname)
            if prefix is None:
                continue
            if lcase and suffix is not None:
                suffix = suffix.lower()
            if current is None or prefix != current["__key__"]:
                if valid_sample(current):
                    yield current  # type: ignore[misc]
                current = {"__key__": prefix}
                if "__url__" in filesample:
                    current["__url__"] = filesample["__url__"]
            if suffix in current:
                raise ValueError(f"{fname}: duplicate file name in tar file {suffix}")
            if suffixes is None or suffix in suffixes:
                current[suffix] = value
                if filesample.get("__local_path__") is not None:
                    current["__local_path__"] = filesample["__local_path__"]
        except Exception as exn:
            exn.args = (*exn.args, filesample.get("stream"), filesample.get("url"))
            if not handler(exn):
                break
    if valid_sample(current):
        yield current  # type: ignore[misc]


def samples_of_streams(
    data: Iterable[dict[str, Any]],
    handler: Handler = reraise_exception,
    select_files: Names | None = None,
    rename_files: Names | None = None,
) -> Iterator[dict[str, Any]]:
    """tar_file_expander and group_by_keys in one, in C++."""
    shards = open_shards(data, handler)
    yield from _native.TarSamples(shards, select_files, rename_files)


def records_of_streams(
    data: Iterable[dict[str, Any]],
    handler: Handler = reraise_exception,
    select_files: Names | None = None,
    rename_files: Names | None = None,
) -> Any:
    """The same samples without a Python object each, for batches made in C++."""
    return _native.TarRecords(open_shards(data, handler), select_files, rename_files)


def open_shards(
    data: Iterable[dict[str, Any]], handler: Handler = reraise_exception
) -> Iterator[Any]:
    """What C++ reads samples from, shard by shard; it throws the errors of reading in here.

    The answer to one is True (go on behind the member, or with what there is of the last sample) or
    False (only with the latter).
    """
    for source in data:
        stream, url = source["stream"], source["url"]
        following: Any = None
        is_read = False
        try:
            while True:
                try:
                    if following is None:
                        following = open_shard(stream, url, source.get("local_path"))
                    yield following
                    is_read = True
                    if not utils.strict_compat():
                        stream.close()  # says how a command ended
                    break
                except Exception as exn:
                    exn.args = (*exn.args, stream, url)
                    if handler(exn):
                        if following is None or is_read:
                            break
                        following = True
                        continue
                    if following is not None and not is_read:
                        yield False
                    return
        finally:
            _close_quietly(stream)


def _close_quietly(stream: Any) -> None:
    """The shard's end has been told already, or nobody waits for it."""
    with contextlib.suppress(Exception):
        stream.close()


def tarfile_samples(
    src: Iterable[dict[str, Any]],
    handler: Handler = reraise_exception,
    select_files: Names | None = None,
    rename_files: Names | None = None,
) -> Iterable[dict[str, Any]]:
    """Samples of the shards with these `url`s, opened by `gopen`."""
    streams = url_opener(src, handler=handler)
    return samples_of_streams(streams, handler, select_files, rename_files)


def tarfile_records(
    src: Iterable[dict[str, Any]],
    handler: Handler = reraise_exception,
    select_files: Names | None = None,
    rename_files: Names | None = None,
) -> Any:
    """The same samples without a Python object each."""
    streams = url_opener(src, handler=handler)
    return records_of_streams(streams, handler, select_files, rename_files)


tarfile_to_samples = pipelinefilter(tarfile_samples)
