"""Small things that the other modules share, and the switches of the whole package."""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import glob
import importlib
import itertools
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from .pytorch import torch_data

#: Settable. True: no local files, pipes, rewriting and no unpickling of what a shard contains.
enforce_security: bool = os.environ.get("WDS_SECURE", "0") not in ("", "0")


_runs_strictly: ContextVar[bool] = ContextVar("_runs_strictly", default=False)


def strict_compat() -> bool:
    """Whether the original's behaviour is wanted also where it loses data.

    By HEADRACE_WDS_STRICT, or by `strict_compat()` of the pipeline that is running.
    """
    return _runs_strictly.get() or os.environ.get("HEADRACE_WDS_STRICT", "0") not in ("", "0")


def strictly(start: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """The items of `start()`, with `strict_compat()` true in all that runs to make them."""
    with _strict():
        items = start()
    while True:
        with _strict():
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


@contextlib.contextmanager
def _strict() -> Iterator[None]:
    before = _runs_strictly.set(True)
    try:
        yield
    finally:
        _runs_strictly.reset(before)


def refuse_if_secure(what: str) -> None:
    """Raises ValueError with `what` when `enforce_security` is set."""
    if enforce_security:
        raise ValueError(what)


@functools.cache
def warn_of_pickle(kind: str) -> None:
    """Says once that a shard's own pickles are run."""
    warnings.warn(
        f"{kind} in a shard is unpickled, which runs whatever code it contains. Set "
        "webdataset.utils.enforce_security = True (or WDS_SECURE=1) to refuse that.",
        stacklevel=3,
    )


class PipelineStage:
    """A stage that is an object: `run(iterator)` gives the iterator behind it."""

    def invoke(self, *args: Any, **kw: Any) -> Any:
        return self.run(*args, **kw)  # type: ignore[attr-defined]


class ObsoleteException(Exception):
    """Raised by what is kept by name only."""


def obsolete(func: Any = None, *, reason: str | None = None) -> Any:
    """Marks a function that raises unless ALLOW_OBSOLETE=1."""
    if func is None:
        return functools.partial(obsolete, reason=reason)

    @functools.wraps(func)
    def wrapper(*args: Any, **kw: Any) -> Any:
        raise_if_obsolete(func.__name__, reason)
        return func(*args, **kw)

    return wrapper


def raise_if_obsolete(name: str, reason: str | None = None) -> None:
    if os.environ.get("ALLOW_OBSOLETE", "0") not in ("", "0"):
        warnings.warn(f"{name} is obsolete", DeprecationWarning, stacklevel=3)
        return
    raise ObsoleteException(f"{name} is obsolete" + (f": {reason}" if reason else ""))


def deprecated(arg: Any = None) -> Any:
    """Marks a function that warns when it is called; usable with and without a reason."""
    if callable(arg):
        return _deprecated(arg, None)
    return functools.partial(_deprecated, reason=arg)


def _deprecated(func: Callable[..., Any], reason: str | None) -> Callable[..., Any]:
    @functools.wraps(func)
    def wrapper(*args: Any, **kw: Any) -> Any:
        text = f"{func.__name__} is deprecated" + (f": {reason}" if reason else "")
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return func(*args, **kw)

    return wrapper


def identity(x: Any) -> Any:
    return x


def is_iterable(obj: Any) -> bool:
    """True for anything to iterate over but text and bytes."""
    if isinstance(obj, (str, bytes)):
        return False
    return isinstance(obj, Iterable)


def make_seed(*args: Any) -> int:
    """A number below 2**31 that depends on all arguments, the same in every process for numbers."""
    seed = 0
    for arg in args:
        seed = (seed * 31 + hash(arg)) & 0x7FFFFFFF
    return seed


def lookup_sym(sym: str, modules: Sequence[str]) -> Any:
    """The first of the modules' attributes with this name, or None."""
    for name in modules:
        value = getattr(importlib.import_module(name, package="headrace.webdataset"), sym, None)
        if value is not None:
            return value
    return None


def safe_eval(s: str, expr: str = "{}") -> Any:
    """Evaluates `expr` with `s` in it; refuses text with anything but plain names and numbers."""
    if re.sub("[^A-Za-z0-9_]", "", s) != s:
        raise ValueError(f"safe_eval: illegal characters in: '{s}'")
    return eval(expr.format(s))


def guess_batchsize(batch: tuple[Any, ...] | list[Any]) -> int:
    """The length of a batch's first column."""
    return len(batch[0])


def repeatedly0(
    loader: Iterable[Any], nepochs: int = sys.maxsize, nbatches: int = sys.maxsize
) -> Iterator[Any]:
    """Iterates `nepochs` times, over at most `nbatches` items of each pass."""
    for _ in range(nepochs):
        yield from itertools.islice(loader, nbatches)


def repeatedly(
    source: Iterable[Any],
    nepochs: int | None = None,
    nbatches: int | None = None,
    nsamples: int | None = None,
    batchsize: Callable[..., int] = guess_batchsize,
) -> Iterator[Any]:
    """Iterates again and again, until one of the limits is reached."""
    epochs = batches = samples = 0
    while True:
        for item in source:
            yield item
            batches += 1
            if nbatches is not None and batches >= nbatches:
                return
            if nsamples is not None:
                samples += batchsize(item)
                if samples >= nsamples:
                    return
        epochs += 1
        if nepochs is not None and epochs >= nepochs:
            return


def pytorch_worker_info(group: Any = None) -> tuple[int, int, int, int]:
    """(rank, world size, worker, number of workers): from the environment, else from torch."""
    rank, world_size = 0, 1
    worker, num_workers = 0, 1
    environ = os.environ
    if "RANK" in environ and "WORLD_SIZE" in environ:
        rank, world_size = int(environ["RANK"]), int(environ["WORLD_SIZE"])
    else:
        distributed = sys.modules.get("torch.distributed")
        if distributed and distributed.is_available() and distributed.is_initialized():
            group = group or distributed.group.WORLD
            rank = distributed.get_rank(group=group)
            world_size = distributed.get_world_size(group=group)
    if "WORKER" in environ and "NUM_WORKERS" in environ:
        worker, num_workers = int(environ["WORKER"]), int(environ["NUM_WORKERS"])
    else:
        data = torch_data()
        info = data.get_worker_info() if data is not None else None
        if info is not None:
            worker, num_workers = info.id, info.num_workers
    return rank, world_size, worker, num_workers


def pytorch_worker_seed(group: Any = None) -> int:
    """A number that differs between the workers of a run: torch's own where there is one."""
    data = torch_data()
    info = data.get_worker_info() if data is not None else None
    if info is not None:
        return int(info.seed)
    rank, _, worker, _ = pytorch_worker_info(group=group)
    return rank * 1000 + worker


def compute_sample_weights(n_w_pairs: Sequence[tuple[int, float]]) -> list[float]:
    """Probabilities, with a maximum of 1, to draw from sets of n samples by weights w."""
    ratios = [weight / count for count, weight in n_w_pairs]
    largest = max(ratios)
    return [ratio / largest for ratio in ratios]


def fnmatch_with_braces(filename: str, pattern: str) -> bool:
    """fnmatch, with lists in braces."""
    from .expansion import expand_braces

    return any(fnmatch.fnmatch(filename, one) for one in expand_braces(pattern))


def glob_with_braces(pattern: str) -> list[str]:
    """glob, with lists in braces."""
    from .expansion import expand_braces

    return [name for one in expand_braces(pattern) for name in glob.glob(one)]
