"""Finds stages next to each other that run as one in C++."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from . import compat
from .autodecode import Decoder
from .collation import _unbatched, _unlisted
from .currying import FilterFunction
from .fields import _rename
from .handlers import Handler, reraise_exception
from .mapping import _map
from .pytorch import torch_data
from .shuffling import _shuffle, detshuffle
from .tariterators import group_by_keys, samples_of_streams, tar_file_expander, tarfile_samples

_EXPANDER_OPTIONS = {"handler", "select_files", "rename_files"}


def fused(stages: list[Any]) -> list[Any]:
    """The same stages, with some of them joined."""
    result: list[Any] = []
    for stage in stages:
        if result and _is_grouping(result[-1], stage):
            result[-1] = FilterFunction(samples_of_streams, **result[-1].kw)
        elif (ahead := _decoding_ahead(result, stage)) is not None:
            result.append(ahead)
        else:
            result.append(stage)
    return result


def _is_grouping(expander: Any, grouper: Any) -> bool:
    """Tar members, grouped by the default rule, with one handler for both."""
    return (
        isinstance(expander, FilterFunction)
        and isinstance(grouper, FilterFunction)
        and expander.f is tar_file_expander
        and grouper.f is group_by_keys
        and not expander.args
        and not grouper.args
        and set(expander.kw) <= _EXPANDER_OPTIONS
        and set(grouper.kw) <= {"handler"}
        and expander.kw.get("handler") is grouper.kw.get("handler")
    )


def _is_own(stage: Any) -> bool:
    """Whether samples may be asked for before they are needed: no user's function sees them."""
    if isinstance(stage, detshuffle) or stage is compat.check_empty:
        return True
    return isinstance(stage, FilterFunction) and stage.f in (
        _shuffle,
        _rename,
        _unbatched,
        _unlisted,
    )


def _decoding_ahead(before: list[Any], stage: Any) -> Any:
    """The decode stage with pictures decoded in threads, where that changes nothing else."""
    if not (isinstance(stage, FilterFunction) and stage.f is _map and len(stage.args) == 1):
        return None
    decoder = stage.args[0]
    if type(decoder) is not Decoder or (images := decoder.picture_handler()) is None:
        return None
    sources = [
        i
        for i, one in enumerate(before)
        if isinstance(one, FilterFunction) and one.f in (samples_of_streams, tarfile_samples)
    ]
    if not sources or not all(_is_own(one) for one in before[sources[-1] + 1 :]):
        return None
    threads = decoding_threads()
    if threads == 0 or images.pictures() is None:
        return None
    return FilterFunction(_decoded_ahead, decoder, threads, **stage.kw)


def decoding_threads() -> int:
    """HEADRACE_WDS_THREADS; else one a core up to four, and none in a DataLoader's worker."""
    if "HEADRACE_WDS_THREADS" in os.environ:
        return int(os.environ["HEADRACE_WDS_THREADS"])
    data = torch_data()
    if data is not None and data.get_worker_info() is not None:
        return 0
    own = getattr(os, "sched_getaffinity", None)
    return min(4, len(own(0)) if own else os.cpu_count() or 1)


def _decoded_ahead(
    data: Iterable[Any], decoder: Decoder, threads: int, handler: Handler = reraise_exception
) -> Iterator[Any]:
    from .. import _native

    images = decoder.picture_handler()
    assert images is not None

    def is_picture(key: str) -> bool:
        wanted = decoder.only is None or key in decoder.only
        return wanted and not key.startswith("__") and images.is_picture(key)

    ahead = _native.PicturesAhead(iter(data), images.pictures(), is_picture, threads)
    for sample, arrays in ahead:
        try:
            ready = {key: images.finished(array) for key, array in arrays.items()}
            result = decoder.decode_rest(sample, ready)
        except Exception as exn:
            if handler(exn):
                continue
            return
        result["__key__"] = sample.get("__key__")
        yield result
