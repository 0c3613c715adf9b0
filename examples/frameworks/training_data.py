"""The data of these examples, as a loader, and a log of the samples that were trained on."""

from __future__ import annotations

from pathlib import Path

import headrace as hr

CLASSES = 10


def training_loader(shards: str) -> hr.Loader:
    """This rank's batches; rank and world size come from the launcher (RANK and WORLD_SIZE)."""
    return (
        hr.open(shards)
        .shuffle(seed=7)
        .decode(image=hr.image("png;jpg").resize(16).to_float(), label=hr.integer("cls"))
        .batch(8)
        .loader(to="torch", threads=1, memory="64MiB")
    )


class KeyLog:
    """Writes the keys that this rank has trained on, a line a sample, without the padding."""

    def __init__(self, folder: str, rank: int) -> None:
        self._file = (Path(folder) / f"rank-{rank}.txt").open("w")

    def add(self, epoch: int, keys: list[str], mask: object) -> None:
        for key, is_sample in zip(keys, mask, strict=True):  # type: ignore[call-overload]
            if is_sample:
                print(epoch, key, file=self._file, flush=True)
