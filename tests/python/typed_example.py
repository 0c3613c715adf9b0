"""What a typed program looks like; mypy --strict checks it, and a test runs it."""

from __future__ import annotations

import sys
from typing import Any

import headrace as hr


def shapes(folder: str) -> list[tuple[int, ...]]:
    dataset: hr.Dataset = hr.open(folder)
    first: hr.Sample = dataset[0]
    label: bytes = first["cls"]
    view: hr.View = dataset[0:10]
    keys: list[str] = [sample.key for sample in view]
    assert label
    assert keys

    pipeline: hr.Pipeline = dataset.shuffle(seed=7).decode(
        label=hr.integer("cls", default=-1), caption=hr.text("txt")
    )
    loader: hr.Loader = pipeline.batch(16, tail="short").loader(memory="64MiB", threads=1)
    out: list[tuple[int, ...]] = []
    for batch in loader:
        rows: int = len(batch)
        errors: list[hr.RowError] = batch.errors
        captions: list[str] = batch["caption"].tolist()
        assert rows == len(captions) + len(errors)
        out.append(batch["label"].shape)
    state: dict[str, Any] = loader.state_dict()
    loader.load_state_dict(state)
    stats: hr.Stats = loader.stats()
    assert stats.sentence
    try:
        dataset["nowhere"]
    except hr.NotFoundError as error:
        hint: str | None = error.hint
        assert hint is None or hint
    return out


if __name__ == "__main__":
    print(shapes(sys.argv[1]))
