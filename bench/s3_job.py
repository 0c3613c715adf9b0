"""Streaming from S3: the photo shards from `rclone serve s3` on this machine, beside s5cmd."""

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
from servers.buckets import rclone_s3

S5CMD = "github.com/peak/s5cmd/v2, for the download of a bucket"
MEMORY = "/dev/shm"


def s3(bench: Bench) -> list[Table]:
    s5cmd = shutil.which("s5cmd")
    if not s5cmd:
        raise SystemExit(f"the job s3 needs s5cmd: build {S5CMD}, and put it on the PATH")
    shards = bench.inputs.photo_shards
    sizes = [path.stat().st_size for path in shards.glob("*.tar")]

    def download() -> float:
        with tempfile.TemporaryDirectory(dir=MEMORY) as out:
            begin = time.perf_counter()
            subprocess.run([s5cmd, "cp", "s3://bucket/*.tar", out + "/"], check=True, stdout=-3)
            spent = time.perf_counter() - begin
            assert sum(path.stat().st_size for path in Path(out).iterdir()) == sum(sizes)
        return sum(sizes) / spent / 1e6

    def stream() -> float:
        done = python("remote_epochs.py", "s3://bucket", bench.threads, bench.seconds)
        return done["bytes"] / done["seconds"] / 1e6

    with tempfile.TemporaryDirectory() as scratch, rclone_s3(Path(scratch), shards) as server:
        before = dict(os.environ)
        os.environ.pop("HEADRACE_CACHE", None)
        os.environ.update(server.env, S3_ENDPOINT_URL=server.endpoint)
        table = Table(
            "s3",
            "Stream the photographs from rclone's S3 server, shuffled, raw batches in Python",
            "MB/s",
            [
                Contender("Headrace", stream, kind="ours", note="whole epochs; payload bytes"),
                Contender("s5cmd", download, note="cp of the shards into memory"),
            ],
        )
        try:
            take_turns(table.contenders, bench.rounds)
        finally:
            os.environ.clear()
            os.environ.update(before)
    table.goals = [Goal("times s5cmd", table.times_faster("s5cmd"), 1.1)]
    return [table]
