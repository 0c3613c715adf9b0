"""Pillow pictures of JPEG files that wait with decoding until somebody looks at their pixels.

`decode("pil")` gives them where decoding later cannot fail. Most training transforms begin with a
crop that is scaled at once: then only that part is decoded, and scaled by the engine, with the very
bytes that Pillow's `crop` and `resize` give. Whatever else is asked of a picture makes it a plain
`PIL.Image.Image` first.
"""

from __future__ import annotations

import io
from typing import Any

import PIL
from PIL import Image

from .. import _native

_Corners = tuple[int, int, int, int]  # left, top, right, bottom

#: Pictures keep their pixels in `_im` since Pillow 11; from 13 on it scales in another order.
_CAN_WAIT = "_im" in vars(Image.Image())
_SCALES_ALIKE = int(PIL.__version__.split(".")[0]) < 13
_SLIVER = 100  # taller ones Pillow scales down the columns first
_MOST_SCALED = 1 << 26  # pixels; more is Pillow's business


def waiting(opened: Image.Image, file: bytes) -> Image.Image | None:
    """The RGB picture of a file that Pillow has opened; None if it should be decoded now."""
    if not (_CAN_WAIT and opened.format in ("JPEG", "MPO") and opened.mode in ("RGB", "L")):
        return None
    if not _native.jpeg_may_wait(file):
        return None
    return _waiting(file, (0, 0, *opened.size), opened.info)


def _waiting(file: bytes, corners: _Corners, info: dict[Any, Any]) -> Image.Image:
    left, top, right, bottom = corners
    picture: Any = Image.Image()
    picture._mode, picture._size = "RGB", (right - left, bottom - top)
    picture.info = info.copy()
    picture.__dict__["_waiting"] = file, corners
    _set_class(picture, WaitingPicture)
    return picture  # type: ignore[no-any-return]


class WaitingPicture(Image.Image):
    """A part of a JPEG file. Becomes an Image.Image when its pixels are needed.

    Threads may share one to look at it, as they may any picture of Pillow's: so what waits is taken
    away last, and may be gone when a thread comes to it.
    """

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return Image.Image

    @property
    def _im(self) -> Any:
        return _decoded(self)

    @_im.setter
    def _im(self, value: Any) -> None:
        _become_plain(self, value)

    def __reduce_ex__(self, protocol: Any) -> Any:
        self.load()
        return super(Image.Image, self).__reduce_ex__(protocol)

    def crop(self, box: Any = None) -> Image.Image:
        corners, waits = _inside(self, box), self.__dict__.get("_waiting")
        if corners is None or waits is None:
            return Image.Image.crop(self, box)
        file, (left, top, _, _) = waits
        x0, y0, x1, y1 = corners
        return _waiting(file, (left + x0, top + y0, left + x1, top + y1), self.info)

    def resize(
        self, size: Any, resample: Any = None, box: Any = None, reducing_gap: Any = None
    ) -> Image.Image:
        scaled = None
        if box is None and reducing_gap is None and _SCALES_ALIKE:
            scaled = _scaled(self, tuple(size), resample)
        if scaled is None:
            return Image.Image.resize(self, size, resample, box, reducing_gap)
        return scaled


def _inside(picture: Any, box: Any) -> _Corners | None:
    """The box in whole numbers if it is in the picture and has a pixel."""
    if box is None or len(box) != 4:
        return None
    left, top, right, bottom = map(int, map(round, box))
    width, height = picture.size
    if 0 <= left < right <= width and 0 <= top < bottom <= height:
        return left, top, right, bottom
    return None


def _scaled(picture: Any, size: Any, resample: Any) -> Image.Image | None:
    if len(size) != 2 or not all(type(side) is int and side > 0 for side in size):
        return None
    if size == picture.size or size[0] * size[1] > _MOST_SCALED:
        return None
    if picture.height > _SLIVER * picture.width:
        return None
    if (waits := picture.__dict__.get("_waiting")) is None:
        return None
    file, corners = waits
    resample = Image.Resampling.BICUBIC if resample is None else resample
    pixels = _native.jpeg_resized(file, corners, size, int(resample))
    if pixels is None:
        return None
    return picture._new(_on_memory(size, pixels))  # type: ignore[no-any-return]


def _on_memory(size: tuple[int, int], array: Any) -> Any:
    """Pillow's own kind of picture, on this memory."""
    return Image.core.map_buffer(array, size, "raw", 0, ("RGB", 0, 1))  # type: ignore[attr-defined]


def _decoded(picture: Any) -> Any:
    if (waits := picture.__dict__.get("_waiting")) is None:
        return picture.__dict__["_im"]
    file, corners = waits
    pixels = _native.jpeg_pixels(file, corners)
    if pixels is not None:
        pixels = _on_memory(picture.size, pixels)
    else:  # damaged inside: Pillow gives what there is
        with io.BytesIO(file) as stream:
            pixels = Image.open(stream).convert("RGB").im.crop(corners)
    if "_waiting" in picture.__dict__:
        _become_plain(picture, pixels)
    return picture.__dict__["_im"]


def _become_plain(picture: Any, pixels: Any) -> None:
    picture.__dict__["_im"] = pixels
    _set_class(picture, Image.Image)
    picture.__dict__.pop("_waiting", None)


def _set_class(picture: Any, cls: type) -> None:
    object.__dict__["__class__"].__set__(picture, cls)
