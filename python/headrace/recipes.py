"""Recipes: how the fields of a sample become the columns of a batch.

    .decode(image=hr.image("jpg;png").random_resized_crop(224).flip(),
            label=hr.integer("cls"),
            caption=hr.text("txt", default=""))

The argument names the fields of a sample to decode, tried in this order. A recipe never changes:
every method returns a new one.
"""

from __future__ import annotations

from builtins import bytes as _bytes
from builtins import float as _float
from collections.abc import Sequence
from typing import Any, Literal

from . import _native
from .errors import UsageError

__all__ = ["Field", "Image", "bytes", "float", "image", "integer", "json", "npy", "text"]

Size = int | tuple[int, int]
"""A square of that side, or (height, width); in pixels."""


class Field:
    """The recipe of one column. Made by `hr.integer`, `hr.text` and the others."""

    __slots__ = ("_spec",)
    _spec: dict[str, Any]

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec

    @property
    def kind(self) -> str:
        """ "bytes", "text", "json", "integer", "float", "npy" or "image"."""
        return str(self._spec["kind"])

    @property
    def sources(self) -> str:
        """The fields of a sample that it is made from, separated by semicolons."""
        return str(self._spec["sources"])

    def _with(self, **changes: Any) -> Any:
        return type(self)({**self._spec, **changes})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Field) and self._spec == other._spec

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        default = self._spec["default"]
        extra = "" if default is None else f", default={default!r}"
        return f"hr.{self.kind}({self.sources!r}{extra})"


class Image(Field):
    """The recipe of a picture column: JPEG, PNG or WebP, told apart by its first bytes.

    The operations run in the order given. Randomness is a pure function of the loader's seed, the
    epoch and the sample's position, so it does not depend on threads or ranks; two columns with
    the same geometric operations (a picture and its mask) get the same crops and flips.

    The column is one array of shape (rows, channels, height, width) if the last crop or resize
    fixes the size, else a `Ragged` of (channels, height, width) pictures. uint8 unless
    `normalize` or `to_float` makes it float32.
    """

    __slots__ = ()

    def _op(self, op: str, **options: Any) -> Image:
        added: Image = self._with(ops=[*self._spec["ops"], {"op": op, **options}])
        return added

    def resize(self, size: Size) -> Image:
        """Scales to exactly this size, antialiased bilinear, whatever the shape was."""
        height, width = _pair(size)
        return self._op("resize", height=height, width=width)

    def resize_shorter(self, pixels: int) -> Image:
        """Scales so that the shorter side has this length, keeping the aspect ratio."""
        return self._op("resize_shorter", height=int(pixels))

    def resize_longer(self, pixels: int) -> Image:
        """Scales so that the longer side has this length, keeping the aspect ratio."""
        return self._op("resize_longer", height=int(pixels))

    def center_crop(self, size: Size) -> Image:
        """Cuts the middle; a smaller picture gets zeros around it."""
        height, width = _pair(size)
        return self._op("center_crop", height=height, width=width)

    def random_crop(self, size: Size) -> Image:
        """Cuts at a place drawn uniformly; a smaller picture is a `DataError`."""
        height, width = _pair(size)
        return self._op("random_crop", height=height, width=width)

    def random_resized_crop(
        self,
        size: Size,
        *,
        scale: tuple[_float, _float] = (0.08, 1.0),
        ratio: tuple[_float, _float] = (3 / 4, 4 / 3),
    ) -> Image:
        """Cuts a box of random area (share `scale` of the picture) and aspect `ratio`, and scales
        it to `size`, with the distribution of torchvision's RandomResizedCrop."""
        height, width = _pair(size)
        return self._op(
            "random_resized_crop",
            height=height,
            width=width,
            scale=[_float(x) for x in scale],
            ratio=[_float(x) for x in ratio],
        )

    def flip(self, p: _float = 0.5) -> Image:
        """Mirrors left and right with probability `p`."""
        return self._op("flip", p=_float(p))

    def normalize(self, mean: _float | Sequence[_float], std: _float | Sequence[_float]) -> Image:
        """(value / 255 - mean) / std, a number for all channels or one each; float32. Last."""
        return self._op("normalize", mean=_floats(mean), std=_floats(std))

    def gray(self) -> Image:
        """One channel."""
        gray: Image = self._with(channels="gray")
        return gray

    def channels(self, channels: Literal["rgb", "gray", "rgba", "unchanged"]) -> Image:
        """Which channels a row has. "unchanged": those of the file (1 to 4)."""
        _one_of("channels", channels, ("rgb", "gray", "rgba", "unchanged"))
        changed: Image = self._with(channels=channels)
        return changed

    def to_float(self) -> Image:
        """float32 in [0, 1]."""
        changed: Image = self._with(dtype="float32", unit_range=True)
        return changed

    def layout(self, layout: Literal["CHW", "HWC"]) -> Image:
        """The order of a row's dimensions: channels first (the default) or last."""
        _one_of("layout", layout, ("CHW", "HWC"))
        changed: Image = self._with(layout=layout)
        return changed

    def __repr__(self) -> str:
        text = super().__repr__()
        for op in self._spec["ops"]:
            arguments = ", ".join(f"{name}={value}" for name, value in op.items() if name != "op")
            text += f".{op['op']}({arguments})"
        return text


def image(
    sources: str = "jpg;jpeg;png;webp",
    *,
    decode: Literal["exact", "fast"] = "exact",
    upright: bool = True,
    pixel_limit: int = _native.PIXEL_LIMIT,
    default: _bytes | None = None,
) -> Image:
    """Pictures: RGB, uint8, channels first, unless its methods say otherwise.

    Args:
        sources: fields of a sample, as "jpg;png".
        decode: "exact" gives the very pixels of the codec's defaults, so those of Pillow. "fast" trades
            some of that for speed: a faster transform, colours not interpolated, and pictures that
            are made smaller by half or more may be decoded at 1/2, 1/4 or 1/8 of their size.
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


def integer(sources: str = "cls", *, dtype: str = "int64", default: int | None = None) -> Field:
    """Decimal integers in ASCII: a column of shape (rows,) of any integer `dtype`."""
    text = None if default is None else str(int(default)).encode()
    return Field({"kind": "integer", "sources": sources, "dtype": dtype, "default": text})


def float(sources: str, *, dtype: str = "float32", default: _float | None = None) -> Field:
    """Decimal numbers in ASCII: a column of shape (rows,), float32 or float64."""
    text = None if default is None else repr(_float(default)).encode()
    return Field({"kind": "float", "sources": sources, "dtype": dtype, "default": text})


def text(sources: str = "txt", *, default: str | None = None) -> Field:
    """UTF-8 text: a `Ragged` whose rows are str. Bytes that are not UTF-8 are a `DataError`."""
    encoded = None if default is None else default.encode()
    return Field({"kind": "text", "sources": sources, "default": encoded})


def bytes(sources: str, *, default: _bytes | None = None) -> Field:
    """The field as it is: a `Ragged` whose rows are bytes."""
    return Field({"kind": "bytes", "sources": sources, "default": default})


_MISSING: Any = object()


def json(sources: str = "json", *, default: Any = _MISSING) -> Field:
    """JSON documents: a `Ragged` whose rows are Python objects, parsed when they are looked at."""
    encoded = None
    if default is not _MISSING:
        from json import dumps

        encoded = dumps(default).encode()
    return Field({"kind": "json", "sources": sources, "default": encoded})


def npy(sources: str = "npy", *, default: _bytes | None = None) -> Field:
    """numpy array files: one array if all rows of a batch have the same shape, else a `Ragged`."""
    return Field({"kind": "npy", "sources": sources, "default": default})


def _pair(size: Size) -> tuple[int, int]:
    if isinstance(size, int):
        return size, size
    if len(size) != 2:
        raise UsageError(f"a size is one number or (height, width), not {size!r}")
    return int(size[0]), int(size[1])


def _floats(values: _float | Sequence[_float]) -> list[_float]:
    if isinstance(values, (int, _float)):
        return [_float(values)]
    return [_float(value) for value in values]


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{name} is one of {', '.join(allowed)}, not {value!r}")
