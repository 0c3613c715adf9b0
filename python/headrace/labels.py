"""Recipes of what goes with a picture, pixel for pixel: masks and boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from . import _native
from .errors import UsageError
from .image_ops import _one_of
from .recipes import Field

__all__ = ["boxes", "mask"]


def mask(
    sources: str,
    *,
    like: str,
    dtype: Literal["uint8", "uint16", "int32", "int64"] = "uint8",
    fill: int = 0,
    pixel_limit: int = _native.PIXEL_LIMIT,
) -> Field:
    """Class numbers of the pixels of a picture, for segmentation: a column of shape (rows, height,
    width), or a `Ragged` of (height, width) if the picture's recipe fixes no size.

    The operations are those of the picture, with the same draws; colours are let alone. Numbers
    are never blended: where the picture is scaled, each takes the nearest one, as Pillow's NEAREST
    does.

    Args:
        sources: fields of a sample, as "seg.png": PNG files, gray of up to 16 bits (the numbers as
            they are), with a palette (its indices), or RGB (R + 256 G + 65536 B, as COCO's
            panoptic masks). As large as the picture is when it stands upright, else `DataError`.
        like: the column of the picture, made by `hr.image` in the same `decode`.
        dtype: of the numbers. One that does not fit is a `DataError`.
        fill: the number where there is no picture: around padded ones, and beside turned ones.
        pixel_limit: as `hr.image` has it.
    """
    _one_of("dtype", dtype, ("uint8", "uint16", "int32", "int64"))
    if int(fill) < 0:
        raise UsageError(f"fill is a class number, not below zero, and not {fill!r}")
    return Field(
        {
            "kind": "mask",
            "sources": sources,
            "default": None,
            "like": like,
            "ops": [],
            "dtype": dtype,
            "fill": int(fill),
            "pixel_limit": int(pixel_limit),
        }
    )


def boxes(
    sources: str = "json",
    *,
    like: str,
    format: Literal["xyxy", "xywh", "cxcywh"] = "xyxy",
    at: str = "",
    labels: str | None = None,
    extra: int = 0,
    min_visible: float = 0.0,
    default: Sequence[Sequence[float]] | None = None,
) -> Field:
    """Boxes in a picture, for detection: a `Ragged` whose rows are float32 of shape (boxes, 4 +
    extra), in pixels of the row's picture.

    They go where the picture's operations move its pixels, with the same draws, and are clipped to
    what is left of it. What is turned by other than right angles is the smallest box around it.

    Args:
        sources: fields of a sample: JSON, or numpy arrays of shape (boxes, 4 + extra). Pixels of
            the picture when it stands upright.
        like: the column of the picture, made by `hr.image` in the same `decode`.
        format: of the four numbers, in the file and in the batch: corners, corner and size, or
            centre and size.
        at: in JSON, the way to the boxes: names separated by dots, and lists are gone through.
            "objects.boxes" for {"objects": {"boxes": [[…], …]}}, "bbox" for [{"bbox": […]}, …].
        labels: in JSON, the way to a number for each box, which becomes its last one ("labels",
            "category_id").
        extra: numbers that follow the four of a box in the file and stay with it.
        min_visible: a box of which a smaller share of its area is left in the picture is dropped,
            with its numbers; 0 keeps all, also those that are empty now.
        default: boxes of samples that have none of the sources, as [].
    """
    _one_of("format", format, ("xyxy", "xywh", "cxcywh"))
    encoded = None
    if default is not None:
        from json import dumps

        if at or labels:
            raise UsageError("default= goes with plain lists of boxes, without at= and labels=")
        encoded = dumps([list(box) for box in default]).encode()
    return Field(
        {
            "kind": "boxes",
            "sources": sources,
            "default": encoded,
            "like": like,
            "ops": [],
            "format": format,
            "at": at,
            "labels": labels or "",
            "extra": int(extra) + bool(labels),
            "min_visible": float(min_visible),
        }
    )


def with_pictures(fields: dict[str, Field]) -> dict[str, Field]:
    """The recipes, where masks and boxes have the operations of their pictures."""
    return {name: _linked(name, recipe, fields) for name, recipe in fields.items()}


def _linked(name: str, recipe: Field, fields: dict[str, Field]) -> Field:
    like = recipe._spec.get("like")
    if like is None:
        return recipe
    picture = fields.get(like)
    if picture is None or picture.kind != "image":
        raise UsageError(
            f"{name}= goes with the picture {like!r}, and there is no recipe {like}=hr.image(...)"
        )
    linked: Field = recipe._with(ops=picture._spec["ops"])
    return linked
