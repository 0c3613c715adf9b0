"""Batches on a CUDA device. Most of it needs one; without one it is skipped, and says so."""

from __future__ import annotations

import io

import headrace as hr
import numpy as np
import pytest

torch = pytest.importorskip("torch")

needs_cuda = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="NO CUDA DEVICE HERE: loader(device=) IS NOT TESTED"
)


@pytest.fixture
def pipeline(make_tar, tmp_path):
    def sample(i):
        file, ragged = io.BytesIO(), io.BytesIO()
        np.save(file, np.full((3, 64, 64), i % 256, np.uint8))
        np.save(ragged, np.arange(i % 7, dtype=np.float32))
        fields = {"npy": file.getvalue(), "rag": ragged.getvalue(), "txt": f"t{i}".encode()}
        return f"k{i:04d}", {**fields, "cls": str(i).encode()}

    make_tar(tmp_path / "a.tar", map(sample, range(300)))
    ds = hr.open(tmp_path / "a.tar").shuffle(seed=1)
    fields = {"x": hr.npy("npy"), "r": hr.npy("rag"), "n": hr.integer(), "t": hr.text()}
    return ds.decode(**fields).batch(16)


@pytest.mark.parametrize("name", ["cpu", "cuda:99", "tpu9"])
def test_a_device_that_is_not_there_is_refused(pipeline, name):
    with pytest.raises(hr.UsageError, match="device"):
        pipeline.loader(device=name)


def test_columns_are_moved_once_when_they_are_asked_for(pipeline, monkeypatch):
    moved = []

    class Elsewhere:
        number = 1

        def __init__(self, name):
            assert name == "cuda:1"

        def move(self, tensor):
            moved.append(tensor.shape)
            return tensor.clone()

    monkeypatch.setattr("headrace.device.Device", Elsewhere)
    batch = next(iter(pipeline.loader(device="cuda:1")))
    assert moved == []
    assert isinstance(batch["x"], torch.Tensor)
    assert batch["x"] is batch["x"]
    assert moved == [(16, 3, 64, 64)]
    assert batch["r"].values is batch["r"].values
    assert [row.tolist() for row in batch["r"]] == [list(range(n % 7)) for n in batch["n"]]
    assert batch["t"].tolist() == [f"t{n}" for n in batch["n"]]
    assert len(moved) == 3


@needs_cuda
def test_columns_are_on_the_device_and_equal_those_of_the_host(pipeline):
    for batch, host in zip(pipeline.loader(device="cuda"), pipeline.loader(), strict=True):
        assert batch["x"].is_cuda
        assert batch["r"].values.is_cuda
        assert batch.mask.is_cuda
        assert (batch["x"].cpu().numpy() == host["x"]).all()
        assert (batch["r"].values.cpu().numpy() == host["r"].values).all()
        assert batch["n"].tolist() == host["n"].tolist()
        assert batch["t"].tolist() == host["t"].tolist()
        assert batch.keys == host.keys


@needs_cuda
def test_the_device_copies_from_the_batches_own_memory(pipeline):
    for batch in pipeline.loader(device="cuda"):
        assert torch.from_dlpack(batch.column("x")).is_pinned()
        assert torch.from_dlpack(batch.column("r")).is_pinned()


@needs_cuda
def test_batches_stay_as_they_are_while_the_device_is_busy(pipeline):
    busy = torch.randn(4096, 4096, device="cuda")
    sums = []
    for batch in pipeline.loader(device="cuda", memory="1MiB"):
        for _ in range(5):
            busy = (busy @ busy).clamp(-1, 1)
        sums.append((batch["x"][:, 0, 0, 0].long(), batch["n"] % 256))
    torch.cuda.synchronize()
    assert all(torch.equal(x, n) for x, n in sums)
