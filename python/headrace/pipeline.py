"""The steps from a data set to a loader: shuffle, decode, map and filter, batch, map_batches,
loader, in this order.

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
    from collections.abc import Callable

    from .dataset import Mix
    from .loader import Loader

_ORDER = ("shuffle", "decode", "map", "batch", "mix_rows", "map_batches")
_PLACES = {"filter": "map", "bucket": "map", "pack_tokens": "map"}  # steps that share a place
_REPEATED = ("map", "filter", "map_batches")


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
        from .labels import with_pictures  # masks and boxes: other pipelines start faster without

        linked = with_pictures(fields)
        for name, recipe in linked.items():
            _native.check_field(name, recipe._spec)
        if not fields:
            raise UsageError("decode() needs a recipe", hint="As in decode(label=hr.integer()).")
        return self._pipeline()._with("decode", {"fields": linked})

    def map(
        self,
        function: Callable[..., Any],
        on: str | tuple[str, ...] | list[str] | None = None,
        *,
        keywords: bool = False,
        to: Literal["numpy", "torch"] = "numpy",
    ) -> Pipeline:
        """A function of yours on every sample. May be given several times; see docs/functions.md.

        It is given a dict of fields and returns one, which is the sample from then on. Arrays lie
        in the batch's memory and may be changed in place. A parameter named `rng` is given a
        `numpy.random.Generator` that depends on seed, epoch and position alone.

        Args:
            function: with `.loader(workers=K)` it runs in other processes and has to be picklable.
            on: a field: the function is given and returns its value alone. Several: it is given
                them as arguments and returns a tuple.
            keywords: fields are given as keyword arguments, and the dict it returns changes some
                of them, as Albumentations has it.
            to: what arrays are: numpy's, or torch's tensors.

        Example:
            >>> ds.decode(x=hr.npy("npy")).map(lambda x, rng: x + rng.normal(), on="x")
        """
        return self._pipeline()._function("map", function, on, keywords, to)

    def filter(
        self,
        function: Callable[..., Any],
        on: str | tuple[str, ...] | list[str] | None = None,
        *,
        keywords: bool = False,
        to: Literal["numpy", "torch"] = "numpy",
        refill: bool = False,
    ) -> Pipeline:
        """Keeps the samples for which `function` is true; a batch is what is left of its rows.

        The order, the number of steps and the states stay as they are, on any number of ranks. The
        arguments are those of `map`.

        Args:
            refill: fill batches up with the rank's samples that come after. An epoch is then so
                many steps as `batch(steps=...)` says, over as many passes as they take, and each
                rank has a state of its own; see docs/functions.md.
        """
        filtered = self._pipeline()._function("filter", function, on, keywords, to)
        return filtered._assembling({"kind": "refill"}) if refill else filtered

    def pack_tokens(self, on: str, *, length: int, by: str | None = None) -> Pipeline:
        """Rows of `length` tokens, of documents one after the other; one that a row's end cuts goes
        on in the next row.

        Columns are then `on`; "segments", which of the row's documents a token is of, from 0; and
        "places", the token's number in its document: (rows, length), the last two int32.
        `batch.keys`, `batch.origins` and `batch.positions` are of the documents.

        With `by` the rows are planned before the first one is made: every token comes exactly once
        an epoch, `len(loader)` is known, and states are small, the same on all ranks, and go on on
        any number of them. Without it documents are packed as they come, which needs
        `batch(steps=...)`, and each rank has a state of its own; see docs/functions.md.

        Args:
            on: the field of documents: arrays of whole numbers, of one dimension.
            length: tokens a row.
            by: what of the index says how many tokens a document has: "npy:tokens", which
                `hr.pack(…, measure={"npy": "tokens"})` measured, or "len:value", a field that says
                the number. `map` must leave the lengths as they are; a document that has another
                is an error.

        Example:
            >>> ds.shuffle(seed=7).decode(tokens=hr.npy("npy")).pack_tokens(
            ...     "tokens", length=2048, by="npy:tokens").batch(16).loader()
        """
        if _unsigned("length", length) == 0:
            raise UsageError("a row has at least one token")
        pipeline = self._pipeline()
        if pipeline.options.get("assemble"):
            raise UsageError("refill=True is of no use: packed rows are always full")
        if by is None:
            packed = {"kind": "tokens", "field": str(on), "length": int(length)}
            return pipeline._with("pack_tokens", {})._assembling(packed)
        if "filter" in pipeline._done:
            raise UsageError(
                "filter() drops documents that rows are planned of",
                hint="Leave them out by .select() or when packing, or leave by= out.",
            )
        options = {"pack_field": str(on), "pack_length": int(length), "pack_by": str(by)}
        return pipeline._with("pack_tokens", options)

    def map_batches(
        self,
        function: Callable[..., Any],
        on: str | tuple[str, ...] | list[str] | None = None,
        *,
        keywords: bool = False,
        to: Literal["numpy", "torch"] = "numpy",
    ) -> Pipeline:
        """A function of yours on every batch, after `.batch()`. May be given several times.

        It is given a dict of columns (arrays, `Ragged`, lists) and returns one with as many rows:
        arrays, tensors, `Ragged`, or lists with a value a row. The arguments are those of `map`.

        Example:
            >>> ds.decode(x=hr.npy("npy")).batch(64).map_batches(lambda x: x / 255, on="x")
        """
        return self._pipeline()._function("map_batches", function, on, keywords, to)

    def bucket(self, by: str, *, window: int = 32) -> Pipeline:
        """Steps of samples of similar length: of every `window` steps the samples are sorted by
        length and dealt to these steps anew, and the steps shuffled again. Needs `shuffle`.

        Every sample still comes exactly once, on any number of ranks and after any resume; all
        ranks take steps of similar length at the same time, without talking.

        Args:
            by: the field whose bytes are a sample's length, as "txt" or "jpg;png"; or "jpg:pixels",
                what `hr.pack(…, measure={"jpg": "pixels"})` measured; from the index.
            window: steps. More: lengths more alike, and samples that are read further apart.

        Example:
            >>> ds.shuffle(seed=1).decode(text=hr.text("txt")).bucket(by="txt", window=64).batch(32)
        """
        steps = _unsigned("window", window)
        if steps == 0:
            raise UsageError("a window has at least one step")
        if not self._pipeline().options.get("shuffle"):
            raise UsageError("bucket() needs shuffle()", hint="As in .shuffle(seed=1).bucket(...).")
        return self._pipeline()._with("bucket", {"bucket_by": str(by), "bucket_steps": steps})

    def batch(
        self,
        rows: int | None = None,
        *,
        total: int | None = None,
        tail: Literal["pad", "short", "drop"] = "pad",
        steps: int = 0,
    ) -> Pipeline:
        """How many rows make a step, and what becomes of those left at the end of an epoch.

        Args:
            rows: a rank; or
            total: of all ranks together.
            steps: an epoch; with `filter(refill=True)` and `pack_tokens` without by= alone, which
                need it.
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
            "steps": _unsigned("steps", steps),
        }
        pipeline = self._pipeline()
        if bool(steps) != bool(pipeline.options.get("assemble")):
            raise UsageError(
                "batch(steps=...) goes with filter(refill=True) and pack_tokens() without by=, "
                "which need it"
            )
        return pipeline._with("batch", options)

    def mix_rows(
        self,
        image: str,
        label: str,
        *,
        classes: int,
        mixup: float = 0.0,
        cutmix: float = 0.0,
        p: float = 1.0,
    ) -> Pipeline:
        """Mixup and cutmix: rows are mixed with their neighbours, and their labels with them.

        As torchvision's MixUp and CutMix do with a batch, each with the row before it, but inside
        groups of rows of one lane, so that the batches do not depend on the number of ranks; each
        group draws its own share. The column `label` becomes float32 of shape (rows, classes), and
        a column "lam" holds the share of each row's own label.

        Args:
            image: the column of pictures, of one size; of floats for mixup.
            label: the column of classes, made by `hr.integer`.
            classes: how many there are.
            mixup, cutmix: the alpha of each one's Beta distribution; 0 leaves it out. With both,
                each group draws which.
            p: the probability that a group is mixed.

        Example:
            >>> ds.shuffle(7).decode(x=..., y=hr.integer()).batch(256).mix_rows(
            ...     "x", "y", classes=1000, mixup=0.2, cutmix=1.0)
        """
        mix = {
            "image": image,
            "label": label,
            "classes": int(classes),
            "mixup": float(mixup),
            "cutmix": float(cutmix),
            "p": float(p),
        }
        if {"map", "filter", "pack_tokens"} & set(self._pipeline()._done):
            raise UsageError(
                "rows are mixed before your functions see samples",
                hint="Give the function to map_batches(), which comes after mix_rows().",
            )
        return self._pipeline()._with("mix_rows", {"mix": mix})

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
        on_error: Literal["raise", "skip", "gray"] = "raise",
        max_errors: int = 100,
        audit: str | os.PathLike[str] | None = None,
        prefetch: int = 0,
        workers: int = 0,
        device: str | None = None,
    ) -> Loader:
        """The loader. It starts no thread and reads no sample before the first iteration.

        Args:
            to: what columns are: numpy arrays or torch tensors.
            threads: that read and decode; 0: as many as there are processors, at most 16.
            memory: for batches in flight, in bytes or as "1GiB". Bytes of remote data sets that
                are fetched ahead may take as much again.
            rank, world: the place of this process. Without them: torch.distributed if it is
                initialised, else RANK and WORLD_SIZE, else SLURM_PROCID and SLURM_NTASKS.
            group: a torch process group of the ranks that share the data; or
            mesh: the data-parallel dimension of a DeviceMesh, as mesh["dp"].
            on_error: "raise" at the first bad sample; or up to `max_errors` an epoch, all listed in
                `batch.errors`: "skip" leaves them out, "gray" makes a picture that cannot be
                decoded gray, so that batches keep their size (other bad samples still raise).
            audit: a folder that proves afterwards what was delivered (`hr.audit_report`).
            prefetch: batches ahead; 0: as memory allows, 2 to 8.
            workers: processes that run the functions of `map`, `filter` and `map_batches`; 0: this
                one, when a batch is asked for.
            device: "cuda" or "cuda:1": columns are tensors there, copied from page-locked batches
                on a stream of their own while the device computes. Implies to="torch".

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
        if on_error not in ("raise", "skip", "gray"):
            raise UsageError(f"on_error is raise, skip or gray, not {on_error!r}")
        options = {
            "threads": _unsigned("threads", threads),
            "memory_bytes": _bytes("memory", memory),
            "prefetch": _unsigned("prefetch", prefetch),
            "on_error": on_error,
            "max_errors": _unsigned("max_errors", max_errors),
            "audit_folder": _path(audit),
            "function_workers": _unsigned("workers", workers),
            "device": "" if device is None else str(device),
        }
        if workers and not pipeline.options.get("functions"):
            raise UsageError(
                "workers= run functions, and there are none",
                hint="threads= read and decode.",
            )
        place = resolve(rank, world, group, mesh)
        return Loader(
            pipeline.source, {**pipeline.options, **options}, place, "torch" if device else to
        )


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
        if step in self._done and step not in _REPEATED:
            raise UsageError(f"{step}() was given already")
        for done in self._done:
            if _place(done) > _place(step):
                raise UsageError(f"{step}() comes before {done}()")
        return Pipeline(self.source, {**self.options, **options}, (*self._done, step))

    def _function(
        self,
        step: Literal["map", "map_batches", "filter"],
        call: Callable[..., Any],
        on: str | tuple[str, ...] | list[str] | None,
        keywords: bool,
        to: Literal["numpy", "torch"],
    ) -> Pipeline:
        from .functions.describe import describe

        functions = self.options.get("functions", ())
        if step == "map_batches" and "rows" not in self.options:
            raise UsageError("map_batches() comes after batch()")
        packed = self.options.get("assemble") or "pack_tokens" in self._done
        if step == "map_batches" and packed:
            raise UsageError(
                "map_batches() is not for batches that are filled up or packed",
                hint="Use map(), or call it in the loop.",
            )
        if "pack_tokens" in self._done:
            raise UsageError(f"{step}() comes before pack_tokens()")
        added = describe(step, call, on, keywords, to, len(functions))
        return self._with(step, {"functions": (*functions, added)})

    def _assembling(self, how: dict[str, Any]) -> Pipeline:
        return Pipeline(self.source, {**self.options, "assemble": how}, self._done)

    def __repr__(self) -> str:
        return f"{self.source!r}" + "".join(f".{step}(…)" for step in self._done)


def _place(step: str) -> int:
    return _ORDER.index(_PLACES.get(step, step))


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
