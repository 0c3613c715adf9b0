"""The readers under test: each gives batches of rows to Python, as its own documentation advises.

A reader is a function (place, threads) -> passes, where calling `passes()` starts one pass over the
data (an epoch) and yields the number of rows of each batch, after it has touched the batch as a
training loop would: the bytes or the array are there, in Python. Imports happen inside, so that a
process loads nothing but the library it measures.
"""

from __future__ import annotations

import glob
import struct
import tarfile
from collections.abc import Callable, Iterator
from typing import Any

from function_readers import FUNCTION_READERS
from image_readers import IMAGE_READERS

BATCH = 256
BUFFER = 1000  # of WebDataset's shuffle, as in its documentation

Passes = Callable[[], Iterator[int]]
Reader = Callable[[str, int], Passes]


def shards(place: str) -> list[str]:
    return sorted(glob.glob(f"{place}/*.tar"))


# --- Headrace ------------------------------------------------------------------------------------


def headrace_batches(place: str, threads: int) -> Passes:
    """Every field as a column of raw bytes, shuffled."""
    import headrace as hr

    loader = hr.open(place).shuffle(seed=7).batch(BATCH).loader(threads=threads)
    return _raw_columns(loader)


def headrace_small_batches(place: str, threads: int) -> Passes:
    """The same, 64 a batch: those under way fit in the processor's last cache."""
    import headrace as hr

    return _raw_columns(hr.open(place).shuffle(seed=7).batch(64).loader(threads=threads))


def _raw_columns(loader: Any) -> Passes:
    def passes() -> Iterator[int]:
        for batch in loader:
            for name in batch.fields:
                _ = batch[name].values, batch[name].offsets
            yield len(batch)

    passes.stats = loader.stats
    return passes


def headrace_columns(place: str, threads: int) -> Passes:
    """Small samples: the payload as bytes, the class as an integer, shuffled."""
    import headrace as hr

    loader = (
        hr.open(place)
        .shuffle(seed=7)
        .decode(payload=hr.bytes("bin"), label=hr.integer("cls"))
        .batch(BATCH)
        .loader(threads=threads)
    )

    def passes() -> Iterator[int]:
        for batch in loader:
            _ = batch["payload"].values, batch["payload"].offsets, batch["label"]
            yield len(batch)

    passes.stats = loader.stats
    return passes


def headrace_samples(place: str, threads: int) -> Passes:
    """Plain iteration: key, payload and class as Python objects, in order."""
    import headrace as hr

    ds = hr.open(place)

    def passes() -> Iterator[int]:
        for sample in ds.samples():
            _ = sample.key, sample["bin"], sample["cls"]
            yield 1

    return passes


# --- WebDataset ----------------------------------------------------------------------------------


def webdataset_photos(place: str, threads: int) -> Passes:
    import webdataset as wds

    ds = wds.WebDataset(shards(place), shardshuffle=False).to_tuple("jpg", "cls").batched(BATCH)
    return lambda: (len(photos) for photos, _ in ds)


def webdataset_photos_shuffled(place: str, threads: int) -> Passes:
    import webdataset as wds

    ds = wds.WebDataset(shards(place), shardshuffle=100).shuffle(BUFFER)
    ds = ds.to_tuple("jpg", "cls").batched(BATCH)
    return lambda: (len(photos) for photos, _ in ds)


def webdataset_photos_workers(place: str, threads: int) -> Passes:
    import webdataset as wds

    ds = wds.WebDataset(shards(place), shardshuffle=100).shuffle(BUFFER)
    ds = ds.to_tuple("jpg", "cls").batched(BATCH)
    loader = wds.WebLoader(ds, batch_size=None, num_workers=threads)
    return lambda: (len(photos) for photos, _ in loader)


def webdataset_columns(place: str, threads: int) -> Passes:
    import webdataset as wds

    ds = wds.WebDataset(shards(place), shardshuffle=False)
    ds = ds.to_tuple("bin", "cls").map_tuple(bytes, int).batched(BATCH)
    return lambda: (len(labels) for _, labels in ds)


def webdataset_columns_shuffled(place: str, threads: int) -> Passes:
    import webdataset as wds

    ds = wds.WebDataset(shards(place), shardshuffle=100).shuffle(BUFFER)
    ds = ds.to_tuple("bin", "cls").map_tuple(bytes, int).batched(BATCH)
    return lambda: (len(labels) for _, labels in ds)


def webdataset_samples(place: str, threads: int) -> Passes:
    import webdataset as wds

    ds = wds.WebDataset(shards(place), shardshuffle=False)

    def passes() -> Iterator[int]:
        for sample in ds:
            _ = sample["__key__"], sample["bin"], sample["cls"]
            yield 1

    return passes


# --- Others --------------------------------------------------------------------------------------


def tarfile_samples(place: str, threads: int) -> Passes:
    """Python's own module, two members a sample."""

    def passes() -> Iterator[int]:
        for shard in shards(place):
            with tarfile.open(shard) as archive:
                for number, member in enumerate(archive):
                    file = archive.extractfile(member)
                    _ = member.name, file.read()
                    if number % 2:
                        yield 1

    return passes


def mosaicml(place: str, threads: int) -> Passes:
    """Converted to MDS beforehand (bytes and int columns, no compression), shuffled by py1e."""
    from streaming import StreamingDataLoader, StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    clean_stale_shared_memory()
    ds = StreamingDataset(local=place, shuffle=True, shuffle_seed=7, batch_size=BATCH)
    loader = StreamingDataLoader(ds, batch_size=BATCH, num_workers=0)
    return lambda: (len(batch["payload"]) for batch in loader)


def grain(place: str, threads: int) -> Passes:
    """Converted to ArrayRecord beforehand, with group_size:1 as Grain asks for."""
    import grain.python as pygrain

    source = pygrain.ArrayRecordDataSource(sorted(glob.glob(f"{place}/*.array_record")))
    ds = (
        pygrain.MapDataset.source(source)
        .shuffle(seed=7)
        .map(unpack_record)
        .batch(BATCH, batch_fn=columns_of)
        .to_iter_dataset(pygrain.ReadOptions(num_threads=threads))
    )
    return lambda: (len(batch["payload"]) for batch in ds)


def pack_record(payload: bytes, label: int) -> bytes:
    return struct.pack("<q", label) + payload


def unpack_record(record: bytes) -> dict[str, Any]:
    return {"label": struct.unpack_from("<q", record)[0], "payload": record[8:]}


def columns_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    import numpy as np

    labels = np.array([row["label"] for row in rows])
    return {"payload": [row["payload"] for row in rows], "label": labels}


READERS: dict[str, Reader] = (
    FUNCTION_READERS
    | IMAGE_READERS
    | {
        reader.__name__: reader
        for reader in (
            headrace_batches,
            headrace_small_batches,
            headrace_columns,
            headrace_samples,
            webdataset_photos,
            webdataset_photos_shuffled,
            webdataset_photos_workers,
            webdataset_columns,
            webdataset_columns_shuffled,
            webdataset_samples,
            tarfile_samples,
            mosaicml,
            grain,
        )
    }
)
