"""Data sets: random access by number and key, plain iteration, and the first step to a loader."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, overload

from . import _native
from .errors import ChangedError, NotFoundError, UsageError
from .notes import warn_of_notes
from .pipeline import Pipeline, Steps
from .recipes import Field

Location = str | os.PathLike[str]

Sample = _native.Sample


def open(
    location: Location | Sequence[Location],
    *,
    key: str = "webdataset",
    cache: Literal["memory", "off"] | Location | None = None,
    threads: int = 0,
) -> Dataset:
    """Opens a data set: a folder with a manifest, shards (tar, zip, Parquet), or loose files.

    Shards without a manifest are indexed now, in memory; `headrace index` does that once for all.

    Args:
        location: a path or URL, a brace range ("train-{000..009}.tar"), a glob, "@list.txt", or a
            list of them, which together are one data set in the order given.
        key: how file names become keys and fields where there is no manifest: "webdataset",
            "base", "path", "flat", or a regex with the groups `key` and `field`.
        cache: a folder on a local disk, which all processes of the node share, for what is read of
            remote data sets; by default that of HEADRACE_CACHE, if it is set; "off" for none.
            "memory" keeps everything that was read in memory, for sets that fit.
        threads: that index shards without a manifest; 0: as many as there are processors.

    Raises:
        NotFoundError: there is nothing (it is a FileNotFoundError, too).
        DataError: a manifest or shard is damaged; the error names it.

    Example:
        >>> ds = hr.open("shards/")
        >>> len(ds), ds[0].key, ds[0]["cls"]
        (1000, 'a/000', b'7')
    """
    locations = [location] if isinstance(location, (str, os.PathLike)) else location
    if not isinstance(locations, Iterable) or isinstance(locations, (bytes, bytearray)):
        raise TypeError(f"location is a str, a path or a list of them, not {location!r}")
    locations = list(locations)
    if not locations:
        raise UsageError("there is no location to open")
    if not isinstance(cache, (str, os.PathLike, type(None))):
        raise UsageError(f"cache is a folder, 'memory' or 'off', not {cache!r}")
    paths = [os.fspath(place) for place in locations]
    return _open(paths, key, None if cache is None else os.fspath(cache), threads)


def _open(
    paths: list[str],
    key: str,
    cache: str | None,
    threads: int,
    fingerprint: str | None = None,
    selections: tuple[tuple[str, tuple[Any, ...]], ...] = (),
) -> Dataset:
    native = _native.open(
        paths,
        key_rule=key,
        cache_in_memory=cache == "memory",
        threads=int(threads),
        cache_folder="" if cache in (None, "memory") else cache,
    )
    warn_of_notes(stacklevel=3)
    dataset = Dataset(native, (paths, key, cache, threads))
    for how, arguments in selections:
        dataset = dataset._selected(how, *arguments)
    if fingerprint is not None and dataset.fingerprint != fingerprint:
        raise ChangedError(f"the data set at {native.name} is not the one that was pickled")
    return dataset


class Dataset(Steps, Sequence[Any]):
    """An open data set. Immutable; any number of threads may use it at once.

    As a sequence: `len(ds)`, `ds[17]`, `ds[-1]`, `ds[10:20]` (a view that reads nothing yet),
    `ds["a/key"]`, iteration. As the source of a loader: `.shuffle()`, `.decode()`, `.batch()`,
    `.loader()`. Pickling keeps where it lies, not what it holds.
    """

    def __init__(
        self,
        native: _native.Dataset,
        opened: tuple[list[str], str, str | None, int],
        selections: tuple[tuple[str, tuple[Any, ...]], ...] = (),
    ) -> None:
        self._native = native
        self._opened = opened
        self._selections = selections
        self._shards: list[str] | None = None
        self._warned = False

    def __len__(self) -> int:
        return len(self._native)

    @property
    def fields(self) -> list[str]:
        """The names of the fields that samples have."""
        return self._native.fields

    @property
    def classes(self) -> list[str]:
        """The name of each class, by label; empty without labels."""
        return self._native.classes

    @property
    def fingerprint(self) -> str:
        """The identity of the data: equal for equal shards, wherever they lie."""
        return self._native.fingerprint

    @property
    def shards(self) -> list[str]:
        """Path or URL of every shard, in manifest order."""
        if self._shards is None:
            count = self._native.shard_count
            self._shards = [self._native.shard_name(number) for number in range(count)]
        return list(self._shards)

    @overload
    def __getitem__(self, item: int | str) -> Sample: ...
    @overload
    def __getitem__(self, item: slice) -> View: ...
    def __getitem__(self, item: int | str | slice) -> Sample | View:
        """Sample number `item` or with key `item`; a slice gives a light view.

        Bytes of a key that are not UTF-8 are surrogate escapes, as in `os.fsdecode`.

        Raises:
            IndexError: there is no such number.
            NotFoundError: no sample has this key (it is a KeyError, too).
            UsageError: several samples have this key; `find` gives them all.
        """
        if isinstance(item, slice):
            return View(self, range(len(self))[item])
        if isinstance(item, str):
            return self._by_key(item)
        return self._native.sample(range(len(self))[item])

    def find(self, key: str) -> list[Sample]:
        """Every sample with this key, in manifest order; empty if there is none."""
        return [self._native.sample_at(*place) for place in self._native.find(key)]

    def __contains__(self, key: object) -> bool:
        """Whether a sample has this key."""
        return isinstance(key, str) and bool(self._native.find(key))

    def __iter__(self) -> Iterator[Sample]:
        return self.samples()

    def samples(self) -> Iterator[Sample]:
        """All samples in manifest order, read ahead in large spans; bytes are made when asked for.

        Example:
            >>> for sample in ds.samples():
            ...     sample.key, sample["jpg"]
        """
        return _native.SampleIterator(self._native, 0, len(self))

    def cache_stats(self) -> dict[str, Any]:
        """What this process read of this data set through the node's cache, in bytes: hit_bytes
        (from the cache), fetched_bytes (from the store, and kept), streamed_bytes (from the store,
        not kept); damaged (pieces of cache files that were damaged and fetched again); trouble (why
        something was not kept, or ""). All zero without a cache.
        """
        return self._native.cache_counters()

    def _warn(self) -> None:
        """Says once what keeps the cache from working, and what else was noted meanwhile."""
        warn_of_notes(stacklevel=4)
        trouble = self._native.cache_counters()["trouble"]
        if trouble and not self._warned:
            self._warned = True
            warnings.warn(trouble, RuntimeWarning, stacklevel=3)

    def __repr__(self) -> str:
        size = _native.format_bytes(self._native.bytes)
        return (
            f"Dataset({self._native.name!r}, {len(self):,} samples, "
            f"{self._native.shard_count:,} shards, {size}, fields {', '.join(self.fields)})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _open, (*self._opened, self.fingerprint, self._selections)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def select(
        self,
        where: Callable[[str], object] | None = None,
        *,
        keys: Iterable[str] | None = None,
        share: tuple[float, float] | None = None,
        seed: int = 0,
    ) -> Dataset:
        """The data set of some of the samples, in the same order, with a fingerprint of its own.
        Nothing is copied or packed anew; orders, epochs and states are exact as ever.

        Reads the whole index once, and keeps a bit a sample. Several arguments: all must hold.

        Args:
            where: called with each key; kept is what gives true. Keep it picklable if the data
                set is to be pickled, and pure: ranks must agree.
            keys: of the samples to keep; unknown ones do not matter.
            share: of the keys, by hash: `(0, 0.9)` and `(0.9, 1)` divide a data set without
                overlap. A key is always on the same side, also in other or repacked data sets.
            seed: of the hash; another one is another division.

        Example:
            >>> train, held_out = ds.select(share=(0, 0.9)), ds.select(share=(0.9, 1))
            >>> cats = ds.select(lambda key: key.startswith("cat/"))
        """
        if where is None and keys is None and share is None:
            raise UsageError("select() needs where, keys= or share=")
        selected = self
        if share is not None:
            selected = selected._selected("select_hash", *map(float, share), int(seed))
        if keys is not None:
            selected = selected._selected("select_keys", frozenset(keys).__contains__)
        if where is not None:
            selected = selected._selected("select_keys", where)
        return selected

    def _selected(self, how: str, *arguments: Any) -> Dataset:
        native = getattr(self._native, how)(*arguments)
        return Dataset(native, self._opened, (*self._selections, (how, arguments)))

    def _by_key(self, key: str) -> Sample:
        places = self._native.find(key)
        if not places:
            raise NotFoundError(f"no sample has the key {key!r}")
        if len(places) > 1:
            raise UsageError(
                f"{len(places)} samples have the key {key!r}", hint="find(key) gives them all."
            )
        return self._native.sample_at(*places[0])

    def _pipeline(self) -> Pipeline:
        return Pipeline(Mix([self], [], 0))


class View(Sequence[Any]):
    """Some samples of a data set, by number. Light: it reads a sample when it is looked at."""

    def __init__(self, dataset: Dataset, numbers: range) -> None:
        self._dataset = dataset
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, item: int) -> Sample: ...
    @overload
    def __getitem__(self, item: slice) -> View: ...
    def __getitem__(self, item: int | slice) -> Sample | View:
        if isinstance(item, slice):
            return View(self._dataset, self._numbers[item])
        return self._dataset[self._numbers[item]]

    def __iter__(self) -> Iterator[Sample]:
        return self.samples()

    def samples(self) -> Iterator[Sample]:
        """The samples in the order of the view."""
        numbers = self._numbers
        if numbers.step == 1:
            return _native.SampleIterator(self._dataset._native, numbers.start, numbers.stop)
        return (self._dataset[number] for number in numbers)

    def __repr__(self) -> str:
        numbers = self._numbers
        return f"View({self._dataset!r}, {numbers.start}:{numbers.stop}:{numbers.step})"


class Mix(Steps):
    """Data sets mixed by weight, the source of a loader. Made by `hr.mix`."""

    def __init__(self, sets: list[Dataset], weights: list[float], steps: int) -> None:
        self.sets = sets
        self.weights = weights
        self.steps = steps

    def _pipeline(self) -> Pipeline:
        return Pipeline(self)

    def __repr__(self) -> str:
        if not self.weights:
            return repr(self.sets[0])
        pairs = zip(self.sets, self.weights, strict=True)
        return f"Mix({', '.join(f'{w:g} x {s._native.name!r}' for s, w in pairs)})"


def mix(
    sets: Mapping[Any, float] | Sequence[Any],
    weights: Sequence[float] | None = None,
    *,
    steps: int = 0,
) -> Mix:
    """A mixture of data sets: a stated share of every batch from each, in expectation and in the
    long run.

    Each set counts its own epochs and gives each of its samples exactly once in each of them.

    Args:
        sets: data sets or locations, with their weights: {"a/": 0.7, "b/": 0.3}, or a list.
        weights: of the sets of a list; they need not add up to one.
        steps: an epoch of the mixture has; 0: until the longest set ends.

    Example:
        >>> hr.mix({"photos/": 0.7, "drawings/": 0.3}).shuffle(seed=1).batch(256).loader()
    """
    if isinstance(sets, Mapping):
        if weights is not None:
            raise UsageError("the weights are in the mapping already")
        weights, sets = list(sets.values()), list(sets)
    if weights is None or len(weights) != len(sets) or not sets:
        raise UsageError("a mixture has as many weights as data sets, and at least one")
    if not all(weight > 0 for weight in weights):
        raise UsageError(f"weights are above zero, not {list(weights)}")
    opened = [each if isinstance(each, Dataset) else open(each) for each in sets]
    return Mix(opened, [float(weight) for weight in weights], int(steps))


__all__ = ["Dataset", "Field", "Mix", "Sample", "View", "mix", "open"]
