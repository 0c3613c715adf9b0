"""The jobs: who takes part in each, and what we want to reach.

A job is a function from a Bench to its tables.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from inputs import Inputs
from programs import HEADRACE
from rounds import Contender, Goal, Table, python, take_turns
from webdataset_job import webdataset

SHARD_BYTES = 64 << 20
PROCESS_MEMORY = 150 << 20  # Python, numpy, indexes: what may come on top of the batches


@dataclass(frozen=True)
class Memory:
    """Of one process, in bytes."""

    peak_rss: int
    slots: int  # the batches' part


@dataclass
class Bench:
    inputs: Inputs
    io_limit: Path
    rounds: int
    seconds: float  # a contender reads for in a round
    threads: int
    memory: dict[str, Memory] = field(default_factory=dict)  # of the readers of ours

    def warm(self, paths: list[Path]) -> None:
        """Brings files that the system has dropped back into the page cache."""
        self.limit_once(paths, "read", self.threads)

    def read(self, reader: str, place: Path) -> float:
        """Rows a second."""
        self.warm(all_files(place))
        done = python("reader_process.py", reader, place, self.threads, self.seconds)
        if "slot_bytes" in done:
            self.memory[reader] = Memory(done["peak_rss"], done["slot_bytes"])
        return done["rows"] / done["seconds"]

    def reader(self, name: str, reader: str, place: Path, **more: str) -> Contender:
        return Contender(name, lambda: self.read(reader, place), **more)

    def limit_once(self, paths: list[Path], *arguments: object) -> float:
        """Seconds of io_limit over the files."""
        command = [str(self.io_limit), *map(str, arguments)]
        names = "\n".join(map(str, paths))
        done = subprocess.run(command, input=names, capture_output=True, text=True, check=True)
        return float(done.stdout.split()[0])

    def rate_of(self, paths: list[Path], rows: int, *arguments: object) -> float:
        """Rows a second of io_limit; for as long as the readers, after a first."""
        self.warm(paths)
        times: list[float] = []
        while sum(times) < self.seconds:
            times.append(self.limit_once(paths, *arguments))
        return rows * len(times) / sum(times)

    def reading_limit(self, paths: list[Path], rows: int) -> Contender:
        """If reading were all, and nothing were kept."""
        return Contender(
            f"limit: pread of the same files, {self.threads} threads",
            lambda: self.rate_of(paths, rows, "read", self.threads),
            kind="limit",
            note="in order, into one hot buffer of 1 MiB a thread; nothing is kept",
        )

    def process_limit(self, paths: list[Path], rows: int) -> Contender:
        """The same, from the start of the process to its end."""

        def measure() -> float:
            self.warm(paths)
            begin = time.perf_counter()
            self.limit_once(paths, "read", self.threads)
            return rows / (time.perf_counter() - begin)

        note = "in order, into one hot buffer of 1 MiB a thread; the whole process"
        name = f"limit: pread of the same files, {self.threads} threads"
        return Contender(name, measure, kind="limit", note=note)

    def rows_limit(self, paths: list[Path], rows: int) -> Contender:
        """If reading rows in another order and keeping them in batches were all."""
        size = sum(path.stat().st_size for path in paths) // rows
        return Contender(
            f"pread a row, shuffled, into memory of 4 batches, {self.threads} threads",
            lambda: self.rate_of(paths, rows, "rows", self.threads, size),
            kind="limit",
            note="what any reader of batches does, without all else",
        )


def tar_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.tar"))


def all_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def samples_in(place: Path) -> int:
    done = subprocess.run([HEADRACE, "info", place, "--json"], capture_output=True, check=True)
    return int(json.loads(done.stdout)["samples"])


# --- Reading -------------------------------------------------------------------------------------


def photos(bench: Bench) -> list[Table]:
    place = bench.inputs.photo_shards
    title = "Photographs (86 KB JPEG and class), shuffled, raw bytes in batches of 256 to Python"
    table = Table(
        "photos",
        title,
        "photos/s",
        [
            bench.reading_limit(tar_files(place), samples_in(place)),
            bench.rows_limit(tar_files(place), samples_in(place)),
            bench.reader(
                f"Headrace, {bench.threads} threads", "headrace_batches", place, kind="ours"
            ),
            bench.reader(
                f"Headrace, {bench.threads} threads, batches of 64",
                "headrace_small_batches",
                place,
            ),
            bench.reader("WebDataset, not shuffled", "webdataset_photos", place),
            bench.reader("WebDataset, shuffle(1000)", "webdataset_photos_shuffled", place),
            bench.reader(
                f"WebDataset, shuffle(1000), {bench.threads} workers",
                "webdataset_photos_workers",
                place,
                note="WebLoader: processes",
            ),
            bench.reader(
                "MosaicML Streaming, shuffled",
                "mosaicml",
                bench.inputs.of("mds", "photos"),
                note="converted to MDS",
            ),
            bench.reader(
                f"Grain, shuffled, {bench.threads} threads",
                "grain",
                bench.inputs.of("array-record", "photos"),
                note="converted to ArrayRecord, group_size:1",
            ),
        ],
    )
    take_turns(table.contenders, bench.rounds)
    limit, _, _, small_batches, *_ = table.contenders
    table.goals = [
        Goal("share of the limit", table.times_faster(limit), 0.8),
        Goal("share of the limit, batches of 64", table.ratio(small_batches, limit), 0.8),
        Goal("times WebDataset, not shuffled", table.times_faster("WebDataset, not shuffled"), 2.5),
        memory_goal(bench, "headrace_batches"),
    ]
    return [table]


def memory_goal(bench: Bench, reader: str) -> Goal:
    """The whole process, against the batches in flight and a fixed share for the rest."""
    memory = bench.memory[reader]
    text = f"MiB at the peak of our process, of which batches {memory.slots / 2**20:.0f}"
    allowed = memory.slots + PROCESS_MEMORY
    return Goal(text, memory.peak_rss / 2**20, allowed / 2**20, at_most=True)


def small(bench: Bench) -> list[Table]:
    place = bench.inputs.small
    title = "Small samples (2 KB and an integer class), shuffled, decoded columns in batches of 256"
    table = Table(
        "small",
        title,
        "samples/s",
        [
            bench.reading_limit(tar_files(place), samples_in(place)),
            bench.reader(
                f"Headrace, {bench.threads} threads", "headrace_columns", place, kind="ours"
            ),
            bench.reader("WebDataset, not shuffled", "webdataset_columns", place),
            bench.reader("WebDataset, shuffle(1000)", "webdataset_columns_shuffled", place),
            bench.reader(
                "MosaicML Streaming, shuffled",
                "mosaicml",
                bench.inputs.of("mds", "small"),
                note="converted to MDS",
            ),
            bench.reader(
                f"Grain, shuffled, {bench.threads} threads",
                "grain",
                bench.inputs.of("array-record", "small"),
                note="converted to ArrayRecord, group_size:1",
            ),
        ],
    )
    take_turns(table.contenders, bench.rounds)
    shuffled = table.times_faster("WebDataset, shuffle(1000)")
    table.goals = [
        Goal("samples a second", table.ours.median, 500_000),
        Goal("times WebDataset, shuffled", shuffled, 40),
        memory_goal(bench, "headrace_columns"),
    ]
    return [table]


def one_by_one(bench: Bench) -> list[Table]:
    place = bench.inputs.small
    title = "The same small samples one by one, in order: key and bytes as Python objects"
    table = Table(
        "one_by_one",
        title,
        "samples/s",
        [
            bench.reader("Headrace, samples()", "headrace_samples", place, kind="ours"),
            bench.reader("Python's tarfile", "tarfile_samples", place),
            bench.reader("WebDataset, not shuffled", "webdataset_samples", place),
        ],
    )
    take_turns(table.contenders, bench.rounds)
    table.goals = [Goal("samples a second", table.ours.median, 200_000)]
    return [table]


def loose(bench: Bench) -> list[Table]:
    place, index = bench.inputs.photo_shards, bench.inputs.photos_index
    title = "What packing gains: the same photographs packed, and as loose files"
    files = all_files(bench.inputs.photos)
    table = Table(
        "loose",
        title,
        "photos/s",
        [
            bench.reader("Headrace, packed", "headrace_batches", place, kind="ours"),
            bench.reader("Headrace, loose files", "headrace_batches", index),
            bench.reading_limit(files, len(files)),
        ],
    )
    table.contenders[-1].name = f"limit: readv of the loose files, {bench.threads} threads"
    take_turns(table.contenders, bench.rounds)
    return [table]


def verify(bench: Bench) -> list[Table]:
    return [
        verify_table(bench, "photos", "the photographs", bench.inputs.photo_shards),
        verify_table(bench, "small", "the small samples", bench.inputs.small),
    ]


def verify_table(bench: Bench, name: str, what: str, place: Path) -> Table:
    """From the start of the process to its end, like packing."""
    shards, rows = tar_files(place), samples_in(place)
    command = [HEADRACE, "verify", place, "--threads", str(bench.threads), "--quiet"]

    def measure() -> float:
        bench.warm(shards)
        begin = time.perf_counter()
        subprocess.run(command, check=True)
        return rows / (time.perf_counter() - begin)

    title = f"Verifying {what}: every byte, header and place against the manifest"
    ours = Contender("headrace verify", measure, kind="ours")
    table = Table("verify_" + name, title, "samples/s", [bench.process_limit(shards, rows), ours])
    take_turns(table.contenders, bench.rounds)
    table.goals = [Goal("share of the limit", table.times_faster(table.contenders[0]), 0.8)]
    return table


def listing(bench: Bench) -> list[Table]:
    """From the start of the process to its end; names go to /dev/null."""
    place = bench.inputs.small
    shards = tar_files(place)
    members = 2 * samples_in(place)
    index = bench.inputs.root / "listed-index"
    each_tar = 'for shard; do tar tf "$shard"; done'

    def rate(*command: object) -> Callable[[], float]:
        def measure() -> float:
            bench.warm(shards)
            shutil.rmtree(index, ignore_errors=True)
            begin = time.perf_counter()
            words = list(map(str, command))
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            return members / (time.perf_counter() - begin)

        return measure

    make = ("index", place, "--out", index, "--quiet", "--threads", bench.threads)
    table = Table(
        "listing",
        f"List {members:,} members of small samples",
        "members/s",
        [
            bench.process_limit(shards, members),
            Contender("tar tf", rate("sh", "-c", each_tar, "sh", *shards)),
            Contender("headrace ls", rate(HEADRACE, "ls", place), kind="ours"),
            Contender("headrace ls --members", rate(HEADRACE, "ls", place, "--members"),
                      note="from the headers themselves"),
            Contender("headrace index", rate(HEADRACE, *make), note="with checksums of all bytes"),
            Contender("headrace index --no-checksums", rate(HEADRACE, *make, "--no-checksums")),
        ],
    )  # fmt: skip
    take_turns(table.contenders, bench.rounds)
    shutil.rmtree(index, ignore_errors=True)
    tar = table["tar tf"].median
    table.goals = [
        Goal(f"{verb} / tar tf", table[f"headrace {verb}"].median / tar, 10)
        for verb in ("ls", "index")
    ]
    return [table]


def functions(bench: Bench) -> list[Table]:
    place = bench.inputs.rows
    table = Table(
        "functions",
        "A light numpy function on rows of 200 KB, shuffled, 2 worker processes, batches of 64",
        "rows/s",
        [
            bench.reader("Headrace, 2 workers", "headrace_functions", place, kind="ours"),
            bench.reader("Headrace, in the process itself", "headrace_functions_here", place),
            bench.reader(
                "DataLoader, 2 workers, a file a row", "torch_files", place, note="np.load"
            ),
            bench.reader(
                "DataLoader, 2 workers, one mapped array",
                "torch_mapped",
                place,
                note="nothing to read or parse: the least it can do",
            ),
            bench.reader(
                "WebDataset, shuffle(1000), 2 workers",
                "webdataset_functions",
                place,
                note="the shards that we read",
            ),
        ],
    )
    take_turns(table.contenders, bench.rounds)
    table.goals = [
        Goal(f"times {name}", table.times_faster(name), 3)
        for name in (
            "WebDataset, shuffle(1000), 2 workers",
            "DataLoader, 2 workers, a file a row",
            "DataLoader, 2 workers, one mapped array",
        )
    ]
    return [table]


# --- Packing -------------------------------------------------------------------------------------


def pack(bench: Bench) -> list[Table]:
    photos = pack_table(
        bench,
        bench.inputs.photos,
        "pack_photos",
        "Packing 8,708 photographs, with checksums and index",
        0.9,
    )
    small = pack_table(
        bench,
        bench.inputs.small_files,
        "pack_small",
        "Packing 100,000 small files (50,000 samples), with checksums and index",
        1.2,
    )
    return [photos, small]


def pack_table(bench: Bench, source: Path, name: str, title: str, times_tar: float) -> Table:
    out = bench.inputs.root / "out"
    files = all_files(source)

    def prepare() -> None:
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        bench.warm(files)
        os.sync()  # nobody waits within the measured time for what was written before

    def command(*arguments: object) -> Callable[[], float]:
        def measure() -> float:
            prepare()
            begin = time.perf_counter()
            subprocess.run(list(map(str, arguments)), check=True)
            return time.perf_counter() - begin

        return measure

    def headrace(*more: str) -> Callable[[], float]:
        common = (HEADRACE, "pack", source, "--out", out / "shards", "--quiet")
        return command(*common, "--shard-size", SHARD_BYTES, "--threads", bench.threads, *more)

    def limit() -> float:
        prepare()
        return bench.limit_once(files, "copy", bench.threads, out / "copy")

    def shard_writer() -> float:
        prepare()
        done = python("shard_writer.py", source, out / "shards", SHARD_BYTES)
        return float(done["seconds"])

    table = Table(
        name,
        title,
        "s",
        [
            Contender(
                f"limit: readv and write of the same bytes, {bench.threads} threads",
                limit,
                kind="limit",
                note="one hot buffer a thread; no names, no checksums",
            ),
            Contender("headrace pack --no-fsync", headrace("--no-fsync"), kind="ours"),
            Contender("headrace pack", headrace(), note="waits for the disk"),
            Contender(
                "tar cf",
                command("tar", "cf", out / "all.tar", "-C", source, "."),
                note="no checksums, no index, does not wait for the disk",
            ),
            Contender("WebDataset ShardWriter", shard_writer, note="does not wait for the disk"),
        ],
        less_is_better=True,
    )
    take_turns(table.contenders, bench.rounds)
    shutil.rmtree(out)
    table.goals = [
        Goal("times tar cf", table.times_faster("tar cf"), times_tar),
        Goal("times ShardWriter", table.times_faster("WebDataset ShardWriter"), 5),
    ]
    return table


# --- Starting ------------------------------------------------------------------------------------


def start(bench: Bench) -> list[Table]:
    place = bench.inputs.photo_shards
    seen: dict[str, dict[str, float]] = {}

    def first(library: str, place: Path) -> Callable[[], float]:
        def measure() -> float:
            seen[library] = python("start_process.py", library, place)
            return seen[library]["first"] * 1000

        return measure

    libraries = (
        ("headrace", "Headrace", place, "ours"),
        ("webdataset", "WebDataset, shuffle(1000)", place, "peer"),
        ("mosaicml", "MosaicML Streaming", bench.inputs.of("mds", "photos"), "peer"),
    )
    firsts, imports = [], []
    for library, name, data, kind in libraries:
        firsts.append(Contender(name, first(library, data), kind=kind))
        imports.append(
            Contender(
                f"import {'streaming' if library == 'mosaicml' else library}",
                lambda library=library: seen[library]["import"] * 1000,
                kind=kind,
            )
        )
    # Each import is measured in the same process as the first batch just before it.
    pairs = zip(firsts, imports, strict=True)
    take_turns([each for pair in pairs for each in pair], bench.rounds)
    title = "From opening to the first raw batch of 256 photographs, in a fresh process"
    batch = Table("first_batch", title, "ms", firsts, less_is_better=True)
    batch.goals = [Goal("milliseconds", batch.ours.median, 50, at_most=True)]
    load = Table(
        "import", "Import, in a fresh process that has numpy", "ms", imports, less_is_better=True
    )
    load.goals = [Goal("milliseconds", load.ours.median, 100, at_most=True)]
    return [batch, load]


def resume(bench: Bench) -> list[Table]:
    return [
        resume_table(bench, "photos", bench.inputs.photo_shards),
        resume_table(bench, "small samples", bench.inputs.small),
    ]


def resume_table(bench: Bench, what: str, place: Path) -> Table:
    seen: dict[str, float] = {}
    turn = iter(range(1, 1000))

    def resumed() -> float:
        seen.update(python("resume_process.py", place, next(turn)))
        return seen["resume"] * 1000

    table = Table(
        "resume_" + what.split()[0],
        f"First batch of 256 {what} after load_state_dict at 10 random positions, and cold",
        "ms",
        [
            Contender("Headrace, resumed", resumed, kind="ours"),
            Contender("Headrace, cold", lambda: seen["cold"] * 1000),
        ],
        less_is_better=True,
    )
    take_turns(table.contenders, bench.rounds)
    table.goals = [
        Goal(
            "times a cold first batch", 1 / table.times_faster("Headrace, cold"), 1.1, at_most=True
        )
    ]
    return table


JOBS: dict[str, Callable[[Bench], list[Table]]] = {
    job.__name__: job
    for job in (
        photos,
        small,
        one_by_one,
        functions,
        verify,
        listing,
        pack,
        start,
        resume,
        loose,
        webdataset,
    )
}
