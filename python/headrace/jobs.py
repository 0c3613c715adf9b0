"""Jobs: what the program `headrace` does, from Python.

`pack` runs in this process. The others plan first, and give a `Job`, which has its own process:

    job = hr.jobs.shuffle("s3://bucket/set", "s3://bucket/new", seed=7, shard_size="256MiB")
    job                          # <Job to s3://bucket/new: running, 12 of 400 tasks>
    job.wait(progress=True)      # raises what went wrong; the same call goes on

Their options are the program's (`headrace shuffle --help`) with underscores: `multiple_of=32`,
`replace=True`. `engine` says who runs the tasks: "threads" of this machine, "ray" (with `address`)
or "slurm" (with `sbatch`, a list of its options).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from . import _native
from .dataset import Location
from .drivers.importable import importable
from .drivers.program import ask
from .errors import UsageError
from .job import Job, JobProgress

__all__ = [
    "Job",
    "JobProgress",
    "concat",
    "convert",
    "dedupe",
    "join",
    "map",
    "merge",
    "pack",
    "project",
    "rename",
    "resume",
    "select",
    "shuffle",
    "sort",
    "split",
    "zip",
]

Engine = Literal["threads", "ray", "slurm"]
#: One place, or several; as the program takes them.
Sources = Location | Sequence[Location]

_DEFAULT_SHARD_SIZE = "256MiB"
#: Options of running a plan; all others are of making it.
_OF_RUNNING = (
    "threads",
    "memory",
    "replace",
    "no_fsync",
    "verify",
    "address",
    "sbatch",
    "folder",
    "in_flight",
    "scratch",
)


def pack(
    sources: Sources,
    out: Location,
    *,
    key: str = "webdataset",
    label_from: Literal["folder", "parent"] | None = None,
    fields: Sequence[str] = (),
    measure: Mapping[str, Literal["pixels", "tokens", "frames", "value"]] | None = None,
    shard_size: int | str | None = None,
    samples: int = 0,
    shards: int = 0,
    name: str = "shard-%06d.tar",
    shuffle: int | None = None,
    folders: Literal["keep", "collapse"] | None = None,
    key_map: Location | None = None,
    on_unmapped: Literal["error", "drop-sample"] = "error",
    max_side: int = 0,
    quality: int = 90,
    raw: bool = False,
    jpeg: Literal["baseline", "baseline,strip"] | None = None,
    drop_corrupt: bool = False,
    on_error: Literal["error", "skip"] = "error",
    threads: int = 0,
    replace: bool = False,
    verify: bool = False,
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
        measure: what the index keeps of fields besides their bytes, for `bucket`: as {"jpg":
            "pixels"}. "tokens": elements of an npy array or a JSON list, else words between white
            space; "frames": the first axis of an npy array, sample frames of WAV and FLAC;
            "value": the whole number that the field says.
        shard_size: at most, in bytes or as "256MiB" (the default); or
        samples: in a shard, at most; or
        shards: exactly so many.
        name: of the shards, with %06d for the number.
        shuffle: a seed; each shard becomes a fair draw of the whole. None: the order of paths.
        folders: "keep": no shard holds samples of two folders; "collapse": what does not fill a
            shard goes up to the folder above, and shares shards there.
        key_map: a file that says which keys go to shards of which name, as `sort` takes it.
        on_unmapped: what to do with samples that it does not name.
        max_side: pixels: JPEG pictures whose longer side is longer shrink, and are written anew
            with `quality` (1 to 100). 0: none.
        raw: pictures are decoded, and their field becomes "npy": uint8, (height, width, channels).
        jpeg: "baseline": progressive JPEGs become baseline, with the same pixels; "baseline,strip":
            and without metadata.
        drop_corrupt: decode every picture, and leave out samples with one that cannot be decoded.
        on_error: what to do with files that cannot be read.
        threads: 0: as many as there are processors.
        replace: another data set in `out`.
        verify: read the shards back before they become a data set.

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
    if folders not in (None, "keep", "collapse"):
        raise UsageError(f"folders is 'keep' or 'collapse', not {folders!r}")
    _check_pictures(max_side, quality, jpeg)
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
            "measure": ",".join(f"{field}={unit}" for field, unit in (measure or {}).items()),
            "shard_bytes": _native.parse_bytes(str(shard_size)) if shard_size else 0,
            "samples": samples,
            "shards": shards,
            "name": name,
            "shuffle": shuffle is not None,
            "seed": shuffle or 0,
            "folders": folders or "",
            "key_map": os.fspath(key_map) if key_map else "",
            "drop_unmapped": on_unmapped == "drop-sample",
            "max_side": max_side,
            "quality": quality,
            "raw": raw,
            "jpeg": jpeg or "",
            "drop_corrupt": drop_corrupt,
            "skip_errors": on_error == "skip",
            "threads": threads,
            "replace": replace,
            "verify": verify,
        }
    )


def _check_pictures(max_side: int, quality: int, jpeg: str | None) -> None:
    if jpeg not in (None, "baseline", "baseline,strip"):
        raise UsageError(f"jpeg is 'baseline' or 'baseline,strip', not {jpeg!r}")
    if max_side < 0 or not 1 <= quality <= 100:
        raise UsageError("max_side is a number of pixels, and quality one from 1 to 100")


class Verb(Protocol):
    """A verb of the program as a function; its options are the program's."""

    def __call__(
        self, sources: Sources, out: Location, *, engine: Engine = "threads", **options: Any
    ) -> Job: ...


def _verb(name: str, does: str) -> Verb:
    def verb(sources: Sources, out: Location, *, engine: Engine = "threads", **options: Any) -> Job:
        return _begin(name, sources, out, engine, options)

    verb.__name__ = verb.__qualname__ = name
    verb.__doc__ = does
    return verb


shuffle = _verb("shuffle", "Writes all samples in one permutation of them, by `seed`.")
split = _verb("split", "Cuts anew, in order: by `shard_size`, `samples`, `shards`, `multiple_of`.")
merge = _verb("merge", "Makes fewer, larger shards, in order.")
concat = _verb("concat", "Writes data sets one after the other as one.")
select = _verb("select", "Writes what `keys`, `regex`, `where`, `fraction` or `parts` choose.")
sort = _verb("sort", "Writes all sorted: `by` key, size or a field, compared `as_` text, number, …")
dedupe = _verb(
    "dedupe", "Leaves out what equals an earlier sample, in all fields or those of `by`."
)
rename = _verb("rename", 'Gives fields other names: `fields="txt=caption"`; the others stay.')
project = _verb("project", 'Keeps the fields of `fields` alone, as "jpg,txt=caption".')
join = _verb("join", "Makes one sample of those that have one key in several data sets.")
zip = _verb("zip", "Makes one sample of those at the same position in several data sets.")


def convert(
    sources: Sources,
    out: Location,
    *,
    container: Literal["tar", "tar.zst", "tgz", "tar.lz4", "zip"] | None = None,
    max_side: int = 0,
    quality: int = 90,
    raw: bool = False,
    jpeg: Literal["baseline", "baseline,strip"] | None = None,
    drop_corrupt: bool = False,
    engine: Engine = "threads",
    **options: Any,
) -> Job:
    """Writes all in another container, or with other pictures, in the same order.

    Args:
        sources: data sets.
        out: the destination.
        container: of the shards; None: as `name` ends, else tar.
        max_side, quality, raw, jpeg, drop_corrupt: what to do with pictures, as `pack` takes them.

    Returns:
        A job. What its `wait` returns lists samples left out in "skipped", and says in "pictures"
        what was gained, as `pack` does.

    Raises:
        UsageError: options that do not go together.

    Example:
        >>> hr.jobs.convert("shards", "small", max_side=256, drop_corrupt=True).wait()["samples"]
        10000
    """
    _check_pictures(max_side, quality, jpeg)
    image = ["raw-uint8"] if raw else []
    if max_side:
        image += [f"max-side={max_side}", f"quality={quality}"]
    said = {
        "container": container,
        "image": ",".join(image) or None,
        "jpeg": jpeg,
        "drop_corrupt": drop_corrupt,
    }
    return _begin("convert", sources, out, engine, {**said, **options})


def map(
    sources: Sources,
    out: Location,
    function: Callable[[dict[str, Any]], Any] | str | None = None,
    *,
    command: str | None = None,
    on_error: Literal["error", "skip"] = "error",
    engine: Engine = "threads",
    **options: Any,
) -> Job:
    """Runs a function or a command on each sample, in processes of their own.

    Args:
        sources: data sets.
        out: the destination.
        function: of a module that the processes can import, or "module:function". It gets
            {"__key__": str, "__number__": int, field: bytes, …} and returns such a dictionary
            (values are bytes, str or int), a list of them, or None to leave the sample out. Of
            several, those without a "__key__" of their own get KEY-000000, KEY-000001, …
        command: or this, run by sh in a temporary folder that holds the sample as `sample.FIELD`;
            `HEADRACE_KEY` and `HEADRACE_NUMBER` say which one it is. What it leaves there is the
            sample; `sample-NAME.FIELD` are further ones, with the key KEY-NAME.
        on_error: "skip" leaves out samples at which it fails.

    Raises:
        UsageError: neither of the two, or both; a function that no other process can import.

    Example:
        >>> hr.jobs.map("shards", "small", "thumbnails:shrink").wait()["samples"]
        10000
    """
    environment = None
    if callable(function):
        function, environment = importable(function)
    said = {"python": function, "command": command, "on_error": on_error}
    return _begin("map", sources, out, engine, {**said, **options}, environment)


def resume(plan: Location, *, engine: Engine = "threads", **options: Any) -> Job:
    """Goes on with a plan, by its place or by the destination of a job that was stopped.

    Raises:
        NotFoundError: there is none; a job that ended removes a plan that lies at its destination.
    """
    status = ask("status", os.fspath(plan))
    return Job({**status, "place": os.fspath(plan)}, engine, _flags(options))


def _begin(
    verb: str,
    sources: Sources,
    out: Location,
    engine: Engine,
    options: dict[str, Any],
    environment: dict[str, str] | None = None,
) -> Job:
    running = {name: options.pop(name) for name in _OF_RUNNING if name in options}
    planning = {name: running[name] for name in ("threads",) if name in running}
    places = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    flags = _flags({"out": os.fspath(out), **options, **planning})
    planned = ask("plan", verb, *(os.fspath(place) for place in places), *flags)
    return Job(planned, engine, _flags(running), environment)


def _flags(options: dict[str, Any]) -> list[str]:
    """{"multiple_of": 32, "replace": True, "sbatch": ["-p", "cpu"]} as the program wants it."""
    flags = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")  # as_ for what Python keeps for itself
        if value is True:
            flags.append(flag)
        elif isinstance(value, (list, tuple)):
            flags += [f"{flag}={each}" for each in value]
        elif value is not None and value is not False:
            flags.append(f"{flag}={value}")
    return flags
