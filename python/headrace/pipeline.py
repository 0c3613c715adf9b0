"""The steps from a data set to a loader: shuffle, decode, batch, loader, in this order.

Each step returns a new object, so a half-built pipeline may be shared and continued twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from . import _native
from .distributed import resolve
from .errors import UsageError
from .recipes import Field

if TYPE_CHECKING:
    import os

    from .dataset import Mix
    from .loader import Loader

_ORDER = ("shuffle", "decode", "batch")


class Steps:
    """The steps, as methods of a data set, a mixture, or a pipeline that has begun."""

    def _pipeline(self) -> Pipeline:
        raise NotImplementedError

    def shuffle(self, seed: int = 0, *, lanes: int = 0, window: int | str = "32MiB") -> Pipeline:
        """Every epoch in another order, a pure function of the seed and the epoch.

        Args:
            seed: of the order and of random augmentations; 0 to 2**64 - 1.
            lanes: into which the data is cut. 0: chosen from the world size and the batch, and
                frozen in the state. Set it so that runs begun on different worlds agree.
            window: of one lane, in bytes or as "32MiB": samples are permuted inside it.
        """
        options = {
            "shuffle": True,
            "seed": _unsigned("seed", seed),
            "lanes": _unsigned("lanes", lanes),
            "window_bytes": _bytes("window", window),
        }
        return self._pipeline()._with("shuffle", options)

    def decode(self, **fields: Field) -> Pipeline:
        """One column for each argument, made by its recipe. Without this step every field of the
        data set is a column of bytes.

        Example:
            >>> ds.decode(image=hr.image("jpg").resize(224), label=hr.integer("cls"))
        """
        for name, recipe in fields.items():
            if not isinstance(recipe, Field):
                raise UsageError(
                    f"{name}= is no recipe but {recipe!r}", hint="Use hr.image, hr.integer, ..."
                )
            _native.check_field(name, recipe._spec)
        if not fields:
            raise UsageError("decode() needs a recipe", hint="As in decode(label=hr.integer()).")
        return self._pipeline()._with("decode", {"fields": dict(fields)})

    def batch(
        self,
        rows: int | None = None,
        *,
        total: int | None = None,
        tail: Literal["pad", "short", "drop"] = "pad",
    ) -> Pipeline:
        """How many rows make a step, and what becomes of those left at the end of an epoch.

        Args:
            rows: a rank; or
            total: of all ranks together.
            tail: "pad" fills the last step with repeats that `batch.mask` marks, "short" gives
                what there is, "drop" leaves it out.
        """
        if (rows is None) == (total is None):
            raise UsageError("give either the rows of a rank or total=, those of all ranks")
        if tail not in ("pad", "short", "drop"):
            raise UsageError(f"tail is pad, short or drop, not {tail!r}")
        if (total if rows is None else rows) == 0:
            raise UsageError("a batch has at least one row")
        options = {
            "rows": _unsigned("rows", rows or 0),
            "total": _unsigned("total", total or 0),
            "tail": tail,
        }
        return self._pipeline()._with("batch", options)

    def loader(
        self,
        *,
        to: Literal["numpy", "torch"] = "numpy",
        threads: int = 0,
        memory: int | str = "1GiB",
        rank: int | None = None,
        world: int | None = None,
        group: Any = None,
        mesh: Any = None,
        on_error: Literal["raise", "skip"] = "raise",
        max_errors: int = 100,
        audit: str | os.PathLike[str] | None = None,
        prefetch: int = 0,
    ) -> Loader:
        """The loader. It starts no thread and reads no sample before the first iteration.

        Args:
            to: what columns are: numpy arrays or torch tensors.
            threads: that read and decode; 0: as many as there are processors, at most 16.
            memory: for batches in flight, in bytes or as "1GiB".
            rank, world: the place of this process. Without them: torch.distributed if it is
                initialised, else RANK and WORLD_SIZE, else SLURM_PROCID and SLURM_NTASKS.
            group: a torch process group of the ranks that share the data; or
            mesh: the data-parallel dimension of a DeviceMesh, as mesh["dp"].
            on_error: "raise" at the first bad sample, or "skip" up to `max_errors` an epoch and
                list them in `batch.errors`.
            audit: a folder that proves afterwards what was delivered (`hr.audit_report`).
            prefetch: batches ahead; 0: as memory allows, 2 to 8.

        Raises:
            UsageError: options that do not go together.
            NotFoundError: a recipe asks for a field that the data set does not have.
        """
        from .loader import Loader

        pipeline = self._pipeline()
        if "rows" not in pipeline.options:
            raise UsageError("batch() is missing", hint="As in .batch(256).loader().")
        if to not in ("numpy", "torch"):
            raise UsageError(f"to is numpy or torch, not {to!r}")
        if on_error not in ("raise", "skip"):
            raise UsageError(f"on_error is raise or skip, not {on_error!r}")
        options = {
            "threads": _unsigned("threads", threads),
            "memory_bytes": _bytes("memory", memory),
            "prefetch": _unsigned("prefetch", prefetch),
            "skip_errors": on_error == "skip",
            "max_errors": _unsigned("max_errors", max_errors),
            "audit_folder": _path(audit),
        }
        place = resolve(rank, world, group, mesh)
        return Loader(pipeline.source, {**pipeline.options, **options}, place, to)


class Pipeline(Steps):
    """Some of the steps from a data set to a loader. Immutable."""

    def __init__(
        self, source: Mix, options: dict[str, Any] | None = None, done: tuple[str, ...] = ()
    ) -> None:
        self.source = source
        self.options = options or {}
        self._done = done

    def _pipeline(self) -> Pipeline:
        return self

    def _with(self, step: str, options: dict[str, Any]) -> Pipeline:
        if step in self._done:
            raise UsageError(f"{step}() was given already")
        for done in self._done:
            if _ORDER.index(done) > _ORDER.index(step):
                raise UsageError(f"{step}() comes before {done}()")
        return Pipeline(self.source, {**self.options, **options}, (*self._done, step))

    def __repr__(self) -> str:
        return f"{self.source!r}" + "".join(f".{step}(…)" for step in self._done)


def _unsigned(name: str, value: int) -> int:
    if value != int(value) or value < 0:
        raise UsageError(f"{name} is a whole number, not below zero, and not {value!r}")
    return int(value)


def _bytes(name: str, value: int | str) -> int:
    return _native.parse_bytes(value) if isinstance(value, str) else _unsigned(name, value)


def _path(folder: str | os.PathLike[str] | None) -> str:
    if folder is None:
        return ""
    import os

    return os.fspath(folder)
