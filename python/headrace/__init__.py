"""Headrace packs, reshapes and streams training data.

    import headrace as hr

    loader = (
        hr.open("shards/")
        .shuffle(seed=7)
        .decode(image=hr.image("jpg;png").random_resized_crop(224).flip(),
                label=hr.integer("cls"))
        .batch(256)
        .loader(to="torch")
    )
    for batch in loader:
        batch["image"], batch["label"]

Every sample comes exactly once an epoch, in an order that is a pure function of the seed, on any
number of ranks, resumable after any batch (`loader.state_dict()`).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .audit import AuditReport, audit_report
    from .batch import Batch, Ragged
    from .dataset import Dataset, Mix, Sample, View, mix, open
    from .errors import (
        ChangedError,
        DataError,
        DeniedError,
        Error,
        FunctionError,
        NoSpaceError,
        NotFoundError,
        Origin,
        PartialError,
        RowError,
        StateError,
        StoppedError,
        UsageError,
        WorkerError,
    )
    from .images import Image, image
    from .jobs import pack
    from .labels import boxes, mask
    from .loader import Loader, Stats
    from .network import HostStats, network_stats
    from .pipeline import Pipeline
    from .recipes import Field, bytes, float, integer, json, npy, text
    from .states import merge_states

__version__ = "0.1.0"

__all__ = [
    "AuditReport",
    "Batch",
    "ChangedError",
    "DataError",
    "Dataset",
    "DeniedError",
    "Error",
    "Field",
    "FunctionError",
    "HostStats",
    "Image",
    "Loader",
    "Mix",
    "NoSpaceError",
    "NotFoundError",
    "Origin",
    "PartialError",
    "Pipeline",
    "Ragged",
    "RowError",
    "Sample",
    "StateError",
    "Stats",
    "StoppedError",
    "UsageError",
    "View",
    "WorkerError",
    "audit_report",
    "boxes",
    "bytes",
    "float",
    "image",
    "integer",
    "json",
    "mask",
    "merge_states",
    "mix",
    "network_stats",
    "npy",
    "open",
    "pack",
    "text",
]

# Imported when first used: numpy alone takes longer than a script that lists files.
_NAMES = {
    "audit": "AuditReport audit_report",
    "batch": "Batch Ragged",
    "dataset": "Dataset Mix Sample View mix open",
    "errors": (
        "ChangedError DataError DeniedError Error FunctionError NoSpaceError NotFoundError "
        "Origin PartialError RowError StateError StoppedError UsageError WorkerError"
    ),
    "images": "Image image",
    "jobs": "pack",
    "labels": "boxes mask",
    "loader": "Loader Stats",
    "network": "HostStats network_stats",
    "pipeline": "Pipeline",
    "recipes": "Field bytes float integer json npy text",
    "states": "merge_states",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = (*_NAMES, "distributed", "webdataset")


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
