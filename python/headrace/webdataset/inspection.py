"""Stages that let everything pass and say what they saw."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from . import utils


def _info(
    data: Iterable[Any],
    fmt: str | None = None,
    n: int = 3,
    every: int = -1,
    width: int = 50,
    stream: TextIO = sys.stderr,
    name: str = "",
) -> Iterator[Any]:
    """Prints the first `n` samples, and then one `every` so many."""
    for i, sample in enumerate(data):
        if i < n or (every > 0 and (i + 1) % every == 0):
            if fmt is None:
                print("---", name, file=stream)
                for key, value in sample.items():
                    print(key, repr(value)[:width], file=stream)
            else:
                print(fmt.format(**sample), file=stream)
        yield sample


def _log_keys(data: Iterable[Any], logfile: str | None = None) -> Iterator[Any]:
    """Appends index, worker, rank and key of each sample to a file."""
    if logfile is None or logfile == "":
        yield from data
        return
    rank, _, worker, _ = utils.pytorch_worker_info()
    with open(logfile, "a") as stream:
        for i, sample in enumerate(data):
            print(f"{i}\t{worker}\t{rank}\t{sample['__key__']}", file=stream, flush=True)
            yield sample
