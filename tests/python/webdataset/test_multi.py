"""MultiLoader: worker processes without torch.

The real one is no oracle: its workers may end before their last samples are sent, and it waits for
them for ever.
"""

from __future__ import annotations

import glob
import os

import headrace.webdataset as ours
import pytest
from small_archives import numbered

pytest.importorskip("zmq", reason="pyzmq is not installed: NOT TESTED")

from headrace.webdataset.multi import MultiLoader

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def shards(tmp_path):
    return numbered(tmp_path, shards=5, samples=8)


def numbers(library, shards):
    return library.WebDataset(shards, shardshuffle=False).decode().to_tuple("cls")


@pytest.mark.parametrize("workers", [1, 3])
def test_every_sample_comes_once_in_each_epoch(shards, tmp_path, workers):
    mine = MultiLoader(numbers(ours, shards), workers=workers, prefix=f"{tmp_path}/s-")
    for _ in range(2):
        assert sorted(mine) == [(number,) for number in range(40)]


def test_it_is_a_source_of_pipelines(shards):
    data = ours.DataPipeline(
        lambda: iter(MultiLoader(numbers(ours, shards), workers=2)),
        ours.shuffle(10),
        ours.batched(8),
    )
    assert sorted(int(n) for (labels,) in data for n in labels) == list(range(40))


def test_an_iteration_that_is_broken_off_leaves_no_worker(shards, tmp_path):
    loader = MultiLoader(numbers(ours, shards), workers=2, prefix=f"{tmp_path}/s-")
    next(iter(loader))
    processes = list(loader.pids)
    loader.kill()
    assert processes and not any(process.is_alive() for process in processes)
    assert not glob.glob(f"{tmp_path}/s-*")
    assert sorted(loader) == [(number,) for number in range(40)]


def exit_at_five(sample):
    if sample[0] == 5:
        os._exit(3)
    return sample


def test_a_worker_that_dies_is_an_error(shards):
    loader = MultiLoader(numbers(ours, shards).map(exit_at_five), workers=2)
    with pytest.raises(RuntimeError, match="worker 0 ended with exit code 3"):
        list(loader)
