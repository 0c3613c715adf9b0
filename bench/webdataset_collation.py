"""default_collation_fn beside copying the same bytes into memory that is there.

usage: webdataset_collation.py
Prints {"pictures": …, "limit: …": …} as JSON: microseconds a batch, the best of many.
"""

from __future__ import annotations

import json
import timeit
from collections.abc import Callable

import numpy as np
from headrace.webdataset.filters import default_collation_fn

ROWS = 64
COLUMNS = {
    "pictures": np.zeros((224, 224, 3), np.uint8),
    "small arrays": np.zeros(500, np.float32),
}


def main() -> None:
    spent: dict[str, float] = {}
    for name, row in COLUMNS.items():
        samples = [(row.copy(),) for _ in range(ROWS)]
        there = np.zeros((ROWS, *row.shape), row.dtype)
        spent[name] = best(lambda samples=samples: default_collation_fn(samples))
        spent[f"limit: copying {name}"] = best(
            lambda samples=samples, there=there: copy(samples, there)
        )
    print(json.dumps(spent), flush=True)


def copy(samples: list[tuple[np.ndarray]], there: np.ndarray) -> None:
    for place, (row,) in zip(there, samples, strict=True):
        place[...] = row


def best(work: Callable[[], object]) -> float:
    return min(timeit.repeat(work, number=20, repeat=15)) / 20 * 1e6


if __name__ == "__main__":
    main()
