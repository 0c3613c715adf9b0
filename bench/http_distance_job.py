"""Streaming from a server with a distance: 30 ms before each answer, 50 MB/s a connection. What
that allows is what curl gets with as many connections as we may use, asking for ranges as we do."""

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
from rounds import HERE, Contender, Goal, Table, python, take_turns
from servers.buckets import free_port, running

CONNECTIONS = 64
RANGE = 8 << 20
LIMIT = f"curl, {CONNECTIONS} connections"


def ranges_of(url: str, sizes: dict[str, int]) -> str:
    """A configuration of curl: every file in ranges."""
    parts = []
    for name, size in sizes.items():
        for first in range(0, size, RANGE):
            last = min(first + RANGE, size) - 1
            parts.append(f'url = "{url}/{name}"\nrange = {first}-{last}\noutput = "/dev/null"\n')
    return "next\n".join(parts)


def http_distance(bench: Bench) -> list[Table]:
    curl = shutil.which("curl")
    if not curl:
        raise SystemExit("the job http_distance needs curl: apt-get install curl")
    shards = bench.inputs.photo_shards
    sizes = {path.name: path.stat().st_size for path in sorted(shards.glob("*.tar"))}
    os.environ.pop("HEADRACE_CACHE", None)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, HERE / "slow_server.py", shards, port]

    with tempfile.TemporaryDirectory() as scratch:
        config = Path(scratch) / "curl.config"
        config.write_text(ranges_of(url, sizes))

        def download() -> float:
            words = [curl, "--silent", "--parallel", "--parallel-immediate"]
            words += ["--parallel-max", str(CONNECTIONS), "--config", str(config)]
            begin = time.perf_counter()
            subprocess.run(words, check=True)
            return sum(sizes.values()) / (time.perf_counter() - begin) / 1e6

        def stream() -> float:
            done = python("remote_epoch.py", url, bench.threads)
            return done["bytes"] / done["seconds"] / 1e6

        table = Table(
            "http_distance",
            "Stream the photographs from a server 30 ms away that gives 50 MB/s a connection",
            "MB/s",
            [
                Contender(LIMIT, download, kind="limit", note="ranges of 8 MiB"),
                Contender("Headrace", stream, kind="ours", note="the second epoch of a process"),
            ],
        )
        with running(command, port, Path(scratch) / "server.log"):
            take_turns(table.contenders, bench.rounds)
    table.goals = [Goal("share of the limit", table.times_faster(LIMIT), 0.9)]
    return [table]
