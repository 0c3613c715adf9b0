"""WebLoader and FluidWrapper: DataLoader's workers, however they are started, and stages on top."""

from __future__ import annotations

import io
import tarfile
from collections import Counter

import headrace.webdataset as ours
import numpy as np
import pytest

real = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")
torch = pytest.importorskip("torch", reason="torch is not installed: NOT TESTED")

from torch.utils.data import DataLoader, IterableDataset  # noqa: E402


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    paths = []
    for shard in range(4):
        paths.append(str(folder / f"{shard}.tar"))
        with tarfile.open(paths[-1], "w") as archive:
            for number in range(10 * shard, 10 * shard + 10):
                for name, data in (("cls", b"%d" % number), ("bin", bytes(number))):
                    info = tarfile.TarInfo(f"s{number:03d}.{name}")
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))
    return paths


def length(data):
    return len(data)


def numbers(library, shards):
    """Tuples (cls, length of bin)."""
    ds = library.WebDataset(shards, shardshuffle=False).shuffle(20).decode()
    return ds.to_tuple("cls", "bin").map_tuple(None, length)


@pytest.mark.parametrize("library", [ours, real], ids=["ours", "real"])
@pytest.mark.parametrize("workers", [0, 2])
def test_every_sample_comes_once_from_the_workers(library, shards, workers):
    loader = library.WebLoader(
        numbers(library, shards).batched(4), batch_size=None, num_workers=workers
    )
    seen = Counter(int(n) for labels, sizes in loader for n in labels)
    assert seen == Counter(range(40))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_may_be_started_in_any_way(shards, method):
    loader = ours.WebLoader(
        numbers(ours, shards).batched(4),
        batch_size=None,
        num_workers=1,
        multiprocessing_context=method,
    )
    for _ in range(1):
        assert sorted(int(n) for labels, _ in loader for n in labels) == list(range(40))


def test_stages_on_top_rebatch_what_the_workers_give(shards):
    def batches(library):
        loader = library.WebLoader(
            numbers(library, shards).batched(4), batch_size=None, num_workers=2
        )
        return loader.unbatched().shuffle(100).batched(8).with_epoch(6)

    for library in (real, ours):
        assert [len(labels) for labels, _ in batches(library)] == [8, 8, 8, 8, 8, 8]


@pytest.mark.parametrize("batch_size", [None, 5])
def test_torch_itself_takes_a_pipeline(shards, batch_size):
    for library in (real, ours):
        ds = numbers(library, shards)
        assert isinstance(ds, IterableDataset)
        rows = list(DataLoader(ds, batch_size=batch_size, num_workers=2))
        counts = [len(row[0]) if batch_size else 1 for row in rows]
        assert sum(counts) == 40


def test_a_data_loader_may_be_the_first_stage(shards):
    for library in (real, ours):
        loader = DataLoader(numbers(library, shards), batch_size=None, num_workers=0)
        pipeline = library.DataPipeline(loader, library.batched(10))
        assert [len(labels) for labels, _ in pipeline] == [10] * 4


def test_a_worker_without_a_shard_is_an_error_unless_allowed(shards):
    def run(library, **options):
        ds = library.WebDataset(shards[:1], shardshuffle=False, **options)
        return [s["__key__"] for s in library.WebLoader(ds, batch_size=None, num_workers=2)]

    for library in (real, ours):
        assert len(run(library, empty_check=False)) == 10
        with pytest.raises(ValueError):  # noqa: PT011
            run(library)


def test_fluid_wrapper_takes_any_data_set():
    class Numbers(IterableDataset):
        def __iter__(self):
            return iter(range(10))

    for library in (real, ours):
        wrapped = library.FluidWrapper(Numbers()).map(str).select("369".__contains__).listed(2)
        assert list(wrapped) == [["3", "6"], ["9"]]
        assert list(library.FluidWrapper([1, 2, 3]).slice(2)) == [1, 2]


def test_web_loader_keeps_a_length(shards):
    for library in (real, ours):
        loader = library.WebLoader(numbers(library, shards), batch_size=None)
        assert len(loader.with_length(17, silent=True)) == 17


def test_batches_become_tensors_in_the_loader(shards):
    ds = ours.WebDataset(shards, shardshuffle=False).decode().to_tuple("cls")
    ((labels,), *_) = DataLoader(ds, batch_size=8)
    assert torch.equal(labels, torch.arange(8))
    ((labels,), *_) = ds.batched(8)
    assert isinstance(labels, np.ndarray)
