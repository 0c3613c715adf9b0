#!/usr/bin/env python3
"""Writes docs/benchmarks.md, and the short table of the README, from data/bench/results.json.

usage: report.py [RESULTS]
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from programs import ROOT
from tables import as_markdown, number

HEAD = """# Benchmarks

<!-- Written by bench/report.py from the results of ./dev bench; do not edit. -->

Command: `./dev bench` ({rounds} rounds after one to warm up; medians). Date: {date}.
Machine: {cores} virtual cores ({cpu}), kernel {kernel}, warm page cache, load {load} when it began.
Versions: {versions}.

Everything runs in turn, A B C A B C, so that a slow minute hits all alike. The machine is shared:
absolute figures move by tens of percent, and what counts are the ratios, which are medians of each
round's own ratio. "We are x times" says how many times as fast as the row we are (as our row in
bold); the limit is the same bytes moved by system calls alone.

## How each one runs

Every reader runs in a process of its own, warms up, and then reads whole passes for some seconds;
`bench/readers.py` has all of them side by side, each as its documentation advises. Packing is timed
from the start of the process to its end (ShardWriter: without its imports), and outputs are removed
between rounds outside the clock. Of reshaping and its `cp` each round counts the better of two
runs; the first also pays for what the one before left to the disk. (It is faster than `cp` because
blocks are allocated ahead of what is written, which takes ext4 about half the time, and because
threads read and write side by side.) What is compared with reading alone and ends with its process,
`verify` and `index`, has a whole process of reading beside it.

- **Limit**: `bench/io_limit.cc`, `pread` of the same files into one hot buffer of 1 MiB a thread;
  for packing also `write`. Nothing is kept, and no Python.
- **WebDataset**: `WebDataset(shards).to_tuple(…).batched(256)` in the process itself, in order or
  with `shardshuffle=100` and `.shuffle(1000)`; with workers by `WebLoader`.
- **MosaicML Streaming**: the same samples converted to MDS (bytes and int columns, shards of
  64 MiB), `shuffle=True`, read by `StreamingDataLoader` without workers.
- **Grain**: the same samples converted to ArrayRecord with `group_size:1`,
  `MapDataset.source(…).shuffle().map().batch()` with as many read threads as we have.
- **tar**: `tar cf` of the same folder. It keeps no checksums, makes no index and does not wait for
  the disk; our row to compare is the one with `--no-fsync`.

The limit of reading is harder than it looks: its buffer never leaves the L2 cache and its reads are
large and in order, while a batch of 256 photographs is 22 MB of rows from all over the files that
are kept; the second limit of that table does only this. Rows go straight into the batch; the batch
that came back last is filled first, since a cache may still hold it. Copying from mapped files
would beat this limit, but a file that is cut while it is mapped kills the process, and mapped pages
count as its memory; so it is not done.

Streams over HTTP (`./dev bench http http_distance s3 shard_sizes`, 2 to 5 rounds): whole shuffled
epochs of one process, each of all shards, after three that do not count (`bench/remote_epochs.py`:
memory is touched for the first time in them, and it is found how many requests the server likes).
curl, the limit, throws away what it reads; ours lies in batches. nginx has one process a
processor, as Debian installs it. The server with a distance (`bench/slow_server.py`) waits before
each answer and lets the kernel keep each connection's pace. AIStore is a real cluster of one proxy
and two targets on the same machine (`AIS_ENDPOINT`; without it a fake, whose rates say nothing),
its readers run in a DataLoader of 2 workers.

![Rates by the size of shards, from nginx and from AIStore](shard-sizes.svg)
"""


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "data" / "bench" / "results.json"
    results = json.loads(path.read_text())
    parts = [head(results), *map(as_markdown, results["tables"])]
    (ROOT / "docs" / "benchmarks.md").write_text("\n".join(part + "\n" for part in parts))
    update_readme(short_table(results))


def head(results: dict[str, Any]) -> str:
    machine = results["machine"]
    return HEAD.format(
        rounds=results["rounds"],
        date=results["date"],
        cores=machine["cores"],
        cpu=machine["cpu"],
        kernel=machine["kernel"],
        load=f"{results['load'][0]:.1f}",
        versions=", ".join(f"{name} {version}" for name, version in results["versions"].items()),
    )


def short_table(results: dict[str, Any]) -> str:
    """A line a job: we, and how many times as fast as the limit and the fastest peer that is."""
    lines = ["| | Headrace | of the limit | times the fastest peer |", "|---|---:|---:|---:|"]
    for table in results["tables"]:
        rows = table["rows"]
        ours = next(row for row in rows if row["kind"] == "ours")
        limits = [row["times_faster"] for row in rows if row["kind"] == "limit"]
        peers = [row for row in rows if row["kind"] == "peer" and row["times_faster"] is not None]
        peers = [row for row in peers if "eadrace" not in row["name"]]
        if not peers:
            continue
        peer = min(peers, key=lambda row: row["times_faster"])
        lines.append(
            f"| {table['title']} | {number(ours['median'])} {table['unit']} "
            f"| {f'{limits[0]:.2f}' if limits else ''} "
            f"| {peer['times_faster']:.1f} ({peer['name']}) |"
        )
    return "\n".join(lines)


def update_readme(table: str) -> None:
    path = ROOT / "README.md"
    begin, end = "<!-- bench:begin -->", "<!-- bench:end -->"
    text = path.read_text()
    more = "All rows, and how they were measured: [docs/benchmarks.md](docs/benchmarks.md)."
    new = f"{begin}\n{table}\n\n{more}\n{end}"
    path.write_text(re.sub(f"{begin}.*?{end}", lambda _: new, text, flags=re.DOTALL))


if __name__ == "__main__":
    main()
