"""Several sources: three parts of one and one part of another, and one after the other in turn.

usage: mixed_sources.py SHARDS
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import headrace.webdataset as wds


def from_source(name: str) -> Any:
    def mark(sample: dict[str, Any]) -> dict[str, Any]:
        return {**sample, "source": name}

    return mark


def main() -> None:
    shards = sorted(str(path) for path in Path(sys.argv[1]).glob("*.tar"))
    half = len(shards) // 2

    def sources() -> list[Any]:
        return [
            wds.WebDataset(part, shardshuffle=False).map(from_source(name))
            for name, part in (("first", shards[:half]), ("second", shards[half:]))
        ]

    random.seed(4)
    mixed = wds.FluidWrapper(wds.RandomMix(sources(), probs=[3, 1]))
    drawn = Counter(sample["source"] for sample in mixed.slice(40))
    print("mixed", sorted(drawn.items()))

    turns = wds.DataPipeline(wds.RoundRobin(sources(), longest=True), wds.to_tuple("source"))
    names = [name for (name,) in turns]
    print("in turn", names[:4], len(names))


if __name__ == "__main__":
    main()
