"""Streaming over HTTP: the photo shards from nginx on this machine, beside curl and WebDataset; the
processor time that takes, and the bytes."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))

from curl import download, find_curl, whole_files
from jobs import Bench
from rounds import Contender, Goal, Table, python, take_turns
from servers.nginx import nginx

CURL = "curl --parallel, 8 connections"


def http(bench: Bench) -> list[Table]:
    curl = find_curl("http")
    shards = bench.inputs.photo_shards
    names = sorted(path.name for path in shards.glob("*.tar"))
    size = sum((shards / name).stat().st_size for name in names)
    costs: dict[str, list[float]] = {"curl": [], "Headrace": []}  # CPU seconds a GB

    with (
        tempfile.TemporaryDirectory() as scratch,
        nginx(shards, Path(scratch) / "nginx", as_installed=True) as server,
    ):
        config = Path(scratch) / "curl.config"
        config.write_text(whole_files(f"{server.url}/{name}" for name in names))

        def limit() -> float:
            done = download(curl, config)
            costs["curl"].append(done.cpu_seconds / size * 1e9)
            return size / done.seconds / 1e6

        def stream() -> float:
            done = python("remote_epochs.py", server.url, bench.threads, bench.seconds)
            costs["Headrace"].append(done["cpu_seconds"] / done["bytes"] * 1e9)
            return done["bytes"] / done["seconds"] / 1e6

        def webdataset() -> float:
            done = python("remote_webdataset.py", server.url, *names)
            return done["bytes"] / done["seconds"] / 1e6

        rates = Table(
            "http",
            "Stream the photographs from nginx, shuffled, raw batches in Python",
            "MB/s",
            [
                Contender(CURL, limit, kind="limit"),
                Contender("Headrace", stream, kind="ours", note="whole epochs; payload bytes"),
                Contender("WebDataset", webdataset, note="pipe:curl, not shuffled"),
            ],
        )
        take_turns(rates.contenders, bench.rounds)
        asked = bytes_table(server.url)
    rates.goals = [
        Goal("share of the limit", rates.times_faster(CURL), 0.85),
        Goal("times WebDataset", rates.times_faster("WebDataset"), 3.5),
    ]
    return [rates, cost_table(costs, bench.rounds), asked]


def bytes_table(url: str) -> Table:
    """The same in every round, so there is one."""

    def ratio(world: int) -> float:
        done = python("bytes_asked.py", url, world)
        return done["asked"] / done["samples"]

    table = Table(
        "http_bytes",
        "Bytes that an epoch asks for, of the bytes that its samples take in their shards",
        "times",
        [
            Contender("Headrace", lambda: ratio(1), kind="ours", note="one rank"),
            Contender("each of 8 ranks", lambda: ratio(8), kind="ours"),
        ],
        less_is_better=True,
        ratios=False,
    )
    for contender in table.contenders:
        contender.values.append(contender.measure())
    one, eight = (contender.median for contender in table.contenders)
    table.goals = [
        Goal("one rank", one, 1.02, at_most=True),
        Goal("each of 8 ranks", eight, 1.05, at_most=True),
    ]
    return table


def cost_table(costs: dict[str, list[float]], rounds: int) -> Table:
    """Of the same runs, but for the first round, which warms up."""
    table = Table(
        "http_cpu",
        "Processor time of the client for that",
        "CPU s/GB",
        [
            Contender(CURL, float, kind="limit", values=costs["curl"][-rounds:]),
            Contender("Headrace", float, kind="ours", values=costs["Headrace"][-rounds:]),
        ],
        less_is_better=True,
    )
    ratio = 1 / table.times_faster(CURL)
    table.goals = [Goal("times curl's", ratio, 1.3, at_most=True)]
    return table
