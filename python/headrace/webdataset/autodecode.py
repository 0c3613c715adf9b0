"""Decoding by field name: `ds.decode("rgb8")`, and the handlers that one may add.

A handler is `f(key, data)`, with the key as ".jpg" or ".seg.png" and the bytes; it returns the
value, None where it is not its business, or `Continue` with another key and data.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import os
from collections.abc import Callable
from typing import Any

from . import utils
from .pictures import IMAGE_EXTENSIONS, ImageHandler, imagehandler, imagespecs

__all__ = [
    "IMAGE_EXTENSIONS",
    "Continue",
    "Decoder",
    "DecodingError",
    "ImageHandler",
    "basichandlers",
    "call_extension_handler",
    "decoders",
    "gzfilter",
    "handle_extension",
    "imagehandler",
    "imagespecs",
    "torch_audio",
    "torch_loads",
    "torch_video",
    "unpickle_loads",
]

#: Settable. True: torch.load takes tensors only (weights_only).
pytorch_weights_only: bool = os.environ.get("WDS_PYTORCH_WEIGHTS_ONLY", "0") not in ("", "0")

KeyHandler = Callable[[str, bytes], Any]


def torch_loads(data: bytes) -> Any:
    """A file of torch.save, on the CPU."""
    utils.refuse_if_secure("torch.loads is not allowed")
    import torch

    if not pytorch_weights_only:
        utils.warn_of_pickle("A file of torch.save")
    return torch.load(io.BytesIO(data), map_location="cpu", weights_only=pytorch_weights_only)


def tenbin_loads(data: bytes) -> Any:
    from . import tenbin

    return tenbin.decode_buffer(data)


def msgpack_loads(data: bytes) -> Any:
    import msgpack  # type: ignore[import-untyped, import-not-found, unused-ignore]

    return msgpack.unpackb(data)


def npy_loads(data: bytes) -> Any:
    from .. import _native

    array = _native.npy_array(data) if isinstance(data, bytes) else None
    if array is not None:
        return array
    import numpy.lib.format

    return numpy.lib.format.read_array(io.BytesIO(data))  # type: ignore[no-untyped-call]


def npz_loads(data: bytes) -> dict[str, Any]:
    import numpy

    return dict(numpy.load(io.BytesIO(data)))


def cbor_loads(data: bytes) -> Any:
    import cbor  # type: ignore[import-untyped, import-not-found, unused-ignore]

    return cbor.loads(data)


def unpickle_loads(data: bytes) -> Any:
    """Unpickles, with one warning; ValueError where `enforce_security` is set."""
    utils.refuse_if_secure("Unpickling is not allowed")
    utils.warn_of_pickle("A pickle")
    import pickle

    return pickle.loads(data)


def _text(data: bytes) -> str:
    return data.decode("utf-8")


_own_npy_loads = npy_loads


def _late(name: str) -> Callable[[bytes], Any]:
    """Looks the function up when it is called, so that it may be replaced in this module."""
    return lambda data: globals()[name](data)


_decode_npy = _late("npy_loads")

#: Extension -> f(bytes). Users may add to it.
decoders: dict[str, Callable[[bytes], Any]] = {
    **dict.fromkeys(("txt", "text", "transcript"), _text),
    **dict.fromkeys(("cls", "cls2", "index", "inx", "id"), int),
    **dict.fromkeys(("json", "jsn"), json.loads),
    **dict.fromkeys(("pyd", "pickle", "pkl"), _late("unpickle_loads")),
    "pth": _late("torch_loads"),
    **dict.fromkeys(("ten", "tb"), _late("tenbin_loads")),
    **dict.fromkeys(("mp", "msg"), _late("msgpack_loads")),
    "npy": _decode_npy,
    "npz": _late("npz_loads"),
    "cbor": _late("cbor_loads"),
}


_own_decoders = set(decoders.values())

#: What a sample has besides its fields.
UNDECODED = ("__key__", "__url__", "__local_path__")


class Continue:
    """What a handler returns to have the other handlers look at another key and data."""

    def __init__(self, key: str, data: bytes) -> None:
        self.key = key
        self.data = data


def basichandlers(key: str, data: bytes) -> Any:
    """The decoders by extension."""
    decode = decoders.get(key[key.rfind(".") + 1 :])
    return decode(data) if decode is not None else None


def call_extension_handler(
    key: str, data: bytes, f: Callable[[bytes], Any], extensions: list[str]
) -> Any:
    """f(data) where the key ends in one of the extensions, part by part."""
    parts = key.lower().split(".")
    for extension in extensions:
        wanted = extension.split(".")
        if len(wanted) <= len(parts) and parts[-len(wanted) :] == wanted:
            return f(data)
    return None


def handle_extension(extensions: str, f: Callable[[bytes], Any]) -> KeyHandler:
    """A handler that applies f to fields with these extensions ("jpg seg.png")."""
    return functools.partial(call_extension_handler, f=f, extensions=extensions.lower().split())


def gzfilter(key: str, data: bytes) -> Any:
    """Unpacks what ends in .gz, and goes on without the .gz."""
    if not key.endswith(".gz"):
        return None
    return Continue(key[:-3], gzip.decompress(data))


def torch_video(key: str, data: bytes) -> Any:
    """Handler for video files, by torchvision."""
    extension = key[key.rfind(".") + 1 :]
    if extension not in ["mp4", "ogv", "mjpeg", "avi", "mov", "h264", "mpg", "webm", "wmv"]:
        return None
    import tempfile

    import torchvision.io  # type: ignore[import-untyped, unused-ignore]

    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, f"file.{extension}")
        with open(name, "wb") as stream:
            stream.write(data)
        return torchvision.io.read_video(name, pts_unit="sec")


def torch_audio(key: str, data: bytes) -> Any:
    """Handler for audio files, by torchaudio."""
    extension = key[key.rfind(".") + 1 :]
    if extension not in ["flac", "mp3", "sox", "wav", "m4a", "ogg", "wma"]:
        return None
    import torchaudio  # type: ignore[import-untyped, import-not-found, unused-ignore]

    return torchaudio.load(io.BytesIO(data))


class DecodingError(Exception):
    """A field could not be decoded; the cause is `__cause__`."""

    def __init__(self, url: Any = None, key: Any = None, k: Any = None, sample: Any = None) -> None:
        super().__init__(url, key, k)
        self.url = url
        self.key = key
        self.k = k
        self.sample = sample


default_pre_handlers: list[KeyHandler] = [gzfilter]
default_post_handlers: list[KeyHandler] = [basichandlers]


class Decoder:
    """Decodes the fields of a sample: for each, the first answer of pre, handlers and post.

    A text among the handlers is an image spec. `only`: fields to decode (text with spaces, or a
    list). `partial`: values that are no bytes are left as they are instead of being an error.
    """

    def __init__(
        self,
        handlers: list[Any],
        pre: list[KeyHandler] | None = None,
        post: list[KeyHandler] | None = None,
        only: Any = None,
        partial: bool = False,
    ) -> None:
        self.only = (
            set(only.split() if isinstance(only, str) else only) if only is not None else None
        )
        pre = default_pre_handlers if pre is None else pre
        post = default_post_handlers if post is None else post
        assert all(callable(h) for h in handlers if not isinstance(h, str)), handlers
        assert all(callable(h) for h in [*pre, *post])
        own = [ImageHandler(h) if isinstance(h, str) else h for h in handlers]
        self.handlers: list[KeyHandler] = [*pre, *own, *post]
        self.partial = partial
        self._extensions: dict[str, str | None] = {}

    def decode1(self, key: str, data: bytes) -> Any:
        """The value of one field."""
        extension = self.plain_extension(key)
        if extension is not None:
            decode = decoders.get(extension)
            value = None if decode is None else decode(data)
            return data if value is None else value
        key = "." + key
        for handler in self.handlers:
            result = handler(key, data)
            if isinstance(result, Continue):
                key, data = result.key, result.data
            elif result is not None:
                return result
        return data

    def plain_extension(self, key: str) -> str | None:
        """The extension that alone decides how the field is decoded; None: others do, too."""
        if key not in self._extensions:
            self._extensions[key] = self._find_plain_extension(key)
        return self._extensions[key]

    def _find_plain_extension(self, key: str) -> str | None:
        pictures = self.handlers[1:-1]
        has_own = self.handlers[:1] == [gzfilter] and self.handlers[-1:] == [basichandlers]
        if not has_own or key.endswith(".gz"):
            return None
        if any(type(h) is not ImageHandler or h.is_picture(key) for h in pictures):
            return None
        return key[key.rfind(".") + 1 :]

    def is_own(self) -> bool:
        """Whether no handler is a function of the user."""
        pre, pictures, post = self.handlers[:1], self.handlers[1:-1], self.handlers[-1:]
        own = pre == [gzfilter] and post == [basichandlers]
        return own and all(type(h) is ImageHandler for h in pictures)

    def kind_in_columns(self, key: str) -> str | None:
        """How C++ makes a column of such fields, if the decoder `is_own`.

        Of a "value" as it is, an "integer", "text", "npy" or "picture" from bytes, or what a
        "function" of the package makes of them. None: the user has a function for it.
        """
        if key in UNDECODED:
            return "value"
        if key.startswith("__"):
            return None
        if self.only is not None and key not in self.only:
            return "value"
        if key.endswith(".gz"):
            return "function" if self.kind_in_columns(key[:-3]) else None
        extension = self.plain_extension(key)
        if extension is None:
            images = self.picture_handler()
            return "picture" if images is not None and images.pictures() else "function"
        decode = decoders.get(extension)
        if decode is _decode_npy:
            return "npy" if npy_loads is _own_npy_loads else None
        kinds: dict[Any, str] = {None: "value", int: "integer", _text: "text"}
        return kinds.get(decode, "function" if decode in _own_decoders else None)

    def _is_for_decoding(self, key: str, value: Any) -> bool:
        if self.only is not None and key not in self.only:
            return False
        return not self.partial or isinstance(value, bytes)

    def decode(self, sample: dict[str, Any]) -> dict[str, Any]:
        """A sample with its fields decoded."""
        return self.decode_rest(sample, {})

    def decode_rest(self, sample: dict[str, Any], ready: dict[str, Any]) -> dict[str, Any]:
        """The same, with those in `ready` decoded already."""
        assert isinstance(sample, dict), sample
        result: dict[str, Any] = {}
        for key, value in sample.items():
            if key in ready:
                result[key] = ready[key]
            elif key.startswith("__"):
                result[key] = value.decode("utf-8") if isinstance(value, bytes) else value
            elif not self._is_for_decoding(key, value):
                result[key] = value
            else:
                try:
                    assert isinstance(value, bytes), f"{key} is {type(value)}, not bytes"
                    result[key] = self.decode1(key, value)
                except Exception as exn:
                    raise DecodingError(
                        sample.get("__url__"), sample.get("__key__"), key, sample
                    ) from exn
        return result

    def __call__(self, sample: dict[str, Any]) -> dict[str, Any]:
        assert isinstance(sample, dict), (len(sample), sample)
        return self.decode(sample)

    def picture_handler(self) -> ImageHandler | None:
        """The handler that decides about pictures, if only the package's own handlers do."""
        images = [h for h in self.handlers if isinstance(h, ImageHandler)]
        others = {h for h in self.handlers if not isinstance(h, ImageHandler)}
        own = {gzfilter, basichandlers}
        return images[0] if len(images) == 1 and others <= own else None


default_decoder = Decoder([])
