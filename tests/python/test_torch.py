"""torch: tensors, DataLoader, StatefulDataLoader, process groups."""

from __future__ import annotations

import copy
import io
import json
import subprocess
import sys
import tarfile
import textwrap

import headrace as hr
import pytest

torch = pytest.importorskip(
    "torch", reason="torch is not installed: NOT TESTED", exc_type=ImportError
)


@pytest.fixture
def pipeline(shards):
    return (
        hr.open(shards(205, 4))
        .shuffle(seed=3, lanes=2)
        .decode(n=hr.integer("cls"), words=hr.text("txt"))
        .batch(10)
    )


def numbers(batches):
    return [batch["n"].tolist() for batch in batches]


def test_columns_are_tensors_over_the_engines_memory(pipeline):
    batch = next(iter(pipeline.loader(to="torch")))
    tensor = batch["n"]
    assert isinstance(tensor, torch.Tensor)
    assert tensor.dtype == torch.int64
    assert tensor.data_ptr() == batch.column("n").address
    assert tensor.numpy().ctypes.data == tensor.data_ptr()
    assert batch["words"].values.data_ptr() == batch.column("words").address
    assert batch.mask.dtype == torch.bool
    assert batch["words"][0].startswith("sample")


def test_tensors_outlive_the_loader(pipeline):
    loader = pipeline.loader(to="torch")
    kept = [batch["n"] for batch in loader]
    expected = numbers(pipeline.loader())
    loader.close()
    del loader
    assert [tensor.tolist() for tensor in kept] == expected


def data_loader(loader, workers, **options):
    if workers:
        options.setdefault("multiprocessing_context", "fork")
    return torch.utils.data.DataLoader(
        loader.as_torch_dataset(), batch_size=None, num_workers=workers, **options
    )


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_a_data_loader_gives_the_same_global_order(pipeline, workers):
    reference = pipeline.loader()
    expected = [numbers(reference) for _ in range(3)]
    data = data_loader(pipeline.loader(to="torch", threads=2), workers)
    assert len(data) == len(reference)
    assert [numbers(data) for _ in range(3)] == expected


def test_a_data_loader_gives_plain_dicts(pipeline):
    (batch, *_rest) = data_loader(pipeline.loader(to="torch"), 2)
    assert set(batch) == {"n", "words", "__key__", "__mask__"}
    assert batch["__key__"] == [f"s{n:05d}" for n in batch["n"].tolist()]
    assert batch["words"][0] == f"sample {batch['n'][0]} äöü"
    assert batch["__mask__"].all()


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_may_be_spawned(pipeline, method):
    data = data_loader(pipeline.loader(to="torch"), 2, multiprocessing_context=method)
    reference = pipeline.loader()
    assert [numbers(data), numbers(data)] == [numbers(reference), numbers(reference)]


def test_persistent_workers_go_on_to_the_next_epoch(pipeline):
    data = data_loader(pipeline.loader(to="torch"), 2, persistent_workers=True)
    reference = pipeline.loader()
    assert [numbers(data) for _ in range(3)] == [numbers(reference) for _ in range(3)]


def test_set_epoch_reaches_the_workers(pipeline):
    reference = pipeline.loader()
    epochs = [numbers(reference) for _ in range(3)]
    for workers in (0, 2):
        data = data_loader(pipeline.loader(to="torch"), workers)
        data.dataset.set_epoch(2)
        assert numbers(data) == epochs[2]
        data.dataset.set_epoch(0)
        assert numbers(data) == epochs[0]
        assert numbers(data) == epochs[1]


def test_ranks_and_workers_together_see_everything_once(shards):
    ds = hr.open(shards(205, 4)).shuffle(seed=3).decode(n=hr.integer("cls"))
    seen = []
    for rank in range(2):
        loader = ds.batch(10).loader(to="torch", rank=rank, world=2)
        for batch in data_loader(loader, 2):
            seen += batch["n"][batch["__mask__"]].tolist()
    assert sorted(seen) == list(range(205))


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_a_stateful_data_loader_resumes_exactly(pipeline, workers):
    stateful = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader

    def make():
        options = {"multiprocessing_context": "fork"} if workers else {}
        return stateful(
            pipeline.loader(to="torch", threads=2).as_torch_dataset(),
            batch_size=None,
            num_workers=workers,
            **options,
        )

    reference = pipeline.loader()
    first, second = numbers(reference), numbers(reference)
    for stops in ([1], [7, 4], [len(first) - 1]):
        before, state = [], None
        for stop in stops:
            data = make()
            if state is not None:
                data.load_state_dict(state)
            iterator = iter(data)
            before += numbers(next(iterator) for _ in range(stop))
            state = copy.deepcopy(data.state_dict())
            del iterator, data
        again = make()
        again.load_state_dict(state)
        assert before + numbers(again) == first
        assert numbers(again) == second


def test_tensors_are_asked_for(pipeline):
    with pytest.raises(hr.UsageError, match="torch"):
        pipeline.loader().as_torch_dataset()


WORLD = textwrap.dedent("""
    import json, os, sys
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    import headrace as hr

    rank, folder, meeting = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    dist.init_process_group("gloo", rank=rank, world_size=4, init_method="file://" + meeting)

    def numbers(seed=1, **place):
        loader = (hr.open(folder).shuffle(seed=seed).decode(n=hr.integer("cls"))
                  .batch(10, tail="short").loader(**place))
        return [n for batch in loader for n in batch["n"].tolist()]

    def complaint(f):
        try:
            f()
        except hr.UsageError as error:
            return str(error)

    # Model parallelism of 2: ranks 0 and 1 are one data rank, 2 and 3 the other.
    groups = [dist.new_group([0, 2]), dist.new_group([1, 3])]
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    print(json.dumps({
        "world": numbers(),
        "group": numbers(group=groups[rank % 2]),
        "mesh": numbers(mesh=mesh["dp"]),
        "whole mesh": complaint(lambda: numbers(mesh=mesh)),
        "other seed": complaint(lambda: numbers(seed=2 if rank == 2 else 1)),
        "other group": complaint(lambda: numbers(group=groups[1 - rank % 2])),
    }), flush=True)
    dist.barrier()
    os._exit(0)  # gloo may abort when groups end with the interpreter: pytorch/pytorch#190489
    """)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """What the four ranks of a process group answer."""
    folder = tmp_path_factory.mktemp("world")
    with tarfile.open(folder / "a.tar", "w") as archive:
        for i in range(205):
            info = tarfile.TarInfo(f"s{i:05d}.cls")
            info.size = len(str(i))
            archive.addfile(info, io.BytesIO(str(i).encode()))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORLD, str(rank), str(folder), str(folder / "meeting")],
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(4)
    ]
    outputs = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    return [json.loads(output.splitlines()[-1]) for output in outputs]


def test_ranks_come_from_the_process_group(world):
    assert sorted(n for rank in world for n in rank["world"]) == list(range(205))


@pytest.mark.parametrize("case", ["group", "mesh"])
def test_peers_of_one_data_rank_get_the_same_rows(world, case):
    a, b, c, d = (rank[case] for rank in world)
    assert a == b
    assert c == d
    assert sorted(a + c) == list(range(205))


def test_a_rank_with_other_options_is_named_on_all_ranks(world):
    assert all("rank 2 " in rank["other seed"] for rank in world)


def test_what_cannot_be_the_data_parallel_group_is_refused(world):
    assert all("2 dimensions" in rank["whole mesh"] for rank in world)
    assert all("not in the process group" in rank["other group"] for rank in world)
