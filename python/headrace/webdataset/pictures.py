"""Image specs: what `decode("rgb8")` and its like make of picture files.

Pictures are decoded in C++ where that gives Pillow's values; all others, and damaged files, by
Pillow itself, which also makes the specs of `pil`.
"""

from __future__ import annotations

import io
from typing import Any

from . import utils

# fmt: off
IMAGE_EXTENSIONS: list[str] = [
    "blp", "bmp", "dib", "bufr", "cur", "pcx", "dcx", "dds", "ps", "eps", "fit", "fits", "fli",
    "flc", "ftc", "ftu", "gbr", "gif", "grib", "h5", "hdf", "png", "apng", "jp2", "j2k", "jpc",
    "jpf", "jpx", "j2c", "icns", "ico", "im", "iim", "tif", "tiff", "jfif", "jpe", "jpg", "jpeg",
    "mpg", "mpeg", "msp", "pcd", "pxr", "pbm", "pgm", "ppm", "pnm", "psd", "bw", "rgb", "rgba",
    "sgi", "ras", "tga", "icb", "vda", "vst", "webp", "wmf", "emf", "xbm", "xpm",
]
# fmt: on

#: Spec -> (what comes out, numbers, channels).
imagespecs: dict[str, tuple[str, str | None, str]] = {
    "l8": ("numpy", "uint8", "l"),
    "rgb8": ("numpy", "uint8", "rgb"),
    "rgba8": ("numpy", "uint8", "rgba"),
    "l": ("numpy", "float", "l"),
    "rgb": ("numpy", "float", "rgb"),
    "rgba": ("numpy", "float", "rgba"),
    "torchl8": ("torch", "uint8", "l"),
    "torchrgb8": ("torch", "uint8", "rgb"),
    "torchrgba8": ("torch", "uint8", "rgba"),
    "torchl": ("torch", "float", "l"),
    "torchrgb": ("torch", "float", "rgb"),
    "torch": ("torch", "float", "rgb"),
    "torchrgba": ("torch", "float", "rgba"),
    "pill": ("pil", None, "l"),
    "pil": ("pil", None, "rgb"),
    "pilrgb": ("pil", None, "rgb"),
    "pilrgba": ("pil", None, "rgba"),
}


class ImageHandler:
    """Decodes fields with an image's extension as `imagespec` says. ValueError: no such spec.

    l, rgb, rgba: arrays (H, W) or (H, W, C) of float32 from 0 to 1; with an 8: uint8; with torch
    in front: tensors, (C, H, W); pil, pill, pilrgb, pilrgba: a Pillow image of that mode.
    """

    def __init__(self, imagespec: str, extensions: list[str] = IMAGE_EXTENSIONS) -> None:
        if imagespec not in imagespecs:
            raise ValueError(f"unknown imagespec: {imagespec}")
        self.imagespec = imagespec.lower()
        self.extensions = set(extensions)
        self._pictures: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pictures": None}

    def is_picture(self, key: str) -> bool:
        """By the last extension, whatever its case."""
        return key[key.rfind(".") + 1 :].lower() in self.extensions

    def pictures(self) -> Any:
        """The decoder in C++; None for the specs of Pillow."""
        if self._pictures is None:
            kind, numbers, channels = imagespecs[self.imagespec]
            if kind != "pil":
                from .. import _native

                self._pictures = _native.Pictures(
                    channels, floats=numbers == "float", planes=kind == "torch"
                )
        return self._pictures

    def finished(self, array: Any) -> Any:
        """What the spec makes of the decoder's array."""
        if imagespecs[self.imagespec][0] != "torch":
            return array
        import torch

        return torch.from_numpy(array)

    def __call__(self, key: str, data: bytes) -> Any:
        if not self.is_picture(key):
            return None
        pictures = self.pictures()
        array = pictures.decode(data) if pictures is not None and isinstance(data, bytes) else None
        return self._by_pillow(data) if array is None else self.finished(array)

    def _by_pillow(self, data: bytes) -> Any:
        import PIL.Image

        kind, numbers, channels = imagespecs[self.imagespec]
        with io.BytesIO(data) as stream:
            picture: Any = PIL.Image.open(stream)
            if kind == "pil" and channels == "rgb" and not utils.strict_compat():
                from .waiting_picture import waiting

                if (later := waiting(picture, data)) is not None:
                    return later
            picture.load()
            picture = picture.convert(channels.upper())
        if kind == "pil":
            return picture
        import numpy as np

        array = np.asarray(picture)
        if numbers == "float":
            array = array.astype(np.float32) / np.float32(255)
        if kind == "numpy":
            return array
        planes = array if array.ndim == 2 else np.moveaxis(array, -1, 0)
        return self.finished(np.array(planes, order="C"))


def imagehandler(imagespec: str, extensions: list[str] = IMAGE_EXTENSIONS) -> ImageHandler:
    """The same as ImageHandler."""
    return ImageHandler(imagespec, extensions)
