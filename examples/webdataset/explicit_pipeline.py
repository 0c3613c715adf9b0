"""The pipeline written out, stage by stage, with stages of one's own between.

usage: explicit_pipeline.py SHARDS
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headrace.webdataset as wds
from headrace.webdataset.filters import _shuffle
from headrace.webdataset.handlers import ignore_and_continue
from headrace.webdataset.tariterators import (
    base_plus_ext,
    group_by_keys,
    tar_file_expander,
    url_opener,
)
from headrace.webdataset.utils import PipelineStage


class ShuffledByEpoch(PipelineStage):
    """Shuffles in another order in each epoch, as training code for language and images does."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def run(self, source: Iterator[Any]) -> Iterator[Any]:
        return _shuffle(source, 20, 5, random.Random(self.epoch))


def expand(source: Iterator[Any]) -> Iterator[Any]:
    """Samples from shards by the parts that `tarfile_to_samples` is made of."""
    streams = url_opener(source, handler=ignore_and_continue)
    files = tar_file_expander(streams, handler=ignore_and_continue)
    return group_by_keys(files, keys=base_plus_ext, handler=ignore_and_continue)


def without_empty_text(source: Iterator[Any]) -> Iterator[Any]:
    return (sample for sample in source if sample["txt"])


def main() -> None:
    shards = sorted(str(path) for path in Path(sys.argv[1]).glob("*.tar"))
    for epoch in range(2):
        pipeline = wds.DataPipeline(
            wds.SimpleShardList(shards),
            wds.detshuffle(bufsize=10, seed=2, epoch=epoch - 1),
            wds.split_by_node,
            wds.split_by_worker,
            expand,
            without_empty_text,
            ShuffledByEpoch(epoch),
            wds.decode(wds.imagehandler("rgb8")),
            wds.to_tuple("__key__", "jpg", "txt"),
            wds.map_tuple(None, lambda image: image.shape),
            wds.batched(8, partial=False),
        )
        batches = list(pipeline)
        keys = [key for batch in batches for key in batch[0]]
        print("epoch", epoch, len(batches), "batches", keys[:4], batches[0][1][0])


if __name__ == "__main__":
    main()
