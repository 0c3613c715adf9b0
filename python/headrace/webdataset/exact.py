"""The same pipeline in Headrace's own order: every sample exactly once, resumable, on any ranks.

    batches = ds.exact(batch=256)         # ds: WebDataset(...).shuffle(1000).decode("rgb8")…
    for batch in batches: ...
    state = batches.state_dict()          # also after a batch; load_state_dict on any world size

The engine reads and orders; the stages that work on one sample each run on the rows of a batch.
Shuffles of shards and of samples become the engine's shuffle. A stage that changes how many
samples there are, or that needs the stream as it came, cannot take part and is named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from .collation import _batched, batch_options, default_collation_fn
from .compat import check_empty
from .currying import FilterFunction
from .fields import _associate, _extract_keys, _rename, _rename_keys, _to_tuple
from .filters import _decode
from .inspection import _info, _log_keys
from .mapping import _map, _map_dict, _map_tuple
from .pipeline import DataPipeline
from .shard_shuffle import ShardShuffle
from .shardlists import SimpleShardList
from .shuffling import _shuffle, detshuffle
from .stream_decoding import _xdecode
from .tariterators import group_by_keys, samples_of_streams, tar_file_expander, tarfile_samples

_ONE_TO_ONE = (
    *(_map, _map_dict, _map_tuple, _to_tuple, _rename, _rename_keys, _extract_keys),
    *(_xdecode, _decode, _associate, _info, _log_keys),
)
_READERS = (tar_file_expander, group_by_keys, samples_of_streams, tarfile_samples)
_ABSENT = b"\0headrace: the sample has no such field\0"


class Exact:
    """Batches of a pipeline in the exactly-once order. Made by `WebDataset.exact`."""

    def __init__(
        self,
        pipeline: DataPipeline,
        batch: int | None,
        seed: int | None,
        tail: str,
        options: dict[str, Any],
    ) -> None:
        plan = _Plan(pipeline)
        rows = batch if batch is not None else plan.rows
        if rows is None:
            raise ValueError("exact() needs batch=, as the pipeline has no batched() stage")
        self._plan = plan
        self._dataset = _opened(plan.urls)
        import headrace as hr

        steps: Any = self._dataset
        if plan.shuffles:
            steps = steps.shuffle(seed=seed if seed is not None else getattr(pipeline, "seed", 0))
        columns = {name: hr.bytes(name, default=_ABSENT) for name in self._dataset.fields}
        self._loader = steps.decode(**columns).batch(rows, tail=tail).loader(**options)

    def __len__(self) -> int:
        """Batches of an epoch on each rank."""
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        for batch in self._loader:
            yield self._plan.collate(self._plan.run(_samples_of(batch)))

    def state_dict(self) -> dict[str, Any]:
        """Where the run is: the same on all ranks."""
        state: dict[str, Any] = self._loader.state_dict()
        return state

    def load_state_dict(self, state: dict[str, Any], total: int | None = None) -> None:
        """Goes on from a state, on any number of ranks. StateError: it is of another run."""
        self._loader.load_state_dict(state, total)

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next iteration gives."""
        self._loader.set_epoch(epoch)

    def explain(self) -> str:
        """What is read, in which order, and why."""
        return str(self._loader.explain())

    def close(self) -> None:
        self._loader.close()


class _Plan:
    """What a pipeline's stages mean for the exact order. ValueError names one that does not fit."""

    def __init__(self, pipeline: DataPipeline) -> None:
        if pipeline.repetitions != 1:
            raise ValueError("exact(): with_epoch() and repeat() cannot take part; see set_epoch()")
        self.urls: list[str] = []
        self.shuffles = False
        self.stages: list[FilterFunction] = []
        self.rows: int | None = None
        self.collation: Any = default_collation_fn
        source, *stages = pipeline.pipeline
        if type(source) is not SimpleShardList:
            raise _misfit(source, "only a plain list of shards can be read exactly once")
        self.urls = [url.removeprefix("file:") for url in source.urls]
        for url in self.urls:
            if url.startswith("pipe:"):
                raise _misfit(source, f"{url} is a command, and those have no index")
        self.shuffles = source.seed is not None
        for i, stage in enumerate(stages):
            self._add(stage, is_last=i + 1 == len(stages))

    def _add(self, stage: Any, is_last: bool) -> None:
        from .cache import FileCache, StreamingOpen
        from .shardlists import single_node_only, split_by_node, split_by_worker

        function = stage.f if isinstance(stage, FilterFunction) else stage
        if isinstance(stage, (ShardShuffle, detshuffle)) or function is _shuffle:
            self.shuffles = True
        elif isinstance(stage, (StreamingOpen, FileCache)) or function in (
            *(single_node_only, split_by_node, split_by_worker),
            check_empty,
        ):
            return  # ranks are served by the engine
        elif function in _READERS:
            if stage.kw.get("select_files") or stage.kw.get("rename_files"):
                raise _misfit(stage, "members are selected by the index, not by a function")
        elif function in _ONE_TO_ONE:
            self.stages.append(stage)
        elif function is _batched and is_last:
            self.rows, self.collation, _ = batch_options(*stage.args, **stage.kw)
        else:
            raise _misfit(stage, "it changes how many samples there are or needs them in a stream")

    def run(self, samples: list[Any]) -> list[Any]:
        """The samples of a batch through the stages."""
        for stage in self.stages:
            count = len(samples)
            samples = list(stage(iter(samples)))
            if len(samples) != count:
                raise _misfit(stage, f"it left out {count - len(samples)} samples of a batch")
        return samples

    def collate(self, samples: list[Any]) -> Any:
        return samples if self.collation is None or not samples else self.collation(samples)


def _misfit(stage: Any, why: str) -> ValueError:
    return ValueError(f"exact(): the stage {stage} cannot take part: {why}")


def _opened(urls: list[str]) -> Any:
    """The data set of these shards, by the manifest beside them where it names just them."""
    import headrace as hr

    folders = {os.path.dirname(url) for url in urls}
    if len(folders) == 1:
        folder = folders.pop() or "."
        if os.path.exists(os.path.join(folder, "headrace.json")):
            known = hr.open(folder)
            names = [os.path.basename(str(shard)) for shard in known.shards]
            if sorted(names) == sorted(os.path.basename(url) for url in urls):
                return known
    return hr.open(urls)


def _samples_of(batch: Any) -> list[dict[str, Any]]:
    """The rows of a batch as dictionaries."""
    columns = [(name, batch[name]) for name in batch.fields]
    samples = []
    for i, (key, origin) in enumerate(zip(batch.keys, batch.origins, strict=True)):
        sample: dict[str, Any] = {"__key__": key, "__url__": origin.shard}
        for name, column in columns:
            value = column[i]
            if value != _ABSENT:
                sample[name] = value
        samples.append(sample)
    return samples
