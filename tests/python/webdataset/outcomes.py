"""What a pipeline gives, so that two of them can be compared to the byte: types, shapes, strides,
contents, and the exception that ends it."""

from __future__ import annotations

from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return type(value), [plain(each) for each in value]
    if hasattr(value, "numpy"):
        return type(value), value.stride(), plain(value.numpy())
    if isinstance(value, np.ndarray):
        content = value.tolist() if value.dtype == object else value.tobytes()
        return value.dtype, value.shape, value.strides, content, value.flags.writeable
    return type(value), repr(value)


def outcome(data: Any) -> list[Any]:
    items: list[Any] = []
    try:
        items += map(plain, data)
    except Exception as error:
        items.append((type(error).__name__, type(error.__cause__).__name__))
    return items
