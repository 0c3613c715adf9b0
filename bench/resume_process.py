"""The first batch after a restart at ten random positions, each beside a cold start.

Each cold start has another seed: the same first batch again and again would come out of the
processor's caches, which a position in the middle of an epoch does not.

usage: resume_process.py PLACE ROUND
Prints {"cold": seconds, "resume": seconds}, medians, as JSON. Both open the data set anew.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from typing import Any

import headrace as hr

POSITIONS = 10
SEED = 7


def first_batch(place: str, seed: int, state: dict[str, Any] | None = None) -> float:
    begin = time.perf_counter()
    with loader_of(place, seed) as loader:
        if state is not None:
            loader.load_state_dict(state)
        batch = next(iter(loader))
        for name in batch.fields:
            _ = batch[name].values
        return time.perf_counter() - begin


def loader_of(place: str, seed: int) -> hr.Loader:
    return hr.open(place).shuffle(seed=seed).batch(256).loader(threads=2)


def main() -> None:
    place, turn = sys.argv[1:]
    draw = random.Random(int(turn))
    cold, resumed = [], []
    first_batch(place, SEED)
    with loader_of(place, SEED) as loader:
        states = [loader.state_at(0, draw.randrange(len(loader))) for _ in range(POSITIONS)]
    for state in states:
        cold.append(first_batch(place, draw.randrange(2**32)))
        resumed.append(first_batch(place, SEED, state))
    print(json.dumps({"cold": statistics.median(cold), "resume": statistics.median(resumed)}))


if __name__ == "__main__":
    main()
