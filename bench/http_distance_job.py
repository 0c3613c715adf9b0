"""Streaming from a server with a distance: 30 ms before each answer, 50 MB/s a connection. What
that allows is what curl gets with as many connections as we may use, asking for ranges as we do.
And how many answers the first batch waits for."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))

from curl import download, find_curl, in_ranges
from jobs import Bench
from rounds import HERE, Contender, Goal, Table, python, take_turns
from servers.buckets import free_port, running

CONNECTIONS = 64
RANGE = 8 << 20
DELAY = 0.03  # seconds
LIMIT = f"curl, {CONNECTIONS} connections"


def http_distance(bench: Bench) -> list[Table]:
    curl = find_curl("http_distance")
    shards = bench.inputs.photo_shards
    far, near = free_port(), free_port()
    url = f"http://127.0.0.1:{far}"
    sizes = {f"{url}/{path.name}": path.stat().st_size for path in shards.glob("*.tar")}
    server = [sys.executable, HERE / "slow_server.py", shards]
    with tempfile.TemporaryDirectory() as scratch:
        config = Path(scratch) / "curl.config"
        config.write_text(in_ranges(sizes, RANGE))

        def limit() -> float:
            done = download(curl, config, "--parallel-immediate", connections=CONNECTIONS)
            return sum(sizes.values()) / done.seconds / 1e6

        def stream() -> float:
            done = python("remote_epochs.py", url, bench.threads, bench.seconds)
            return done["bytes"] / done["seconds"] / 1e6

        def answers() -> float:
            """Of those that the far server gives late."""
            took = [
                python("remote_first.py", f"http://127.0.0.1:{port}", bench.threads)["seconds"]
                for port in (far, near)
            ]
            return (took[0] - took[1]) / DELAY

        rates = Table(
            "http_distance",
            "Stream the photographs from a server 30 ms away that gives 50 MB/s a connection",
            "MB/s",
            [
                Contender(LIMIT, limit, kind="limit", note="ranges of 8 MiB"),
                Contender("Headrace", stream, kind="ours", note="whole epochs; payload bytes"),
            ],
        )
        first = Table(
            "http_first_batch",
            "From opening to the first raw batch of 64, 30 ms away: answers that it waited for",
            "round trips",
            [Contender("Headrace", answers, kind="ours", note="beside a server without delay")],
            less_is_better=True,
            ratios=False,
        )
        with (
            running([*server, far, DELAY * 1e3], far, Path(scratch) / "far.log"),
            running([*server, near, 0], near, Path(scratch) / "near.log"),
        ):
            take_turns(rates.contenders, bench.rounds)
            take_turns(first.contenders, bench.rounds)
    rates.goals = [Goal("share of the limit", rates.times_faster(LIMIT), 0.9)]
    first.goals = [Goal("round trips", first.ours.median, 4, at_most=True)]
    return [rates, first]
