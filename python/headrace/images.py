"""Recipes of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from . import _native
from .image_ops import ImageOps, _floats, _one_of

__all__ = ["Image", "image"]

FloatType = Literal["float16", "bfloat16", "float32"]
FLOAT_TYPES = ("float16", "bfloat16", "float32")


class Image(ImageOps):
    """The recipe of a picture column: JPEG, PNG, WebP, GIF, TIFF, BMP, PBM/PGM/PPM or AVIF, told
    apart by its first bytes; of several frames or pages the first.

    The operations (`ImageOps`) run in the order given. Randomness is a pure function of the
    loader's seed, the epoch, the sample's position and the operation's number, so it does not
    depend on threads or ranks; `loader.explain(position)` tells what was drawn.

    The column is one array of shape (rows, channels, height, width) if the last crop or resize
    fixes the size, else a `Ragged` of (channels, height, width) pictures. uint8 unless
    `normalize` or `to_float` makes it floats (bfloat16 needs `to="torch"`, as numpy lacks it).
    """

    __slots__ = ()

    def normalize(
        self,
        mean: float | Sequence[float],
        std: float | Sequence[float],
        dtype: FloatType = "float32",
    ) -> Image:
        """(value / 255 - mean) / std, a number for all channels or one each. Computed in float32,
        as torch does it, then rounded to `dtype`. Only `random_erasing` may follow."""
        _one_of("dtype", dtype, FLOAT_TYPES)
        changed: Image = self._with(dtype=dtype)
        return changed._op("normalize", mean=_floats(mean), std=_floats(std))

    def gray(self) -> Image:
        """One channel."""
        gray: Image = self._with(channels="gray")
        return gray

    def channels(self, channels: Literal["rgb", "gray", "rgba", "unchanged"]) -> Image:
        """Which channels a row has. "unchanged": those of the file (1 to 4)."""
        _one_of("channels", channels, ("rgb", "gray", "rgba", "unchanged"))
        changed: Image = self._with(channels=channels)
        return changed

    def to_float(self, dtype: FloatType = "float32") -> Image:
        """Floats in [0, 1]."""
        _one_of("dtype", dtype, FLOAT_TYPES)
        changed: Image = self._with(dtype=dtype, unit_range=True)
        return changed

    def layout(self, layout: Literal["CHW", "HWC", "channels_last"]) -> Image:
        """The order of a row's dimensions: channels first (the default) or last. "channels_last" is
        what torch calls so: the shape of CHW over the memory of HWC."""
        _one_of("layout", layout, ("CHW", "HWC", "channels_last"))
        changed: Image = self._with(layout=layout)
        return changed

    def __repr__(self) -> str:
        text = super().__repr__()
        for op in self._spec["ops"]:
            arguments = ", ".join(f"{name}={value}" for name, value in op.items() if name != "op")
            text += f".{op['op']}({arguments})"
        return text


def image(
    sources: str = "jpg;jpeg;png;webp;gif;tif;tiff;bmp;ppm;pgm;pbm;avif",
    *,
    decode: Literal["exact", "fast"] = "exact",
    upright: bool = True,
    pixel_limit: int = _native.PIXEL_LIMIT,
    default: bytes | None = None,
) -> Image:
    """Pictures: RGB, uint8, channels first, unless its methods say otherwise.

    Args:
        sources: fields of a sample, as "jpg;png".
        decode: "exact" gives the very pixels of the codec's defaults, so those of Pillow. "fast"
            trades some of that for speed: a faster transform, colours not interpolated, and
            pictures that are made smaller by half or more may be decoded at 1/2, 1/4 or 1/8 of
            their size.
        upright: turn the picture as its EXIF orientation says.
        pixel_limit: a picture of more pixels is a `DataError`, as it may be a bomb.
        default: an encoded picture for samples that have none of the sources.
    """
    _one_of("decode", decode, ("exact", "fast"))
    return Image(
        {
            "kind": "image",
            "sources": sources,
            "default": default,
            "channels": "rgb",
            "ops": [],
            "dtype": "uint8",
            "unit_range": False,
            "layout": "CHW",
            "decode": decode,
            "upright": bool(upright),
            "pixel_limit": int(pixel_limit),
        }
    )
