"""Finds stages next to each other that run as one in C++."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator
from typing import Any

from . import compat
from .autodecode import Decoder
from .collation import _batched, batch_options, default_collation_fn
from .currying import FilterFunction
from .fields import _extract_keys, _rename, _rename_keys, _to_tuple
from .handlers import Handler, reraise_exception
from .pytorch import torch_data
from .shuffling import _shuffle, detshuffle
from .straight_batches import StraightBatches, decoder_of
from .tariterators import group_by_keys, samples_of_streams, tar_file_expander, tarfile_samples

_EXPANDER_OPTIONS = {"handler", "select_files", "rename_files"}


def fused(stages: list[Any]) -> list[Any]:
    """The same stages, with some of them joined."""
    result: list[Any] = []
    for stage in stages:
        if result and _is_grouping(result[-1], stage):
            result[-1] = FilterFunction(samples_of_streams, **result[-1].kw)
        elif (begin := _begin_of_batches(result, stage)) is not None:
            result[begin:] = [_straight_batches([*result[begin:], stage])]
        else:
            result.append(stage)
    return [_decoding_ahead(result[:i], stage) or stage for i, stage in enumerate(result)]


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


def _is_source(stage: Any) -> bool:
    return _is_stage(stage, samples_of_streams, tarfile_samples)


def _is_order(stage: Any) -> bool:
    """Whether it leaves samples as they are, and C++ does the same to the stream."""
    if stage is compat.check_empty or type(stage) is detshuffle:
        return True
    rng = stage.kw.get("rng") if _is_stage(stage, _shuffle) else stage
    return rng is None or (type(rng) is random.Random)


def _is_of_fields(stage: Any) -> bool:
    """Whether it decodes, chooses or renames fields, and no function of the user does it."""
    decoder = decoder_of(stage)
    if decoder is not None:
        return decoder.is_own()
    if _is_stage(stage, _rename):
        return not stage.args  # one may be a handler
    return _is_stage(stage, _to_tuple, _extract_keys, _rename_keys)


def _begin_of_batches(before: list[Any], stage: Any) -> int | None:
    """Where the stages begin that make batches in C++ with `stage` as the last; None: nowhere.

    source, stages of order, then stages of fields with at most one that decodes, and `batched`.
    """
    if not _is_stage(stage, _batched):
        return None
    size, collation, _ = batch_options(*stage.args, **stage.kw)
    if type(size) is not int or collation is not default_collation_fn:
        return None
    at = len(before)
    while at > 0 and _is_of_fields(before[at - 1]):
        at -= 1
    if sum(decoder_of(one) is not None for one in before[at:]) > 1:
        return None
    while at > 0 and _is_order(before[at - 1]):
        at -= 1
    return at - 1 if at > 0 and _is_source(before[at - 1]) else None


def _straight_batches(stages: list[Any]) -> StraightBatches:
    source, *others, batched = stages
    fields = [one for one in others if _is_of_fields(one)]
    orders = others[: len(others) - len(fields)]
    return StraightBatches(source, orders, fields, batched, decoding_threads())


def _decoding_ahead(before: list[Any], stage: Any) -> Any:
    """The decode stage with pictures decoded in threads, where that changes nothing else.

    Samples are then asked for before they are needed: no function of the user may see them.
    """
    decoder = decoder_of(stage)
    if decoder is None or (images := decoder.picture_handler()) is None:
        return None
    at = len(before)
    while at > 0 and (_is_order(before[at - 1]) or _is_stage(before[at - 1], _rename)):
        at -= 1
    threads = decoding_threads()
    if at == 0 or not _is_source(before[at - 1]) or threads == 0 or images.pictures() is None:
        return None
    return FilterFunction(_decoded_ahead, decoder, threads, **stage.kw)


def _is_stage(stage: Any, *functions: Any) -> bool:
    return isinstance(stage, FilterFunction) and stage.f in functions


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
