"""Streams the stamps to three ranks, stops half-way, goes on with two, and proves the result.

Every rank is a process of its own, as it would be on a cluster. There, torchrun or Slurm start them
and tell each its rank; here this script does.
usage: train.py SHARDS WORK_FOLDER
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import shutil
from pathlib import Path
from typing import Any

import headrace as hr
import numpy as np
from PIL import Image

ROWS = 72  # of all ranks together
SIDE = 64  # pixels


def make_loader(shards: Path, work: Path, rank: int, world: int) -> hr.Loader:
    return (
        hr.open(shards)
        .shuffle(seed=7)
        .decode(
            image=hr.image("png", default=placeholder())
            .channels("rgba")
            .resize(SIDE)
            .layout("HWC"),
            label=hr.integer("cls"),
            caption=hr.text("txt", default="(no text)"),
        )
        .batch(total=ROWS)
        .loader(rank=rank, world=world, threads=1, audit=work / "audit")
    )


def train(
    shards: Path, work: Path, rank: int, world: int, state: str | None, stop_after: int | None
) -> None:
    """One rank: goes on from `state`, to the end of the epoch or for `stop_after` steps."""
    loader = make_loader(shards, work, rank, world)
    if state is not None:
        loader.load_state_dict(json.loads(state))
    steps = rows = 0
    for batch in loader:
        steps += 1
        rows += int(batch.mask.sum())
        if rank == 0 and steps == 1:
            Image.fromarray(contact_sheet(batch)).save(work / f"sheet-{world}-ranks.png")
            print(f"  first batch of rank 0: {batch}")
            for caption in list(batch["caption"])[:3]:
                print(f"    {caption.splitlines()[0]}")
        if steps == stop_after:
            break
    if rank == 0 and stop_after is not None:
        # The same on every rank, so one of them saves it.
        (work / "state.json").write_text(json.dumps(loader.state_dict()))
    print(f"  rank {rank} of {world}: {steps} steps, {rows} stamps", flush=True)
    if rank == 0:
        print(f"  {loader.stats().sentence}", flush=True)


def contact_sheet(batch: hr.Batch) -> np.ndarray[Any, Any]:
    """The pictures of a batch side by side on white: (height, width, 3), uint8."""
    pictures = batch["image"].astype(np.float32)  # rows, height, width, channels
    alpha = pictures[..., 3:] / 255
    blended = pictures[..., :3] * alpha + 255 * (1 - alpha)
    columns = 6
    blank = np.full((-len(blended) % columns, SIDE, SIDE, 3), 255, np.float32)
    grid = np.concatenate([blended, blank]).reshape(-1, columns, SIDE, SIDE, 3)
    sheet = grid.swapaxes(1, 2).reshape(-1, columns * SIDE, 3).round()
    return np.asarray(sheet, dtype=np.uint8)


def placeholder() -> bytes:
    """A grey square for the stamps that are drawn as SVG alone."""
    file = io.BytesIO()
    Image.new("RGBA", (SIDE, SIDE), (200, 200, 200, 255)).save(file, "png")
    return file.getvalue()


def run_ranks(
    shards: Path, work: Path, world: int, state: str | None = None, stop_after: int | None = None
) -> None:
    spawn = multiprocessing.get_context("spawn")
    ranks = [
        spawn.Process(target=train, args=(shards, work, rank, world, state, stop_after))
        for rank in range(world)
    ]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    if any(process.exitcode != 0 for process in ranks):
        raise SystemExit("a rank failed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shards", type=Path)
    parser.add_argument("work", type=Path)
    arguments = parser.parse_args()
    shards, work = arguments.shards, arguments.work
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)

    steps = len(make_loader(shards, work, 0, 3))
    print(f"\nThree ranks, stopped after {steps // 2} of {steps} steps:")
    run_ranks(shards, work, world=3, stop_after=steps // 2)
    print("\nTwo ranks, from there to the end of the epoch:")
    run_ranks(shards, work, world=2, state=(work / "state.json").read_text())

    report = hr.audit_report(work / "audit", hr.open(shards))
    print(f"\nAudit over both runs and all ranks:\n{report}")
    print(f"\nA decoded batch: {work / 'sheet-3-ranks.png'}")
    print("Next, with files of your own: README.md#pack-your-own-folder")
    if not report.passed or any(epoch["missing"] for epoch in report.epochs):
        raise SystemExit("not every sample came exactly once")


if __name__ == "__main__":
    main()
