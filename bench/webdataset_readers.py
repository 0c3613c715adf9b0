"""The same WebDataset pipelines under either import, for the job `webdataset`.

Each is a function (library, place) -> passes as in readers.py; a reader "real_NAME" runs it with
webdataset, "our_NAME" with headrace.webdataset.
"""

from __future__ import annotations

import functools
import glob
import importlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Passes = Callable[[], Iterator[int]]

BATCH = 256
BUFFER = 1000
LIBRARIES = {"real": "webdataset", "our": "headrace.webdataset"}


def whole(library: Any, place: str) -> Any:
    return library.WebDataset(sorted(glob.glob(f"{place}/*.tar")), shardshuffle=False)


def dictionaries(library: Any, place: str) -> Passes:
    ds = whole(library, place)
    return lambda: (1 for _ in ds)


def shuffled_batches(library: Any, place: str) -> Passes:
    ds = whole(library, place).shuffle(BUFFER).to_tuple("bin", "cls").batched(BATCH)
    return lambda: (len(payloads) for payloads, _ in ds)


def array_batches(library: Any, place: str) -> Passes:
    """Arrays decoded, shuffled and stacked: only the library's own stages up to the batch."""
    ds = whole(library, place).shuffle(BUFFER).decode().to_tuple("npy", "cls").batched(BATCH)
    return lambda: (len(labels) for _, labels in ds)


def exact_batches(library: Any, place: str) -> Passes:
    """Ours alone: the same pipeline in the exactly-once order."""
    ds = whole(library, place).shuffle(BUFFER).to_tuple("bin", "cls").exact(batch=BATCH)
    return lambda: (len(payloads) for payloads, _ in ds)


def worker_batches(library: Any, place: str) -> Passes:
    """Raw bytes in 2 workers of torch's DataLoader."""
    ds = whole(library, place).shuffle(BUFFER).to_tuple("bin", "cls").batched(BATCH)
    loader = library.WebLoader(ds, batch_size=None, num_workers=2)
    return lambda: (len(payloads) for payloads, _ in loader)


def pictures(library: Any, place: str) -> Passes:
    ds = whole(library, place).decode("rgb8")
    return lambda: by_fifty(ds)


def picture_batches(library: Any, place: str) -> Passes:
    """Photographs of one size, decoded and stacked: only the library's own stages."""
    ds = whole(library, place).shuffle(BUFFER).decode("rgb8")
    return lambda: (len(labels) for _, labels in ds.to_tuple("jpg", "cls").batched(64))


def by_fifty(items: Iterable[Any]) -> Iterator[int]:
    """Counts of items, often enough for a clock between them."""
    iterator = iter(items)
    while count := sum(1 for _ in itertools.islice(iterator, 50)):
        yield count


def augmented(library: Any, place: str) -> Passes:
    """The user's own function: Pillow's picture through torchvision, in 2 workers."""
    loader = library.WebLoader(
        augmented_pipeline(library, place).batched(64), batch_size=None, num_workers=2
    )
    return lambda: (len(images) for images, _ in loader)


def augmented_pipeline(library: Any, place: str) -> Any:
    import torch
    from torchvision.transforms import v2

    torch.set_num_threads(1)
    transform = v2.Compose([v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), v2.PILToTensor()])
    return whole(library, place).decode("pil").to_tuple("jpg", "cls").map_tuple(transform)


PIPELINES = (
    dictionaries,
    shuffled_batches,
    array_batches,
    worker_batches,
    pictures,
    picture_batches,
    augmented,
)


def reader(pipeline: Callable[[Any, str], Passes], library: str) -> Callable[[str, int], Passes]:
    @functools.wraps(pipeline)
    def read(place: str, threads: int) -> Passes:
        return pipeline(importlib.import_module(LIBRARIES[library]), place)

    return read


def decoder_alone(place: str, threads: int) -> Passes:
    """Our decoder over pictures that are in memory already: the limit of `pictures`."""
    from headrace.webdataset import imagehandler

    library = importlib.import_module("headrace.webdataset")
    decode = imagehandler("rgb8")
    files = [sample["jpg"] for sample in whole(library, place).slice(1000)]
    return lambda: by_fifty(decode(".jpg", file) for file in files)


READERS: dict[str, Callable[[str, int], Passes]] = {
    f"{library}_{pipeline.__name__}": reader(pipeline, library)
    for pipeline in PIPELINES
    for library in LIBRARIES
} | {"decoder_alone": decoder_alone, "our_exact_batches": reader(exact_batches, "our")}
