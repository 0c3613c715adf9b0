"""Jobs: what the program `headrace` does, from Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

from . import _native
from .dataset import Location
from .errors import UsageError

_DEFAULT_SHARD_SIZE = "256MiB"


def pack(
    sources: Location | Sequence[Location],
    out: Location,
    *,
    key: str = "webdataset",
    label_from: Literal["folder", "parent"] | None = None,
    fields: Sequence[str] = (),
    shard_size: int | str | None = None,
    samples: int = 0,
    shards: int = 0,
    name: str = "shard-%06d.tar",
    shuffle: int | None = None,
    max_side: int = 0,
    quality: int = 90,
    raw: bool = False,
    jpeg: Literal["baseline", "baseline,strip"] | None = None,
    drop_corrupt: bool = False,
    on_error: Literal["error", "skip"] = "error",
    threads: int = 0,
    replace: bool = False,
) -> dict[str, Any]:
    """Packs files into tar shards with an index and a manifest, as `headrace pack` does.

    Stopped at any moment, the same call again finishes the work.

    Args:
        sources: folders, files, or "@list.txt".
        out: the destination folder.
        key: how file names become keys and fields: "webdataset", "base", "path", "flat", or a
            regex with the groups `key` and `field`.
        label_from: adds a field `cls` from the name of a folder: the first one below the source,
            or the one that holds the file.
        fields: take only these; empty: all.
        shard_size: at most, in bytes or as "256MiB" (the default); or
        samples: in a shard, at most; or
        shards: exactly so many.
        name: of the shards, with %06d for the number.
        shuffle: a seed; each shard becomes a fair draw of the whole. None: the order of paths.
        max_side: pixels: JPEG pictures whose longer side is longer shrink, and are written anew
            with `quality` (1 to 100). 0: none.
        raw: pictures are decoded, and their field becomes "npy": uint8, (height, width, channels).
        jpeg: "baseline": progressive JPEGs become baseline, with the same pixels; "baseline,strip":
            and without metadata.
        drop_corrupt: decode every picture, and leave out samples with one that cannot be decoded.
        on_error: what to do with files that cannot be read.
        threads: 0: as many as there are processors.
        replace: another data set in `out`.

    Returns:
        Counts and what was noticed: samples, files, bytes, shards, shards_resumed,
        complete_before, fingerprint, classes, notes, corrupt_samples; and, where pictures were
        changed, "pictures": pictures, changed, bytes_before, bytes_after, and the seconds that
        decoding `timed` of them takes on one thread, decode_seconds_before and _after.

    Raises:
        UsageError: two files for one field of a sample, or options that do not go together.
        ChangedError: a file changed or vanished meanwhile.

    Example:
        >>> hr.pack("photos/", "shards/", label_from="folder", shuffle=1)["samples"]
        10000
    """
    if sum(bool(limit) for limit in (shard_size, samples, shards)) > 1:
        raise UsageError("give one of shard_size, samples and shards")
    if jpeg not in (None, "baseline", "baseline,strip"):
        raise UsageError(f"jpeg is 'baseline' or 'baseline,strip', not {jpeg!r}")
    if max_side < 0 or not 1 <= quality <= 100:
        raise UsageError("max_side is a number of pixels, and quality one from 1 to 100")
    if not (shard_size or samples or shards):
        shard_size = _DEFAULT_SHARD_SIZE
    places = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    return _native.pack(
        {
            "sources": [os.fspath(place) for place in places],
            "out": os.fspath(out),
            "key": key,
            "label_from": label_from or "",
            "fields": list(fields),
            "shard_bytes": _native.parse_bytes(str(shard_size)) if shard_size else 0,
            "samples": samples,
            "shards": shards,
            "name": name,
            "shuffle": shuffle is not None,
            "seed": shuffle or 0,
            "max_side": max_side,
            "quality": quality,
            "raw": raw,
            "jpeg": jpeg or "",
            "drop_corrupt": drop_corrupt,
            "skip_errors": on_error == "skip",
            "threads": threads,
            "replace": replace,
        }
    )
