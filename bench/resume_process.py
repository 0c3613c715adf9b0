"""The first batch after a restart at ten random positions, each beside a cold start.

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


def first_batch(place: str, state: dict[str, Any] | None) -> float:
    begin = time.perf_counter()
    with loader_of(place) as loader:
        if state is not None:
            loader.load_state_dict(state)
        batch = next(iter(loader))
        for name in batch.fields:
            _ = batch[name].values
        return time.perf_counter() - begin


def loader_of(place: str) -> hr.Loader:
    return hr.open(place).shuffle(seed=7).batch(256).loader(threads=2)


def main() -> None:
    place, turn = sys.argv[1:]
    draw = random.Random(int(turn))
    cold, resumed = [], []
    first_batch(place, None)
    with loader_of(place) as loader:
        states = [loader.state_at(0, draw.randrange(len(loader))) for _ in range(POSITIONS)]
    for state in states:
        cold.append(first_batch(place, None))
        resumed.append(first_batch(place, state))
    print(json.dumps({"cold": statistics.median(cold), "resume": statistics.median(resumed)}))


if __name__ == "__main__":
    main()
