"""Where the time of `.decode("pil").map_tuple(transform)` goes: the pipeline grown stage by stage.

usage: webdataset_costs.py webdataset|headrace.webdataset PLACE SAMPLES
Prints {"read": …, "decode": …, "transform": …} as JSON: microseconds a sample in one process.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

from webdataset_readers import augmented_pipeline, whole


def main() -> None:
    name, place, samples = sys.argv[1:]
    library = importlib.import_module(name)
    stages = {
        "read": whole(library, place).to_tuple("jpg", "cls"),
        "decode": whole(library, place).decode("pil").to_tuple("jpg", "cls"),
        "transform": augmented_pipeline(library, place),
    }
    before, costs = 0.0, {}
    for stage, ds in stages.items():
        spent = seconds_of(ds, int(samples)) / int(samples) * 1e6
        costs[stage], before = spent - before, spent
    print(json.dumps(costs), flush=True)


def seconds_of(ds: Any, samples: int) -> float:
    """Of the second pass over the first `samples`."""
    for _ in range(2):
        begin = time.perf_counter()
        for number, _ in enumerate(ds, 1):
            if number == samples:
                break
        spent = time.perf_counter() - begin
    return spent


if __name__ == "__main__":
    main()
