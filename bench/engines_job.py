"""A plan of 60 tasks on Ray and on Slurm beside the threads of one machine: what the engines cost.

An engine takes its own time to start and to place tasks: that of as many tasks, given to it
directly, which sleep for as long as one of ours works.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from jobs import Bench, tar_files
from programs import HEADRACE
from rounds import Contender, Goal, Table, take_turns

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))
from servers.slurm import Slurm, slurm

TASKS = 60

RAY_ALONE = f"""
import ray, subprocess, sys
ray.init(address="auto", log_to_driver=False, configure_logging=False)
seconds = sys.argv[1]
task = ray.remote(num_cpus=1)(lambda: subprocess.run(["sleep", seconds]).returncode)
assert not any(ray.get([task.remote() for _ in range({TASKS})]))
"""


def engines(bench: Bench) -> list[Table]:
    with (
        tempfile.TemporaryDirectory(dir=bench.inputs.root) as scratch,
        slurm(Path(scratch) / "slurm", nodes=bench.threads) as cluster,
    ):
        ray_cluster("start", "--head", f"--num-cpus={bench.threads}", "--disable-usage-stats")
        try:
            return [table(bench, cluster, Path(scratch))]
        finally:
            ray_cluster("stop", "--force")


def table(bench: Bench, cluster: Slurm, scratch: Path) -> Table:
    source = bench.inputs.photo_shards

    def run(*options: object) -> Callable[[], float]:
        def measure() -> float:
            bench.warm(tar_files(source))
            plan = fresh_plan(source, scratch)
            return seconds([HEADRACE, "run", plan, "--no-fsync", "-q", *options], cluster)

        return measure

    last = [0.0]  # seconds of the job on threads

    def sleep() -> str:
        """As long as a task of it took."""
        return f"{last[0] * bench.threads / TASKS:.3f}"

    def run_threads() -> float:
        last[0] = run("-j", bench.threads)()
        return last[0]

    rows = [
        Contender("threads", run_threads, kind="limit"),
        Contender(
            "Ray alone",
            lambda: seconds([sys.executable, "-c", RAY_ALONE, sleep()], cluster),
            note="tasks that sleep for as long as ours work",
        ),
        Contender("Ray", run("--engine", "ray", "--", "--address", "auto"), kind="ours"),
        Contender("Slurm alone", lambda: slurm_alone(cluster, sleep()), note="the same"),
        Contender(
            "Slurm", run("--engine", "slurm", "--", "--folder", scratch / "says"), kind="ours"
        ),
    ]
    made = Table(
        "engines",
        f"Convert the photographs to tar.gz: {TASKS} tasks, {bench.threads} processors",
        "s",
        rows,
        less_is_better=True,
        ratios=False,
    )
    take_turns(rows, bench.rounds)
    made.goals = [
        Goal(f"{engine} without its own part, over threads", overhead(made, engine), 1.1, True)
        for engine in ("Ray", "Slurm")
    ]
    return made


def overhead(made: Table, engine: str) -> float:
    threads = made["threads"].median
    own_part = made[f"{engine} alone"].median - threads
    return (made[engine].median - own_part) / threads


def fresh_plan(source: Path, scratch: Path) -> Path:
    out, plan = scratch / "out", scratch / "plan"
    for old in (out, plan):
        shutil.rmtree(old, ignore_errors=True)
    words = ["plan", "convert", source, "--container", "tgz", "--shards", TASKS]
    call([HEADRACE, *words, "--out", out, "--plan", plan])
    return plan


def seconds(command: list[object], cluster: Slurm) -> float:
    begin = time.perf_counter()
    call(command, cluster.env)
    return time.perf_counter() - begin


def slurm_alone(cluster: Slurm, sleep: str) -> float:
    begin = time.perf_counter()
    array = ["sbatch", f"--array=0-{TASKS - 1}", "--output=/dev/null", f"--wrap=sleep {sleep}"]
    call(array, cluster.env)
    while cluster.ask("squeue", "-h", "-t", "PENDING,RUNNING,COMPLETING").strip():
        time.sleep(0.2)
    return time.perf_counter() - begin


def ray_cluster(*words: str) -> None:
    call([Path(sys.executable).parent / "ray", *words])


def call(command: list[object], env: dict[str, str] | None = None) -> None:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, env=env or dict(os.environ))
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}\n{done.stderr}\nfailed")
