"""Reshaping: shuffle, split, merge and two passes beside `cp` of the same bytes, in turn; what a
killed job still has to do."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from jobs import Bench, samples_in, tar_files
from programs import HEADRACE
from rounds import Contender, Goal, Table, take_turns


def reshape(bench: Bench) -> list[Table]:
    """Into the page cache of one file system; nobody waits for the disk."""
    with tempfile.TemporaryDirectory(dir=bench.inputs.root) as scratch:
        return [
            bytes_table(bench, bench.inputs.photo_shards, "photographs", Path(scratch)),
            samples_table(bench, bench.inputs.small, Path(scratch)),
            resume_table(bench, bench.inputs.photo_shards, Path(scratch)),
        ]


def seconds(command: list[object], out: Path, before: Callable[[], None] = lambda: None) -> float:
    shutil.rmtree(out, ignore_errors=True)
    before()
    os.sync()  # nobody waits within the measured time for what was written before
    begin = time.perf_counter()
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    return time.perf_counter() - begin


def best_of_two(
    measure: Callable[[], float], best: Callable[[float, float], float] = max
) -> Callable[[], float]:
    """The first run also pays for what the contender before it left to the disk, which is not the
    same for all: without this, `cp` after the two passes takes up to five times as long."""
    return lambda: best(measure(), measure())


def verb(bench: Bench, source: Path, out: Path, *words: object) -> list[object]:
    threads = ["-j", bench.threads]
    return [HEADRACE, words[0], source, "--out", out, "--no-fsync", "-q", *threads, *words[1:]]


def bytes_table(bench: Bench, source: Path, what: str, scratch: Path) -> Table:
    shards, out = tar_files(source), scratch / "out"
    size = sum(path.stat().st_size for path in shards)

    def rate(*words: object) -> Callable[[], float]:
        def measure() -> float:
            bench.warm(shards)
            return size / seconds(verb(bench, source, out, *words), out) / 1e6

        return best_of_two(measure)

    def copy() -> float:
        bench.warm(shards)
        return size / seconds(["cp", *shards, out], out, out.mkdir) / 1e6

    tenth = ["--algorithm", "buckets", "--memory", size // 10]
    table = Table(
        "reshape",
        f"Reshape the {what}: the same bytes in another order or other shards",
        "MB/s",
        [
            Contender("cp", best_of_two(copy), kind="limit",
                      note="of the same shards, one process"),
            Contender("headrace shuffle", rate("shuffle"), kind="ours", note="checksums, index"),
            Contender("headrace split", rate("split", "--shards", 64), kind="ours"),
            Contender("headrace merge", rate("merge", "--shards", 1), kind="ours"),
            Contender("headrace shuffle, two passes", rate("shuffle", *tenth), kind="ours",
                      note="memory for a tenth of the data"),
        ],
    )  # fmt: skip
    take_turns(table.contenders, bench.rounds)
    limit = table["cp"].median
    table.goals = [
        Goal(f"{name} / cp", table[f"headrace {name}"].median / limit, wanted)
        for name, wanted in (
            *(("shuffle", 0.8), ("split", 0.8), ("merge", 0.8)),
            ("shuffle, two passes", 0.4),
        )
    ]
    return table


def samples_table(bench: Bench, source: Path, scratch: Path) -> Table:
    shards, out, samples = tar_files(source), scratch / "out", samples_in(source)

    def rate(*words: object) -> Callable[[], float]:
        def measure() -> float:
            bench.warm(shards)
            return samples / seconds(verb(bench, source, out, *words), out)

        return best_of_two(measure)

    def copy() -> float:
        bench.warm(shards)
        return samples / seconds(["cp", *shards, out], out, out.mkdir)

    table = Table(
        "reshape_small",
        f"Shuffle {samples:,} small samples",
        "samples/s",
        [
            Contender(
                "cp", best_of_two(copy), kind="limit", note="of the same shards, one process"
            ),
            Contender("headrace shuffle", rate("shuffle"), kind="ours"),
        ],
    )
    take_turns(table.contenders, bench.rounds)
    table.goals = [Goal("samples a second", table["headrace shuffle"].median, 300_000)]
    return table


def resume_table(bench: Bench, source: Path, scratch: Path) -> Table:
    """Of 60 shards 54 are there. As people run it, with its waits for the disk; and without, where
    what a process needs to start is a large part of the rest."""
    out = scratch / "out"

    def pair(suffix: str, command: list[object]) -> list[Contender]:
        def whole() -> float:
            bench.warm(tar_files(source))
            return seconds(command, out)

        def kill() -> None:
            words = [str(word) for word in command]
            killed = subprocess.run(words, env={**os.environ, "HEADRACE_CRASH_AT": "recorded:54"})
            if killed.returncode != -signal.SIGKILL:
                raise SystemExit("the job was not killed")

        def rest() -> float:
            bench.warm(tar_files(source))
            return seconds(command, out, kill)

        return [
            Contender("whole" + suffix, best_of_two(whole, min), kind="limit"),
            Contender(
                "the rest" + suffix, best_of_two(rest, min), kind="peer" if suffix else "ours"
            ),
        ]

    fast = verb(bench, source, out, "shuffle", "--shards", 60)
    table = Table(
        "reshape_resume",
        "Go on with a shuffle of the photographs that was killed at 90 %",
        "s",
        [
            *pair("", [word for word in fast if word != "--no-fsync"]),
            *pair(", --no-fsync", fast),
        ],
        less_is_better=True,
        ratios=False,
    )
    take_turns(table.contenders, bench.rounds)
    share = table["the rest"].median / table["whole"].median
    table.goals = [Goal("the rest / whole", share, 0.15, at_most=True)]
    return table
