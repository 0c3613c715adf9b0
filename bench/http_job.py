"""Streaming over HTTP: the photo shards from nginx on this machine, beside curl and WebDataset."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))

from jobs import Bench
from rounds import Contender, Goal, Table, python, take_turns
from servers.nginx import nginx


def http(bench: Bench) -> list[Table]:
    curl = shutil.which("curl")
    if not curl:
        raise SystemExit("the job http needs curl and nginx: apt-get install curl nginx-light")
    shards = bench.inputs.photo_shards
    names = sorted(path.name for path in shards.glob("*.tar"))
    size = sum((shards / name).stat().st_size for name in names)
    os.environ.pop("HEADRACE_CACHE", None)

    with tempfile.TemporaryDirectory() as scratch, nginx(shards, Path(scratch) / "nginx") as server:

        def download() -> float:
            command = [curl, "--silent", "--parallel", "--parallel-max", "8"]
            for name in names:
                command += ["-o", "/dev/null", f"{server.url}/{name}"]
            begin = time.perf_counter()
            subprocess.run(command, check=True)
            return size / (time.perf_counter() - begin) / 1e6

        def stream() -> float:
            done = python("remote_epoch.py", server.url, bench.threads)
            return done["bytes"] / done["seconds"] / 1e6

        def webdataset() -> float:
            done = python("remote_webdataset.py", server.url, *names)
            return done["bytes"] / done["seconds"] / 1e6

        table = Table(
            "http",
            "Stream the photographs from nginx, shuffled, raw batches in Python",
            "MB/s",
            [
                Contender("curl --parallel, 8 connections", download, kind="limit"),
                Contender("Headrace", stream, kind="ours", note="an epoch; payload bytes"),
                Contender("WebDataset", webdataset, note="pipe:curl, not shuffled"),
            ],
        )
        take_turns(table.contenders, bench.rounds)
    table.goals = [
        Goal("share of the limit", table.times_faster("curl --parallel, 8 connections"), 0.85),
        Goal("times WebDataset", table.times_faster("WebDataset"), 3.5),
    ]
    return [table]
