"""Readers that run one numpy function over every row of 200 KB, in two worker processes.

The function is light, so what is measured is how rows get to the workers and back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

FUNCTION_BATCH = 64
ROW_SHAPE = (256, 256, 3)

Passes = Callable[[], Iterator[int]]


def inverted(row: Any) -> Any:
    return np.invert(row)


def headrace_functions(place: str, threads: int) -> Passes:
    return _headrace(place, threads, workers=2)


def headrace_functions_here(place: str, threads: int) -> Passes:
    return _headrace(place, threads, workers=0)


def _headrace(place: str, threads: int, workers: int) -> Passes:
    import headrace as hr

    rows = hr.open(f"{place}/shards/*.tar").shuffle(seed=7).decode(row=hr.npy("npy"))
    loader = rows.map(inverted, on="row").batch(FUNCTION_BATCH, tail="short")
    made = loader.loader(threads=threads, workers=workers)
    return lambda: (len(batch["row"]) for batch in made)


def torch_mapped(place: str, threads: int) -> Passes:
    """One array in a file that is mapped: the least that a DataLoader can do for a row."""
    rows = np.load(f"{place}/rows.npy", mmap_mode="r")
    return _torch(len(rows), lambda i: inverted(rows[i]))


def torch_files(place: str, threads: int) -> Passes:
    paths = sorted(Path(place, "files").glob("*.npy"))
    return _torch(len(paths), lambda i: inverted(np.load(paths[i])))


def _torch(count: int, row: Callable[[int], Any]) -> Passes:
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset[Any]):
        def __len__(self) -> int:
            return count

        def __getitem__(self, i: int) -> Any:
            return row(i)

    loader = DataLoader(
        Rows(), batch_size=FUNCTION_BATCH, shuffle=True, num_workers=2, persistent_workers=True
    )
    return lambda: (len(batch) for batch in loader)


def webdataset_functions(place: str, threads: int) -> Passes:
    import webdataset as wds

    paths = sorted(map(str, Path(place, "shards").glob("*.tar")))
    ds = wds.WebDataset(paths, shardshuffle=100).shuffle(1000).decode().to_tuple("npy")
    ds = ds.map_tuple(inverted).batched(FUNCTION_BATCH)
    loader = wds.WebLoader(ds, batch_size=None, num_workers=2, persistent_workers=True)
    return lambda: (len(rows) for (rows,) in loader)


FUNCTION_READERS = {
    reader.__name__: reader
    for reader in (
        headrace_functions,
        headrace_functions_here,
        torch_mapped,
        torch_files,
        webdataset_functions,
    )
}
