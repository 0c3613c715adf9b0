"""Batches: samples into columns, and back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from .fields import dict2tuple, tuple2dict

_END = object()


def combine_values(
    b: list[Any] | tuple[Any, ...], combine_tensors: bool = True, combine_scalars: bool = True
) -> Any:
    """One column: numbers and arrays become an array, tensors a tensor, all else a list."""
    first = b[0]
    if isinstance(first, (bytes, str)):
        return list(b)
    if isinstance(first, (int, float)):
        import numpy as np

        return np.array(list(b)) if combine_scalars else list(b)
    if not combine_tensors:
        return list(b)
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(first, torch.Tensor):
        _check_shapes(b)
        return torch.stack(list(b))
    if numpy is not None and isinstance(first, numpy.ndarray):
        _check_shapes(b)
        return numpy.array(list(b))
    return list(b)


def _check_shapes(b: Iterable[Any]) -> None:
    shapes = {tuple(x.shape) for x in b}
    assert len(shapes) == 1, f"all shapes must be equal in collation, got {shapes}"


def default_collation_fn(
    samples: list[Any], combine_tensors: bool = True, combine_scalars: bool = True
) -> Any:
    """Tuples to a tuple of columns, dictionaries to a dictionary of columns.

    Plain tuples and dictionaries become columns in C++, as do Python's numbers and equal arrays of
    plain numbers in them; what else a column holds is for `combine_values`.
    """
    if type(samples) is list:
        from .. import _native

        options = (bool(combine_tensors), bool(combine_scalars))
        columns = _native.collate(samples, *options, combine_values)
        if columns is not None:
            return columns
    return _collated(samples, combine_tensors, combine_scalars)


def _collated(samples: Any, combine_tensors: bool, combine_scalars: bool) -> Any:
    """The same of anything with places or keys."""
    rows = [tuple2dict(sample) for sample in samples]
    keys = rows[0].keys()
    assert all(row.keys() == keys for row in rows), "keys don't match in different samples"
    columns = {
        key: combine_values([row[key] for row in rows], combine_tensors, combine_scalars)
        for key in keys
    }
    return dict2tuple(columns) if isinstance(samples[0], (list, tuple)) else columns


def _batched(
    data: Iterable[Any],
    batchsize: int = 20,
    collation_fn: Callable[[list[Any]], Any] | None = default_collation_fn,
    partial: bool = True,
) -> Iterator[Any]:
    """Batches of `batchsize`, and what is left over if `partial`."""
    items = iter(data)
    first = next(items, _END)
    while first is not _END:
        batch = [first, *islice(items, max(0, batchsize - 1))]
        if len(batch) < batchsize and not partial:
            return
        # Asked for first: an error of the source comes before the batch that it follows.
        first = next(items, _END)
        yield batch if collation_fn is None else collation_fn(batch)


def batch_options(
    batchsize: int = 20,
    collation_fn: Callable[[list[Any]], Any] | None = default_collation_fn,
    partial: bool = True,
) -> tuple[int, Callable[[list[Any]], Any] | None, bool]:
    """What the arguments of a `batched` stage say."""
    return batchsize, collation_fn, partial


def _unbatched(data: Iterable[Any]) -> Iterator[Any]:
    """A tuple of columns into tuples, a dictionary of columns into dictionaries."""
    for sample in data:
        if isinstance(sample, (tuple, list)):
            for i in range(len(sample[0])):
                yield tuple(column[i] for column in sample)
        elif isinstance(sample, dict):
            lengths = {len(column) for column in sample.values()}
            assert len(lengths) == 1, lengths
            for i in range(lengths.pop()):
                yield {key: column[i] for key, column in sample.items()}
        else:
            raise ValueError(f"unknown sample type: {type(sample)}")


def _unlisted(data: Iterable[Any]) -> Iterator[Any]:
    """The items of lists."""
    for batch in data:
        assert isinstance(batch, list), batch
        yield from batch
