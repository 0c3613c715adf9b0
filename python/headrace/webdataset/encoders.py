"""What a value becomes in a tar, by the extension of its field.

    {"cls": 3, "seg.png": array, "json": {"a": 1}, "txt": "a cat"}
       └ b"3"   └ a PNG file      └ b'{"a": 1}'     └ UTF-8

The names and rules are those of `webdataset.writer`, which re-exports them. Where they differ:
`pbm` and `pgm` write such pictures (there they raise KeyError).
"""

from __future__ import annotations

import gzip
import io
import json
import pickle
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import tenbin

Handlers = dict[str, Callable[[Any], Any]]

# --- One value -----------------------------------------------------------------------------------

_PILLOW_NAMES = {"JPG": "JPEG", "IMG": "PPM", "IMAGE": "PPM", "PBM": "PPM", "PGM": "PPM"}
_PILLOW_MODES = {"PBM": "1", "PGM": "L"}  # what makes the PPM writer write those


def imageencoder(image: Any, format: str = "PNG") -> bytes:
    """A picture file, by Pillow.

    `image` is a PIL image or an array (h, w) or (h, w, 3): uint8, or float32 and float64 in 0..1.
    `format` is one of Pillow's, or an extension. JPEG and TIFF are written with quality 100.
    Raises ValueError for floats outside of 0..1, AssertionError for other kinds and shapes.
    """
    import PIL.Image

    assert isinstance(image, PIL.Image.Image | np.ndarray), type(image)
    if isinstance(image, np.ndarray):
        assert image.ndim == 2 or (image.ndim == 3 and image.shape[2] in (1, 3)), image.shape
        image = PIL.Image.fromarray(_eight_bits(image))
    wanted = format.upper()
    if wanted in _PILLOW_MODES:
        image = image.convert(_PILLOW_MODES[wanted])
    name = _PILLOW_NAMES.get(wanted, wanted)
    stream = io.BytesIO()
    image.save(stream, format=name, **({"quality": 100} if name in ("JPEG", "TIFF") else {}))
    return stream.getvalue()


def _eight_bits(image: Any) -> Any:
    """Floats in 0..1 as uint8, a little rounding error at both ends allowed; the rest as it is."""
    if image.dtype not in (np.float32, np.float64):
        return image
    low, high = image.min(), image.max()
    if low <= -0.001 or high >= 1.001:
        raise ValueError(f"pixels must be from 0 to 1, these are from {low} to {high}")
    return (image.clip(0.0, 1.0) * 255.0).astype(np.uint8)


def bytestr(data: Any) -> bytes:
    """Bytes as they are, everything else as ASCII text."""
    return data if isinstance(data, bytes) else str(data).encode("ascii")


def torch_dumps(data: Any) -> bytes:
    """What `torch.save` writes."""
    import torch

    stream = io.BytesIO()
    torch.save(data, stream)
    return stream.getvalue()


def numpy_dumps(data: np.ndarray) -> bytes:  # type: ignore[type-arg]
    """An array as a .npy file."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, data)  # type: ignore[no-untyped-call]
    return stream.getvalue()


def numpy_npz_dumps(data: dict[str, np.ndarray]) -> bytes:  # type: ignore[type-arg]
    """Named arrays as a compressed .npz file. Raises AssertionError for anything else."""
    assert isinstance(data, dict), type(data)
    assert all(isinstance(k, str) and isinstance(v, np.ndarray) for k, v in data.items())
    stream = io.BytesIO()
    np.savez_compressed(stream, **data)  # type: ignore[arg-type]
    return stream.getvalue()


def tenbin_dumps(x: Any) -> memoryview:
    """An array, or a list of arrays, in the tenbin format."""
    return memoryview(tenbin.encode_buffer(x if isinstance(x, list) else [x]))


def cbor_dumps(x: Any) -> bytes:
    """As CBOR, by the package cbor."""
    import cbor  # type: ignore[import-not-found, import-untyped, unused-ignore]

    packed: bytes = cbor.dumps(x)
    return packed


def mp_dumps(x: Any) -> bytes:
    """As MessagePack, by the package msgpack."""
    import msgpack  # type: ignore[import-not-found, import-untyped, unused-ignore]

    packed: bytes = msgpack.packb(x)
    return packed


# --- By extension --------------------------------------------------------------------------------


def add_handlers(d: Handlers, keys: str | Iterable[str], value: Callable[[Any], Any]) -> None:
    """Puts `value` into `d` under each of the extensions, which a str separates by spaces."""
    d.update(dict.fromkeys(keys.split() if isinstance(keys, str) else keys, value))


def _text(value: Any) -> bytes:
    encoded: bytes = value.encode("utf-8")
    return encoded


def _number(value: Any) -> bytes:
    return str(value).encode("ascii")


def _json(value: Any) -> bytes:
    return json.dumps(value).encode("utf-8")


def _picture(format: str) -> Callable[[Any], bytes]:
    return lambda image: imageencoder(image, format)


def make_handlers() -> Handlers:
    """Extension -> encoder, a fresh dictionary."""
    handlers: Handlers = {}
    add_handlers(handlers, "cls cls2 class count index inx id", _number)
    add_handlers(handlers, "txt text transcript html htm", _text)
    add_handlers(handlers, "pyd pickle", pickle.dumps)
    add_handlers(handlers, "pth", torch_dumps)
    add_handlers(handlers, "npy", numpy_dumps)
    add_handlers(handlers, "npz", numpy_npz_dumps)
    add_handlers(handlers, "ten tenbin tb", tenbin_dumps)
    add_handlers(handlers, "json jsn", _json)
    add_handlers(handlers, "mp msgpack msg", mp_dumps)
    add_handlers(handlers, "cbor", cbor_dumps)
    add_handlers(handlers, "jpg jpeg img image", _picture("jpg"))
    for format in ("png", "pbm", "pgm", "ppm"):
        add_handlers(handlers, format, _picture(format))
    add_handlers(handlers, "tiff tif", _picture("tiff"))
    return handlers


default_handlers = make_handlers()


def encode_based_on_extension1(data: Any, tname: str, handlers: Handlers) -> Any:
    """The value of one field, encoded.

    Bytes stay, text becomes UTF-8, the rest goes to the handler of the last part of `tname`; a
    trailing `.gz` compresses the result. Fields that begin with `_` must be text and stay it.
    Raises ValueError for those that are not, and where there is no handler.
    """
    if tname.startswith("_"):
        if not isinstance(data, str):
            raise ValueError(f"{tname}: metadata must be of type str, not {type(data).__name__}")
        return data
    name = tname.removesuffix(".gz")
    if isinstance(data, bytes | str):
        encoded: Any = data.encode("utf-8") if isinstance(data, str) else data
    else:
        handler = handlers.get(name.rpartition(".")[2].lower())
        if handler is None:
            raise ValueError(f"{tname}: no encoder for this extension and {type(data).__name__}")
        encoded = handler(data)
    return encoded if name is tname or name == tname else gzip.compress(encoded)


def encode_based_on_extension(sample: dict[str, Any], handlers: Handlers) -> dict[str, Any]:
    """Each field of a sample, encoded."""
    return {
        name: encode_based_on_extension1(value, name, handlers)
        for name, value in list(sample.items())
    }


def make_encoder(spec: Any) -> Callable[[Any], Any]:
    """The encoder of samples that TarWriter's `encoder` asks for.

    None and False: samples as they are; True: by extension; a dictionary: by these extensions; a
    function: that. Raises ValueError for anything else.
    """
    if spec is None or spec is False:
        return _as_it_is
    if callable(spec):
        function: Callable[[Any], Any] = spec
        return function
    handlers = default_handlers if spec is True else spec
    if not isinstance(handlers, dict):
        raise ValueError(f"encoder {spec!r} is none of True, False, None, a function, a dictionary")
    return lambda sample: encode_based_on_extension(sample, handlers)


def _as_it_is(sample: Any) -> Any:
    return sample
