"""Planning jobs of 10^9 samples: the small data set with its real manifest and indexes, as many
times as that takes."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from jobs import Bench, samples_in, tar_files
from programs import HEADRACE
from rounds import Contender, Goal, Table, take_turns

SAMPLES = 10**9
VERBS = {
    "shuffle": (),
    "merge": ("--shards", 1000),  # of a million samples each
    "split": ("--shard-size", "256MiB"),  # looks at the size of every sample
}


def planning(bench: Bench) -> list[Table]:
    copies = -(-SAMPLES // samples_in(bench.inputs.small))
    shards = copies * len(tar_files(bench.inputs.small))
    most_memory = 0.0  # MiB, resident

    def measure(verb: str, place: Path) -> float:
        nonlocal most_memory
        shutil.rmtree(place, ignore_errors=True)
        words = [
            *("plan", verb, *[bench.inputs.small] * copies, *VERBS[verb]),
            *("--out", place / "out", "--plan", place / "plan", "-q", "-j", bench.threads),
        ]
        begin = time.perf_counter()
        process = subprocess.Popen([HEADRACE, *map(str, words)], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        took = time.perf_counter() - begin
        if status != 0:
            raise SystemExit(f"headrace plan {verb} failed")
        most_memory = max(most_memory, usage.ru_maxrss / 1024)
        return took

    with tempfile.TemporaryDirectory(dir=bench.inputs.root) as scratch:
        table = Table(
            "planning",
            f"Plan jobs of {SAMPLES:,} samples in {shards:,} shards",
            "s",
            [
                Contender(f"headrace plan {verb}", lambda v=verb: measure(v, Path(scratch) / "job"),
                          kind="ours", note=" ".join(map(str, VERBS[verb])))
                for verb in VERBS
            ],
            less_is_better=True,
            ratios=False,
        )  # fmt: skip
        take_turns(table.contenders, bench.rounds)
    table.goals = [
        *(Goal(f"{each.name}, s", each.median, 60, at_most=True) for each in table.contenders),
        Goal("memory, MiB", most_memory, 2048, at_most=True),
    ]
    return [table]
