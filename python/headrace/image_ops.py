"""The operations of image recipes.

Where one has the name of a transform of torchvision.transforms.v2 it takes its parameters, and its
values are those that torchvision gives on uint8 tensors; docs/images.md has the table, with the
tolerances that the tests hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from .errors import UsageError
from .recipes import Field

__all__ = ["ImageOps"]

Size = int | tuple[int, int]
"""A square of that side, or (height, width); in pixels."""

Padding = int | tuple[int, int] | tuple[int, int, int, int]
"""All sides alike; (left and right, top and bottom); or (left, top, right, bottom). In pixels."""

Filter = Literal["nearest", "box", "bilinear", "bicubic", "lanczos"]
"""All but "nearest" are antialiased; the pixels are those of Pillow's filter of that name. "box"
averages areas."""

Mode = Literal["constant", "edge", "reflect", "symmetric"]
"""What lies over the edge: `fill`, the last pixel, the picture mirrored without or with it."""

Fill = float | Sequence[float]
"""0 to 255, one number for all channels or one each."""

Range = float | tuple[float, float]

Self = TypeVar("Self", bound="ImageOps")


class ImageOps(Field):
    """What can be done with a picture. Every method returns a new recipe."""

    __slots__ = ()

    def _op(self: Self, op: str, **options: Any) -> Self:
        added: Self = self._with(ops=[*self._spec["ops"], {"op": op, **options}])
        return added

    # --- Sizes and crops -------------------------------------------------------------------------

    def resize(self: Self, size: Size, *, filter: Filter = "bilinear") -> Self:
        """Scales to exactly this size, whatever the shape was."""
        height, width = _pair(size)
        return self._op("resize", height=height, width=width, filter=_filter(filter), max_side=0)

    def resize_shorter(
        self: Self, pixels: int, *, max_size: int | None = None, filter: Filter = "bilinear"
    ) -> Self:
        """Scales so that the shorter side has this length, keeping the aspect ratio; less, if the
        longer side would be more than `max_size`."""
        return self._op(
            "resize_shorter",
            height=int(pixels),
            width=0,
            filter=_filter(filter),
            max_side=int(max_size or 0),
        )

    def resize_longer(self: Self, pixels: int, *, filter: Filter = "bilinear") -> Self:
        """Scales so that the longer side has this length, keeping the aspect ratio."""
        return self._op(
            "resize_longer", height=int(pixels), width=0, filter=_filter(filter), max_side=0
        )

    def pad(self: Self, padding: Padding, *, fill: Fill = 0, mode: Mode = "constant") -> Self:
        """Puts pixels around the picture."""
        return self._op("pad", padding=_sides(padding), fill=_fill(fill), mode=_mode(mode))

    def center_crop(self: Self, size: Size) -> Self:
        """Cuts the middle; a smaller picture gets zeros around it."""
        height, width = _pair(size)
        return self._op("center_crop", height=height, width=width)

    def five_crop(self: Self, size: Size) -> Self:
        """Cuts the four corners and the middle: a row is (5, channels, height, width). Only
        `normalize` may follow. A smaller picture is a `DataError`."""
        height, width = _pair(size)
        return self._op("five_crop", height=height, width=width)

    def random_crop(
        self: Self,
        size: Size,
        *,
        padding: Padding = 0,
        pad_if_needed: bool = False,
        fill: Fill = 0,
        mode: Mode = "constant",
    ) -> Self:
        """Pads, then cuts at a place drawn uniformly. A smaller picture is a `DataError`, or padded
        with `pad_if_needed`."""
        height, width = _pair(size)
        return self._op(
            "random_crop",
            height=height,
            width=width,
            padding=_sides(padding),
            pad_if_needed=bool(pad_if_needed),
            fill=_fill(fill),
            mode=_mode(mode),
        )

    def random_resized_crop(
        self: Self,
        size: Size,
        *,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        filter: Filter = "bilinear",
    ) -> Self:
        """Cuts a box of random area (share `scale` of the picture) and aspect `ratio`, and scales
        it to `size`, with the distribution of torchvision's RandomResizedCrop."""
        height, width = _pair(size)
        return self._op(
            "random_resized_crop",
            height=height,
            width=width,
            scale=_range("scale", scale),
            ratio=_range("ratio", ratio),
            filter=_filter(filter),
        )

    # --- Flips and turns -------------------------------------------------------------------------

    def flip(self: Self, p: float = 0.5) -> Self:
        """Mirrors left and right with probability `p`."""
        return self._op("flip", p=float(p))

    def vertical_flip(self: Self, p: float = 0.5) -> Self:
        """Mirrors top and bottom with probability `p`."""
        return self._op("vertical_flip", p=float(p))

    def rotate90(self: Self, turns: int | None = None) -> Self:
        """Turns by so many quarter turns counter-clockwise; without a number, by 0 to 3 drawn."""
        return self._op("rotate90", turns=None if turns is None else int(turns) % 4)

    def random_affine(
        self: Self,
        degrees: Range,
        *,
        translate: tuple[float, float] = (0.0, 0.0),
        scale: tuple[float, float] = (1.0, 1.0),
        shear: float | Sequence[float] = 0.0,
        filter: Literal["nearest", "bilinear"] = "nearest",
        fill: Fill = 0,
        p: float = 1.0,
    ) -> Self:
        """Turns (clockwise), moves, scales and shears around the centre; the size stays.

        Args:
            degrees: the range to draw from; one number d is (-d, d).
            translate: the largest share of the width and of the height.
            scale: the range of factors.
            shear: degrees: one number s is (-s, s) along x; two are a range along x; four also
                one along y.
        """
        return self._op(
            "random_affine",
            degrees=_around(0.0, degrees),
            translate=[float(x) for x in translate],
            scale=_range("scale", scale),
            shear=_shear(shear),
            filter=_filter(filter),
            fill=_fill(fill),
            p=float(p),
        )

    # --- Colours ---------------------------------------------------------------------------------

    def color_jitter(
        self: Self,
        brightness: Range = 0.0,
        contrast: Range = 0.0,
        saturation: Range = 0.0,
        hue: Range = 0.0,
        *,
        p: float = 1.0,
    ) -> Self:
        """Draws a factor for each and the order in which they are applied.

        One number x is the range (1 - x, 1 + x), for `hue` (-x, x), a share of the circle up to
        0.5; 0 leaves that one out. A pair is the range itself. With probability `p` any of it.
        """
        return self._op(
            "color_jitter",
            brightness=_jitter(brightness, 1.0),
            contrast=_jitter(contrast, 1.0),
            saturation=_jitter(saturation, 1.0),
            hue=_jitter(hue, 0.0),
            p=float(p),
        )

    def _adjust(self: Self, what: str, value: float, p: float) -> Self:
        return self._op("adjust", what=what, value=float(value), p=float(p))

    def random_grayscale(self: Self, p: float = 0.1) -> Self:
        """Makes a picture gray with probability `p`; it keeps its channels."""
        return self._adjust("grayscale", 0, p)

    def sharpness(self: Self, factor: float, p: float = 0.5) -> Self:
        """Blurs (`factor` below 1) or sharpens (above) with probability `p`."""
        return self._adjust("sharpness", factor, p)

    def posterize(self: Self, bits: int, p: float = 0.5) -> Self:
        """Keeps the upper bits of each value, with probability `p`."""
        return self._adjust("posterize", bits, p)

    def solarize(self: Self, threshold: float, p: float = 0.5) -> Self:
        """Inverts values from `threshold` (0 to 255) on, with probability `p`."""
        return self._adjust("solarize", threshold, p)

    def autocontrast(self: Self, p: float = 0.5) -> Self:
        """Stretches each channel to the whole range, with probability `p`."""
        return self._adjust("autocontrast", 0, p)

    def equalize(self: Self, p: float = 0.5) -> Self:
        """Equalises each channel's histogram, with probability `p`."""
        return self._adjust("equalize", 0, p)

    def invert(self: Self, p: float = 0.5) -> Self:
        """255 - value, with probability `p`."""
        return self._adjust("invert", 0, p)

    def gaussian_blur(
        self: Self,
        kernel: int | tuple[int, int],
        sigma: Range = (0.1, 2.0),
        *,
        p: float = 1.0,
    ) -> Self:
        """Blurs with probability `p`.

        Args:
            kernel: odd sides: one number, or (width, height) as torchvision has it; in pixels.
            sigma: the range to draw from, or the number itself; in pixels.
        """
        width, height = _pair(kernel)
        spread = (sigma, sigma) if isinstance(sigma, (int, float)) else sigma
        return self._op(
            "gaussian_blur",
            kernel_width=width,
            kernel_height=height,
            sigma=_range("sigma", spread),
            p=float(p),
        )

    # --- Policies --------------------------------------------------------------------------------

    def rand_augment(
        self: Self,
        operations: int = 2,
        magnitude: int = 9,
        *,
        magnitudes: int = 31,
        filter: Literal["nearest", "bilinear"] = "nearest",
        fill: Fill = 0,
    ) -> Self:
        """torchvision's RandAugment: `operations` of its fourteen, drawn, with one magnitude."""
        return self._op(
            "rand_augment",
            operations=int(operations),
            magnitude=int(magnitude),
            magnitudes=int(magnitudes),
            filter=_filter(filter),
            fill=_fill(fill),
        )

    def trivial_augment_wide(
        self: Self,
        *,
        magnitudes: int = 31,
        filter: Literal["nearest", "bilinear"] = "nearest",
        fill: Fill = 0,
    ) -> Self:
        """torchvision's TrivialAugmentWide: one operation and its magnitude, both drawn."""
        return self._op(
            "trivial_augment_wide",
            magnitudes=int(magnitudes),
            filter=_filter(filter),
            fill=_fill(fill),
        )

    def random_erasing(
        self: Self,
        p: float = 0.5,
        *,
        scale: tuple[float, float] = (0.02, 0.33),
        ratio: tuple[float, float] = (0.3, 3.3),
        value: float | Sequence[float] = 0.0,
    ) -> Self:
        """Overwrites a random box of the finished row with `value`, with probability `p`. Last.

        `value` is in the row's own numbers: 0 to 255 in uint8, and after `normalize` 0 is the mean.
        """
        return self._op(
            "random_erasing",
            p=float(p),
            scale=_range("scale", scale),
            ratio=_range("ratio", ratio),
            value=_floats(value),
        )


def _pair(size: Size) -> tuple[int, int]:
    if isinstance(size, int):
        return size, size
    if len(size) != 2:
        raise UsageError(f"a size is one number or (height, width), not {size!r}")
    return int(size[0]), int(size[1])


def _floats(values: float | Sequence[float]) -> list[float]:
    if isinstance(values, (int, float)):
        return [float(values)]
    return [float(value) for value in values]


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{name} is one of {', '.join(allowed)}, not {value!r}")


def _sides(padding: Padding) -> list[int]:
    if isinstance(padding, int):
        return [padding] * 4
    if len(padding) == 2:
        return [int(padding[0]), int(padding[1])] * 2
    if len(padding) != 4:
        raise UsageError(f"padding is one, two or four numbers, not {padding!r}")
    return [int(side) for side in padding]


def _fill(fill: Fill) -> list[int]:
    values = [int(value) for value in _floats(fill)]
    if len(values) not in (1, 3, 4) or not all(0 <= value <= 255 for value in values):
        raise UsageError(f"fill is one number from 0 to 255, or one a channel, not {fill!r}")
    return values * 4 if len(values) == 1 else [*values, 255][:4]


def _filter(name: str) -> str:
    _one_of("filter", name, ("nearest", "box", "bilinear", "bicubic", "lanczos"))
    return name


def _mode(name: str) -> str:
    _one_of("mode", name, ("constant", "edge", "reflect", "symmetric"))
    return name


def _range(name: str, values: Sequence[float]) -> list[float]:
    if len(values) != 2:
        raise UsageError(f"{name} is a pair of numbers, not {values!r}")
    return [float(value) for value in values]


def _around(middle: float, values: Range) -> list[float]:
    if isinstance(values, (int, float)):
        return [middle - float(values), middle + float(values)]
    return _range("a range", values)


def _jitter(values: Range, middle: float) -> list[float] | None:
    if isinstance(values, (int, float)):
        if values == 0:
            return None
        low, high = _around(middle, values)
        return [max(low, 0.0) if middle == 1.0 else low, high]
    return _range("a range", values)


def _shear(shear: float | Sequence[float]) -> list[float]:
    if isinstance(shear, (int, float)):
        return [-float(shear), float(shear), 0.0, 0.0]
    if len(shear) not in (2, 4):
        raise UsageError(f"shear is one, two or four numbers, not {shear!r}")
    return [*(float(value) for value in shear), 0.0, 0.0][:4]
