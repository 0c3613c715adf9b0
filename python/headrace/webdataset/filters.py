"""All stages: `_x(src, …)` runs one, `x(…)` makes one for a pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from .cached import Cached, LMDBCached
from .collation import _batched, _unbatched, _unlisted, combine_values, default_collation_fn
from .currying import (
    FilterFunction,
    RestCurried,
    compose,
    compose2,
    pipeline,
    pipelinefilter,
)
from .fields import (
    _associate,
    _extract_keys,
    _rename,
    _rename_keys,
    _to_tuple,
    dict2tuple,
    getfirst,
    parse_field_spec,
    tuple2dict,
)
from .handlers import Handler, reraise_exception
from .inspection import _info, _log_keys
from .mapping import _map, _map_dict, _map_tuple, _rsample, _select, transform_with
from .shuffling import _shuffle as _shuffle  # training code imports it
from .shuffling import detshuffle, pick
from .stream_decoding import (
    _xdecode,
    decode_bin,
    decode_pickle,
    decode_text,
    default_decoders,
    find_decoder,
)
from .utils import PipelineStage, identity

__all__ = [
    "Cached",
    "FilterFunction",
    "LMDBCached",
    "PipelineStage",
    "RestCurried",
    "associate",
    "batched",
    "combine_values",
    "compose",
    "compose2",
    "decode",
    "decode_bin",
    "decode_pickle",
    "decode_text",
    "default_collation_fn",
    "default_decoders",
    "detshuffle",
    "dict2tuple",
    "extract_keys",
    "find_decoder",
    "getfirst",
    "identity",
    "info",
    "log_keys",
    "map",
    "map_dict",
    "map_tuple",
    "parse_field_spec",
    "pick",
    "pipeline",
    "pipelinefilter",
    "rename",
    "rename_keys",
    "reraise_exception",
    "rsample",
    "select",
    "shuffle",
    "slice",
    "to_tuple",
    "transform_with",
    "tuple2dict",
    "unbatched",
    "unlisted",
    "xdecode",
]


def _decode(
    data: Iterable[Any], *args: Any, handler: Handler = reraise_exception, **kw: Any
) -> Iterator[Any]:
    """Decodes the fields of samples: see autodecode.Decoder."""
    from .autodecode import Decoder

    decoder = Decoder(list(args), **kw)
    for sample in data:
        try:
            result = decoder(sample)
        except Exception as exn:
            if handler(exn):
                continue
            break
        yield result


associate = pipelinefilter(_associate)
batched = pipelinefilter(_batched)
decode = pipelinefilter(_decode)
extract_keys = pipelinefilter(_extract_keys)
info = pipelinefilter(_info)
log_keys = pipelinefilter(_log_keys)
map = pipelinefilter(_map)
map_dict = pipelinefilter(_map_dict)
map_tuple = pipelinefilter(_map_tuple)
rename = pipelinefilter(_rename)
rename_keys = pipelinefilter(_rename_keys)
rsample = pipelinefilter(_rsample)
select = pipelinefilter(_select)
shuffle = pipelinefilter(_shuffle)
slice = pipelinefilter(islice)
to_tuple = pipelinefilter(_to_tuple)
unbatched = pipelinefilter(_unbatched)
unlisted = pipelinefilter(_unlisted)
xdecode = pipelinefilter(_xdecode)
