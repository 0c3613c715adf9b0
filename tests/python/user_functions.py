"""Functions as users write them, in a module that worker processes can import."""

from __future__ import annotations

import ctypes
import io
import os
import random
import resource
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

Sample = dict[str, Any]


def double(x):
    return x * 2


def add_in_place(x):
    x += 1
    return x


def even(n):
    return n % 2 == 0


def never(n):
    return False


def shout(sample: Sample) -> Sample:
    return {**sample, "text": sample["text"].upper(), "size": len(sample["text"])}


def all_kinds(sample: Sample) -> Sample:
    n = int(sample["n"])
    return {
        "n": sample["n"],
        "text": sample["text"],
        "same": np.full((2, 3), n, np.float32),
        "ragged": np.arange(n % 5, dtype=np.int16),
        "picture": np.full((n % 3 + 1, 4), n, np.uint8),
        "number": n / 2,
        "flag": n % 2 == 0,
        "bytes": bytes([n % 251]) * (n % 7),
        "object": {"n": n, "array": np.arange(n)},
        "maybe": None if n % 2 else n,
    }


def parts(sample: Sample) -> Sample:
    """Of an array of bytes: rows of different lengths, and objects with arrays in them."""
    x, n = sample["x"], int(sample["n"])
    square = x[:160_000].reshape(400, 400)
    return {
        **sample,
        "ragged": x[n:],
        "object": {
            "n": n,
            "whole": x,
            "turned": square.T,
            "every other": x[::2],
            "corner": square[9:, 9:],
        },
    }


def reversed_bytes(data):
    return data[::-1]


def noise(x, rng):
    return x + rng.normal(size=x.shape)


def global_noise(x):
    return x + random.random() + np.random.random()


def total(batch: Sample) -> Sample:
    return {**batch, "total": batch["x"].sum(axis=1)}


def noisy_batch(x, rng):
    return x + rng.normal()


def sevens_fail(n):
    if n % 7 == 0:
        raise ValueError(f"seven divides {n}")
    return n


class UnpicklableError(Exception):
    def __init__(self, one, two):
        super().__init__(one)


def fail_oddly(n):
    raise UnpicklableError(1, 2)


def too_few(batch):
    return {"x": batch["x"][:-1]}


def other_fields(sample):
    return {"n": 1} if sample["n"] % 2 else {"m": 1}


def no_dict(sample):
    return None


NOTES = "HEADRACE_TEST_NOTES"


def note() -> None:
    """Notes when this process came here, in the folder that the environment names, if it does."""
    if NOTES in os.environ:
        path = Path(os.environ[NOTES], str(os.getpid()))
        path.with_suffix(".new").write_text(str(time.monotonic()))
        path.with_suffix(".new").replace(path)


def kill_self(n):
    if n == 20:
        note()
        os.kill(os.getpid(), signal.SIGKILL)
    return n


def exit_self(n):
    if n == 20:
        note()
        os._exit(3)
    return n


def segfault(n):
    if n == 20:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # writing it would take a while
        note()
        ctypes.string_at(0)
    return n


def slow(n):
    time.sleep(0.05)
    return n


def stuck(n):
    note()
    time.sleep(1000)
    return n


def process_of(n):
    return os.getpid()


def as_tensor(x):
    import torch

    assert isinstance(x, torch.Tensor)
    return x.to(torch.bfloat16)


def tensor_type(x):
    import torch

    assert x.dtype == torch.bfloat16
    return x.float() * 2


def add_to_fields(image, label):
    return {"image": image + 1, "label": label + 1}


def first_channel(picture):
    return picture[0]


def open_picture(data):
    from PIL import Image

    return Image.open(io.BytesIO(data))


def wanted(cls: int) -> bool:
    return cls % 3 != 0


def tokens_of(sample: Sample) -> Sample:
    """Documents of 0 to 39 tokens, which tell their sample and place."""
    cls = int(sample["cls"])
    return {"tokens": np.arange(cls * 100, cls * 100 + len(sample["bin"]), dtype=np.int32)}


def one_less(tokens):
    return tokens[:-1]


def noisy_tokens(tokens, rng):
    return tokens + rng.integers(0, 1 << 40, len(tokens))


def elevens_fail(tokens):
    if len(tokens) and tokens[0] // 1000 % 11 == 0:
        raise ValueError("eleven divides it")
    return tokens
