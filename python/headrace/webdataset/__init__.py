"""The interface that WebDataset users know, on Headrace's engine.

    import headrace.webdataset as wds

    data = (
        wds.WebDataset("shards/train-{000000..000127}.tar", shardshuffle=100)
        .shuffle(1000)
        .decode("rgb8")
        .to_tuple("jpg;png", "cls")
        .batched(64)
    )

Names, arguments and defaults are those of webdataset 1.0.2, functions and the fluid form alike.
Names are imported when they are first used, torch only when a stage needs it.
"""

from __future__ import annotations

import importlib
from typing import Any

from .gopen import gopen as gopen
from .gopen import gopen_schemes as gopen_schemes

__version__ = "1.0.2"

_NAMES = {
    "autodecode": (
        "Continue Decoder DecodingError gzfilter handle_extension imagehandler "
        "pytorch_weights_only torch_audio torch_loads torch_video"
    ),
    "cache": "LRUCleanup pipe_cleaner",
    "compat": "FluidInterface FluidWrapper WebDataset WebLoader",
    "extradatasets": "MockDataset with_epoch with_length",
    "filters": (
        "Cached LMDBCached associate batched decode detshuffle extract_keys getfirst info map "
        "map_dict map_tuple pipelinefilter rename rename_keys rsample select shuffle slice "
        "to_tuple transform_with unbatched xdecode"
    ),
    "handlers": (
        "ignore_and_continue ignore_and_stop reraise_exception warn_and_continue warn_and_stop"
    ),
    "mix": "RandomMix RoundRobin",
    "pipeline": "DataPipeline",
    "shardlists": (
        "MultiShardSample ResampledShards SimpleShardList non_empty resampled shardspec "
        "single_node_only split_by_node split_by_worker"
    ),
    "tariterators": "tarfile_samples tarfile_to_samples",
    "utils": "PipelineStage repeatedly",
    "writer": "ShardWriter TarWriter numpy_dumps torch_dumps",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = (*_NAMES, "pytorch", "tenbin")

__all__ = sorted({*_HOME, *_MODULES, "gopen", "gopen_schemes"})


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    elif name in _MODULES:
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
