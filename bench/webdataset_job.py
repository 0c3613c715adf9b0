"""The job `webdataset`: the same scripts under either import."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from programs import HEADRACE
from rounds import Contender, Goal, Table, python, take_turns

if TYPE_CHECKING:
    from jobs import Bench

REAL, OURS = "import webdataset", "import headrace.webdataset"
IMPORTS = {REAL: "webdataset", OURS: "headrace.webdataset"}


def webdataset(bench: Bench) -> list[Table]:
    small, photos = bench.inputs.small, bench.inputs.photo_shards
    return [
        pair(bench, "dictionaries", small, "samples/s", "small samples as dictionaries", 10),
        shuffled(bench, small),
        indexing(bench, small),
        pair(
            bench,
            "worker_batches",
            small,
            "samples/s",
            "the same in 2 workers of torch's DataLoader",
        ),
        pair(
            bench,
            "array_batches",
            bench.inputs.small_arrays,
            "samples/s",
            'arrays of 2 KB, .shuffle(1000).decode().to_tuple("npy", "cls").batched(256)',
        ),
        pictures(bench, photos),
        pair(
            bench,
            "picture_batches",
            photos,
            "photos/s",
            'photographs, .shuffle(1000).decode("rgb8").to_tuple("jpg", "cls").batched(64)',
        ),
        pair(
            bench,
            "augmented",
            photos,
            "photos/s",
            '.decode("pil").map_tuple(torchvision: crop, flip) in 2 workers',
            1.2,
        ),
        costs(photos),
        collation(),
        writing(bench),
        *starting(bench, small),
    ]


def tar_files(place: Path) -> list[Path]:
    return sorted(place.glob("*.tar"))


def readers(bench: Bench, pipeline: str, place: Path) -> list[Contender]:
    return [
        bench.reader(OURS, f"our_{pipeline}", place, kind="ours"),
        bench.reader(REAL, f"real_{pipeline}", place),
    ]


def pair(
    bench: Bench, pipeline: str, place: Path, unit: str, title: str, wanted: float | None = None
) -> Table:
    table = Table(
        f"webdataset_{pipeline}", f"WebDataset: {title}", unit, readers(bench, pipeline, place)
    )
    take_turns(table.contenders, bench.rounds)
    if wanted is not None:
        table.goals = [Goal("times webdataset", table.times_faster(REAL), wanted)]
    return table


def shuffled(bench: Bench, place: Path) -> Table:
    """The ladder: the import changed, and then the exactly-once order."""
    exact = f"{OURS}, .exact(batch=256)"
    contenders = [
        *readers(bench, "shuffled_batches", place),
        bench.reader(exact, "our_exact_batches", place),
    ]
    title = "WebDataset: small samples, .shuffle(1000).to_tuple().batched(256)"
    table = Table("webdataset_shuffled_batches", title, "samples/s", contenders)
    take_turns(contenders, bench.rounds)
    table.goals = [Goal("times webdataset", table.times_faster(REAL), 15)]
    return table


def indexing(bench: Bench, place: Path) -> Table:
    out = bench.inputs.root / "webdataset-index"
    shards = tar_files(place)

    def measure() -> float:
        shutil.rmtree(out, ignore_errors=True)
        bench.warm(shards)
        begin = time.perf_counter()
        subprocess.run([HEADRACE, "index", place, "--out", out, "--quiet"], check=True)
        return time.perf_counter() - begin

    title = "WebDataset: headrace index of 200,000 small samples in 8 shards, with checksums"
    table = Table(
        "webdataset_index",
        title,
        "s",
        [Contender("headrace index", measure, kind="ours")],
        less_is_better=True,
    )
    take_turns(table.contenders, bench.rounds)
    shutil.rmtree(out, ignore_errors=True)
    return table


def pictures(bench: Bench, place: Path) -> Table:
    limit = bench.reader("limit: our decoder alone, in memory", "decoder_alone", place)
    limit.kind = "limit"
    contenders = [limit, *readers(bench, "pictures", place)]
    title = 'WebDataset: photographs, .decode("rgb8"), one process'
    table = Table("webdataset_pictures", title, "photos/s", contenders)
    take_turns(contenders, bench.rounds)
    table.goals = [
        Goal("times webdataset", table.times_faster(REAL), 1.5),
        Goal("share of the decoder alone", table.times_faster(limit), 0.9),
    ]
    return table


def costs(place: Path, samples: int = 400) -> Table:
    """Microseconds a sample; what we can change is in the first two."""
    rows = []
    for kind, (name, module) in zip(("peer", "ours"), IMPORTS.items(), strict=True):
        spent = python("webdataset_costs.py", module, place, samples)
        for stage, value in spent.items():
            row = Contender(f"{name}: {stage}", lambda value=value: value, kind="peer")
            row.kind = kind if stage == "transform" else "peer"
            rows.append(row)
    title = 'WebDataset: where the time of .decode("pil").map_tuple(torchvision) goes, one process'
    table = Table("webdataset_costs", title, "us", rows, less_is_better=True, ratios=False)
    take_turns(rows, 1)
    return table


def collation() -> Table:
    """Beside copying the same bytes into memory that is there."""
    spent = python("webdataset_collation.py")
    rows = [
        Contender(name, lambda value=value: value, kind="limit" if "limit" in name else "ours")
        for name, value in spent.items()
    ]
    title = "WebDataset: collating 64 pictures of 224 x 224 x 3 bytes, or 64 arrays of 500 numbers"
    table = Table("webdataset_collation", title, "us", rows, less_is_better=True, ratios=False)
    take_turns(rows, 1)
    return table


def writing(bench: Bench) -> Table:
    out = bench.inputs.root / "written.tar"

    def writer(module: str) -> Callable[[], float]:
        def measure() -> float:
            done = python("webdataset_writer.py", module, out, bench.seconds)
            return done["samples"] / done["seconds"]

        return measure

    table = Table(
        "webdataset_writer",
        "WebDataset: TarWriter, 2 KB and an integer class",
        "samples/s",
        [
            Contender(OURS, writer(IMPORTS[OURS]), kind="ours"),
            Contender(REAL, writer("webdataset")),
        ],
    )
    take_turns(table.contenders, bench.rounds)
    table.goals = [Goal("times webdataset", table.times_faster(REAL), 6)]
    return table


def starting(bench: Bench, place: Path) -> list[Table]:
    seen: dict[str, dict[str, float]] = {}

    def measure(module: str) -> Callable[[], float]:
        def seconds() -> float:
            seen[module] = python("webdataset_import.py", module, place)
            return seen[module]["seconds"]

        return seconds

    def memory(module: str) -> Callable[[], float]:
        return lambda: seen[module]["rss"] / 2**20

    kinds = {REAL: "peer", OURS: "ours"}
    times = [Contender(n, measure(module), kind=kinds[n]) for n, module in IMPORTS.items()]
    sizes = [Contender(n, memory(module), kind=kinds[n]) for n, module in IMPORTS.items()]
    take_turns([*times, *sizes], bench.rounds)
    time_table = Table(
        "webdataset_import",
        "WebDataset: import and building a pipeline, in a fresh process",
        "s",
        times,
        less_is_better=True,
    )
    time_table.goals = [Goal("seconds", time_table.ours.median, 0.15, at_most=True)]
    size_table = Table(
        "webdataset_rss", "WebDataset: memory after that", "MiB", sizes, less_is_better=True
    )
    size_table.goals = [Goal("MiB", size_table.ours.median, 60, at_most=True)]
    return [time_table, size_table]
