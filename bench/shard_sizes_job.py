"""The same photographs in shards of every size, loose ones first, from nginx beside curl."""

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
from programs import HEADRACE
from rounds import Contender, Goal, Table, python, take_turns
from servers.nginx import nginx

SIZES = ("128KiB", "512KiB", "2MiB", "8MiB", "32MiB", "128MiB", "512MiB")
MEMORY = "/dev/shm"


def shard_sizes(bench: Bench) -> list[Table]:
    curl = shutil.which("curl")
    if not curl:
        raise SystemExit(
            "the job shard_sizes needs curl and nginx: apt-get install curl nginx-light"
        )
    os.environ.pop("HEADRACE_CACHE", None)
    return [one_size(bench, curl, size) for size in SIZES]


def one_size(bench: Bench, curl: str, size: str) -> Table:
    with tempfile.TemporaryDirectory(dir=MEMORY) as scratch:
        folder = Path(scratch) / "set"
        words = ["split", bench.inputs.photo_shards, "--out", folder, "--shard-size", size]
        subprocess.run([HEADRACE, *map(str, words), "--quiet"], check=True)
        names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.tar"))
        total = sum((folder / name).stat().st_size for name in names)
        with nginx(folder, Path(scratch) / "nginx") as server:
            config = Path(scratch) / "curl.config"
            config.write_text(
                "".join(f'url = "{server.url}/{name}"\noutput = "/dev/null"\n' for name in names)
            )

            def download() -> float:
                begin = time.perf_counter()
                words = ["--silent", "--parallel", "--parallel-max", "8", "--config", str(config)]
                subprocess.run([curl, *words], check=True)
                return total / (time.perf_counter() - begin) / 1e6

            def stream() -> float:
                done = python("remote_epoch.py", server.url, bench.threads)
                return done["bytes"] / done["seconds"] / 1e6

            table = Table(
                f"shards_of_{size}",
                f"Stream the photographs from nginx in {len(names):,} shards of {size}",
                "MB/s",
                [
                    Contender("curl --parallel, 8 connections", download, kind="limit"),
                    Contender("Headrace", stream, kind="ours", note="an epoch; payload bytes"),
                ],
            )
            take_turns(table.contenders, bench.rounds)
    table.goals = [
        Goal("share of the limit", table.times_faster("curl --parallel, 8 connections"), 0.7)
    ]
    return table
