"""What `loader.explain` told about a row, done once more by torchvision v2."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms.v2 import functional as F

FILTERS = {
    "nearest": F.InterpolationMode.NEAREST_EXACT,
    "bilinear": F.InterpolationMode.BILINEAR,
    "bicubic": F.InterpolationMode.BICUBIC,
}


def replay(pixels: torch.Tensor, ops: list[dict], drawn: list[dict]) -> torch.Tensor:
    """`pixels` is a uint8 tensor (channels, height, width); `ops` are a recipe's, and `drawn` has
    an entry for each of them but normalize."""
    entries = iter(drawn)
    for op in ops:
        pixels = _REPLAY[op["op"]](pixels, op, {} if op["op"] == "normalize" else next(entries))
    return pixels


def _resize(x: torch.Tensor, op: dict, drawn: dict) -> torch.Tensor:
    return F.resize(x, drawn["size"], FILTERS[op["filter"]], antialias=True)


def _pad(x: torch.Tensor, op: dict, drawn: dict) -> torch.Tensor:
    return F.pad(x, op["padding"], fill=op["fill"][:1], padding_mode=op["mode"])


def _random_crop(x: torch.Tensor, op: dict, drawn: dict) -> torch.Tensor:
    return F.crop(x, *drawn["box"])


def _resized_crop(x: torch.Tensor, op: dict, drawn: dict) -> torch.Tensor:
    size = [op["height"], op["width"]]
    return F.resized_crop(x, *drawn["box"], size, FILTERS[op["filter"]], antialias=True)


def _center_crop(x: torch.Tensor, op: dict, drawn: dict) -> torch.Tensor:
    return F.center_crop(x, [op["height"], op["width"]])


def _five_crop(x: torch.Tensor, op: dict, drawn: dict) -> torch.Tensor:
    return torch.stack(F.five_crop(x, [op["height"], op["width"]]))


def _flip(x: torch.Tensor, op: dict, drawn: dict) -> torch.Tensor:
    return F.horizontal_flip(x) if drawn["flipped"] else x


def _vertical_flip(x: torch.Tensor, op: dict, drawn: dict) -> torch.Tensor:
    return F.vertical_flip(x) if drawn["flipped"] else x


def _turn(x: torch.Tensor, op: dict, drawn: dict) -> torch.Tensor:
    return torch.rot90(x, drawn["turns"], (-2, -1))


def _normalize(x: torch.Tensor, op: dict, drawn: dict) -> torch.Tensor:
    floats = F.to_dtype(x, torch.float32, scale=True)
    return F.normalize(floats, op["mean"], op["std"])


def _erase(x: torch.Tensor, op: dict, drawn: dict) -> torch.Tensor:
    top, left, height, width = drawn["box"]
    value = torch.tensor(op["value"]).to(x.dtype).reshape(-1, 1, 1)
    return F.erase(x, top, left, height, width, value) if height else x


def _actions(x: torch.Tensor, op: dict, drawn: dict) -> torch.Tensor:
    for action in drawn["actions"]:
        x = _act(x, op, action)
    return x


def _act(x: torch.Tensor, op: dict, action: dict) -> torch.Tensor:
    what = action["do"]
    if what == "affine":
        mode = FILTERS[op["filter"]]
        if mode is FILTERS["nearest"]:
            mode = F.InterpolationMode.NEAREST
        return _affine(x, op, action, interpolation=mode, fill=op["fill"][:1])
    if what == "blur":
        return F.gaussian_blur(x, [op["kernel_width"], op["kernel_height"]], action["sigma"])
    return _ADJUST[what](x, action["value"])


def _affine(x: Any, op: dict, action: dict, **how: Any) -> Any:
    # RandAugment and TrivialAugmentWide shear around the corner.
    corner = [0, 0] if op["op"].endswith(("augment", "wide")) and any(action["shear"]) else None
    keys = ("degrees", "translate", "scale", "shear")
    return F.affine(x, *(action[key] for key in keys), center=corner, **how)


_ADJUST: dict[str, Any] = {
    "brightness": F.adjust_brightness,
    "contrast": F.adjust_contrast,
    "saturation": F.adjust_saturation,
    "hue": F.adjust_hue,
    "sharpness": F.adjust_sharpness,
    "posterize": lambda x, bits: F.posterize(x, int(bits)),
    "solarize": F.solarize,
    "autocontrast": lambda x, _: F.autocontrast(x),
    "equalize": lambda x, _: F.equalize(x),
    "invert": lambda x, _: F.invert(x),
    "grayscale": lambda x, _: F.rgb_to_grayscale(x, num_output_channels=3),
}
_REPLAY = {
    "resize": _resize,
    "resize_shorter": _resize,
    "resize_longer": _resize,
    "pad": _pad,
    "center_crop": _center_crop,
    "five_crop": _five_crop,
    "random_crop": _random_crop,
    "random_resized_crop": _resized_crop,
    "flip": _flip,
    "vertical_flip": _vertical_flip,
    "rotate90": _turn,
    "normalize": _normalize,
    "random_erasing": _erase,
    **dict.fromkeys(
        (
            "random_affine",
            "color_jitter",
            "adjust",
            "gaussian_blur",
            "rand_augment",
            "trivial_augment_wide",
        ),
        _actions,
    ),
}


Label = TypeVar("Label", tv_tensors.Mask, tv_tensors.BoundingBoxes)


def replay_labels(label: Label, ops: list[dict], drawn: list[dict]) -> Label:
    """The same for what goes with a picture: a mask (1, height, width) or boxes."""
    for op, entry in zip(ops, drawn, strict=True):
        if op["op"] in _MOVES:
            label = _MOVES[op["op"]](label, op, entry)
        for action in entry.get("actions", ()):
            if action["do"] == "affine":
                label = _affine(label, op, action)
    return label


def _scaled_label(label: Label, size: list[int]) -> Label:
    """torchvision scales a Mask by its older `nearest`, which samples half a pixel off, so masks
    are compared with Pillow's."""
    if isinstance(label, tv_tensors.Mask):
        image = Image.fromarray(label[0].numpy()).resize(size[::-1], Image.Resampling.NEAREST)
        return tv_tensors.Mask(torch.from_numpy(np.array(image))[None])
    return F.resize(label, size)


def _cut_label(label: Label, box: list[int], mode: str) -> Label:
    """A box of the picture, which may reach over its edges. Boxes go by the same way whatever lies
    there; torchvision pads masks by less than their size, so numpy does it."""
    if not isinstance(label, tv_tensors.Mask):
        return F.crop(label, *box)
    top, left, height, width = box
    numbers = label[0].numpy()
    down, right = top + height - numbers.shape[0], left + width - numbers.shape[1]
    around = ((max(-top, 0), max(down, 0)), (max(-left, 0), max(right, 0)))
    numbers = np.pad(numbers, around, mode)
    top, left = max(top, 0), max(left, 0)
    return tv_tensors.Mask(torch.from_numpy(numbers[top : top + height, left : left + width])[None])


def _padded_label(label: Label, op: dict, drawn: dict) -> Label:
    left, top, right, bottom = op["padding"]
    height, width = F.get_size(label)
    box = [-top, -left, height + top + bottom, width + left + right]
    return _cut_label(label, box, op["mode"])


_MOVES: dict[str, Any] = {
    **dict.fromkeys(
        ("resize", "resize_shorter", "resize_longer"),
        lambda label, op, drawn: _scaled_label(label, drawn["size"]),
    ),
    "random_resized_crop": lambda label, op, drawn: _scaled_label(
        F.crop(label, *drawn["box"]), [op["height"], op["width"]]
    ),
    "pad": _padded_label,
    # By its box: torchvision cuts boxes of a smaller picture one pixel beside its pixels.
    "center_crop": lambda label, op, drawn: _cut_label(label, drawn["box"], "constant"),
    "random_crop": lambda label, op, drawn: _cut_label(label, drawn["box"], op["mode"]),
    "flip": _flip,
    "vertical_flip": _vertical_flip,
    "rotate90": lambda label, op, drawn: F.rotate(label, 90 * drawn["turns"], expand=True),
}
