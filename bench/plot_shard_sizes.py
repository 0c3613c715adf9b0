#!/usr/bin/env python3
"""Draws docs/shard-sizes.svg: rates by the size of shards, as the job shard_sizes measured them.

usage: plot_shard_sizes.py [RESULTS]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from programs import ROOT
from shard_sizes_job import LOOSE, SIZES

COLOURS = {"ours": "#0b6e4f", "limit": "#999999", "peer": "#c8553d"}


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "data" / "bench" / "results.json"
    tables = {table["name"]: table for table in json.loads(path.read_text())["tables"]}
    figure, parts = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for axes, server in zip(parts, ("nginx", "aistore"), strict=True):
        draw(axes, server, tables)
    parts[0].set(ylabel="MB/s", ylim=(0, None))  # of both
    figure.savefig(ROOT / "docs" / "shard-sizes.svg", metadata={"Date": None})


def draw(axes: Any, server: str, tables: dict[str, Any]) -> None:
    sizes = [size for size in (LOOSE, *SIZES) if f"shards_of_{size}_{server}" in tables]
    rows: dict[str, list[tuple[int, float]]] = {}
    kinds = {}
    for at, size in enumerate(sizes):
        for row in tables[f"shards_of_{size}_{server}"]["rows"]:
            name = "AIStore's reader" if row["kind"] == "peer" else row["name"]
            rows.setdefault(name, []).append((at, row["median"]))
            kinds[name] = row["kind"]
    for name, points in rows.items():
        axes.plot(*zip(*points, strict=True), marker="o", color=COLOURS[kinds[name]], label=name)
    axes.set_title(f"from {'nginx' if server == 'nginx' else 'AIStore'}, by size of shards")
    axes.set_xticks(range(len(sizes)), sizes, rotation=30)
    axes.grid(axis="y", alpha=0.3)
    axes.legend()


if __name__ == "__main__":
    main()
