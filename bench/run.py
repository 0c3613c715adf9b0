#!/usr/bin/env python3
"""Measures Headrace beside the limits of this machine and beside its peers, all in turn.

usage: run.py [JOB…] [--rounds 5] [--seconds 1.5] [--threads 2] [--out data/bench]
Jobs: photos small one_by_one functions verify listing pack start resume loose webdataset images
images_factor first_images (all); reshape; planning; engines, which needs Ray and Slurm; http,
http_distance, http_versions and shard_sizes, which need nginx and curl; s3, which needs s5cmd.
Makes its inputs the first time. Writes OUT/results.json, where tables of jobs that did not run stay
as they were; bench/report.py makes docs/benchmarks.md from it.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from engines_job import engines
from http_distance_job import http_distance
from http_job import http
from http_versions_job import http_versions
from image_jobs import IMAGE_JOBS
from inputs import Inputs, prepare
from jobs import JOBS as OTHER_JOBS
from jobs import Bench
from planning_job import planning
from programs import ROOT, program
from reshape_job import reshape
from s3_job import s3
from shard_sizes_job import shard_sizes
from tables import as_text

JOBS = OTHER_JOBS | IMAGE_JOBS
ASKED_JOBS = {
    "http": http,
    "http_distance": http_distance,
    "http_versions": http_versions,
    "shard_sizes": shard_sizes,
    "reshape": reshape,
    "planning": planning,
    "engines": engines,
    "s3": s3,
}  # long, or with programs that not every machine has; run when they are named
PEERS = (
    "webdataset",
    "mosaicml-streaming",
    "grain",
    "array-record",
    "torch",
    "torchvision",
    "numpy",
    "pillow",
    "mlx-data",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("jobs", nargs="*", metavar="JOB", choices=[[], *JOBS, *ASKED_JOBS])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5, help="of a reader in a round")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "data" / "bench")
    arguments = parser.parse_args()

    inputs = Inputs(arguments.out)
    prepare(inputs)
    bench = Bench(
        inputs, program("io_limit"), arguments.rounds, arguments.seconds, arguments.threads
    )
    results = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "versions": versions(),
        "rounds": arguments.rounds,
        "tables": [],
    }
    load = [os.getloadavg()[0]]
    where = arguments.out / "results.json"
    for job in arguments.jobs or JOBS:
        for table in (JOBS | ASKED_JOBS)[job](bench):
            print(as_text(table.as_json()), flush=True)
            results["tables"].append(table.as_json())
        results["load"] = [*load, os.getloadavg()[0]]
        save(results, where)
    print(
        f"wrote {where}; load of the machine {load[0]:.1f} before, {os.getloadavg()[0]:.1f} after"
    )


def save(results: dict[str, Any], where: Path) -> None:
    """After each job, so that a later one that fails costs nothing."""
    old = json.loads(where.read_text())["tables"] if where.exists() else []
    whole = {**results, "tables": merged(old, results["tables"])}
    where.write_text(json.dumps(whole, indent=1) + "\n")


def merged(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    tables = {table["name"]: table for table in old}
    return list((tables | {table["name"]: table for table in new}).values())


def machine() -> dict[str, Any]:
    cpu = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return {
        "cpu": cpu[1] if cpu else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    found = {}
    for name in PEERS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    tar = subprocess.run(["tar", "--version"], capture_output=True, text=True)
    return {**found, "tar": tar.stdout.splitlines()[0].split()[-1]}


if __name__ == "__main__":
    main()
