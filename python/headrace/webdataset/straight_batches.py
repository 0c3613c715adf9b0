"""Batches made in C++ where only Headrace's own stages stand between the shards and the batch.

    shards -> [samples -> shuffle -> decode -> rename -> to_tuple -> batched]

Samples are no Python objects there, nor are their fields: columns are made from the fields' bytes.
What the stages do to samples with certain keys is found out by running them over the keys. Samples
that are not plain (a field is missing, damaged, a picture that only Pillow reads …) go through the
stages themselves, one by one: what these skip, raise and make is their business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from .. import _native
from .autodecode import UNDECODED, Decoder
from .collation import batch_options, combine_values, default_collation_fn
from .compat import check_empty, complain_of_nothing
from .currying import FilterFunction, pipeline
from .fields import _rename, _to_tuple
from .handlers import reraise_exception
from .mapping import _map
from .shuffling import _shuffle, detshuffle, shuffled_records
from .tariterators import records_of_streams, samples_of_streams, tarfile_records, tarfile_samples

_SOURCES: dict[Any, Callable[..., Any]] = {
    samples_of_streams: records_of_streams,
    tarfile_samples: tarfile_records,
}


class StraightBatches:
    """A stage that does what these do: a source, shuffles and checks, stages on fields, `batched`.

    `threads`: that decode pictures ahead.
    """

    def __init__(
        self, source: Any, orders: list[Any], fields: list[Any], batched: Any, threads: int
    ) -> None:
        self._source = source
        self._orders = orders
        self._fields = fields
        self._batched = batched
        self._threads = threads

    def __call__(self, data: Iterable[Any]) -> Iterator[Any]:
        records = _SOURCES[self._source.f](data, *self._source.args, **self._source.kw)
        for stage in self._orders:
            records = _ordered(records, stage)
        size, _, partial = batch_options(*self._batched.args, **self._batched.kw)
        fields = _Fields(self._fields)
        batches = _native.ColumnBatches(
            records, fields, fields.pictures(), self._threads, size, partial
        )
        return (batch for batch in batches)


def _ordered(records: Any, stage: Any) -> Any:
    """What a stage makes of the stream that leaves samples as they are."""
    if stage is check_empty:
        return _native.CheckedRecords(records, complain_of_nothing)
    if isinstance(stage, detshuffle):
        rng = stage.next_generator()
        return shuffled_records(records, stage.bufsize, stage.initial, rng=rng)
    assert stage.f is _shuffle
    return shuffled_records(records, *stage.args, **stage.kw)


class _Field(NamedTuple):
    """A field of a sample that is not there: one of the keys, and what is done to it."""

    place: int
    kind: str
    key: str


class _OddError(Exception):
    """The stages do to such a field what C++ does not."""


class _Fields:
    """The stages that work on the fields of a sample, as C++ asks them."""

    combine = staticmethod(combine_values)
    collate = staticmethod(default_collation_fn)

    def __init__(self, stages: list[Any]) -> None:
        self._stages = stages
        self._decoder = next(filter(None, map(decoder_of, stages)), None)
        self._decoded: list[_Field] = []

    def pictures(self) -> Any:
        """What decodes pictures in C++."""
        images = self._decoder.picture_handler() if self._decoder is not None else None
        return images.pictures() if images is not None else None

    def finished(self, array: Any) -> Any:
        """The array of a picture, or of a batch of them, as the image spec wants it."""
        assert self._decoder is not None
        images = self._decoder.picture_handler()
        assert images is not None
        return images.finished(array)

    def plan(self, keys: list[str]) -> tuple[Any, list[_Field], int] | None:
        """What becomes of samples with these keys: (names or None for tuples, fields, columns).

        Behind the columns come fields that are decoded for nothing but their errors. None: the
        stages must see such samples.
        """
        self._decoded = []
        sample = {key: _Field(place, "value", key) for place, key in enumerate(keys)}
        try:
            (result,) = pipeline(iter([sample]), *map(self._on_keys, self._stages))
        except Exception:  # which a sample will raise again
            return None
        columns = list(result.values()) if isinstance(result, dict) else list(result)
        if not columns or not all(isinstance(field, _Field) for field in columns):
            return None
        names = tuple(result) if isinstance(result, dict) else None
        besides = [f for f in self._decoded if f.kind != "value" and f not in columns]
        return names, columns + besides, len(columns)

    def _on_keys(self, stage: Any) -> Any:
        """The stage as it runs over keys: nothing is decoded, and no handler is asked."""
        if decoder_of(stage) is not None:
            return FilterFunction(_map, self._marked)
        if stage.f in (_to_tuple, _rename) and "handler" in stage.kw:
            return FilterFunction(
                stage.f, *stage.args, **{**stage.kw, "handler": reraise_exception}
            )
        return stage

    def _marked(self, sample: dict[str, _Field]) -> dict[str, _Field]:
        """As `Decoder.decode`: what would be done to the fields."""
        assert self._decoder is not None
        result = {}
        for key, field in sample.items():
            kind = self._decoder.kind_in_columns(key)
            renamed = key != field.key and (key in UNDECODED or field.key in UNDECODED)
            if kind is None or renamed:
                raise _OddError(key)
            result[key] = _Field(field.place, kind, key)
        self._decoded = list(result.values())
        return result

    def decode(self, key: str, data: bytes) -> Any:
        """A field of kind "function"."""
        assert self._decoder is not None
        return self._decoder.decode1(key, data)

    def finish(self, sample: dict[str, Any], ready: dict[str, Any]) -> list[Any] | None:
        """[what the stages make of a sample]; []: they leave it out; None: one of them has stopped.

        `ready`: its pictures that are decoded.
        """
        is_read = False

        def source() -> Iterator[Any]:
            nonlocal is_read
            yield sample
            is_read = True

        def on_sample(stage: Any) -> Any:
            decoder = decoder_of(stage)
            if decoder is None:
                return stage
            return FilterFunction(_map, lambda one: decoder.decode_rest(one, ready), **stage.kw)

        for value in pipeline(source(), *map(on_sample, self._stages)):
            return [value]
        return [] if is_read else None


def decoder_of(stage: Any) -> Decoder | None:
    """That of a `decode` stage."""
    if isinstance(stage, FilterFunction) and stage.f is _map and len(stage.args) == 1:
        return stage.args[0] if type(stage.args[0]) is Decoder else None
    return None
