"""Lightning, Accelerate and the Hugging Face Trainer do not shard a second time: the examples train
on every sample exactly once an epoch when they run on two ranks."""

from __future__ import annotations

import collections
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "frameworks"
MODULES = {"lightning": "lightning", "accelerate": "accelerate", "hf_trainer": "transformers"}
# A thread of torch's ProcessGroupGloo may want the interpreter just when it ends, once in dozens of
# runs: ProcessGroupGloo::runLoop, PyEval_AcquireThread, pthread_exit, std::terminate.
TORCH_AT_EXIT = "terminate called without an active exception"
SAMPLES = 61  # not a multiple of 2 ranks times 8 rows: the last step is padded


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> Path:
    """Two shards of small pictures with classes."""
    import tarfile

    from PIL import Image

    folder = tmp_path_factory.mktemp("pictures")
    for shard in range(2):
        with tarfile.open(folder / f"part-{shard}.tar", "w") as archive:
            for number in range(shard, SAMPLES, 2):
                encoded = io.BytesIO()
                Image.new("RGB", (20, 18), (number, 2 * number, 255 - number)).save(encoded, "PNG")
                members = {"png": encoded.getvalue(), "cls": str(number % 10).encode()}
                for field, data in members.items():
                    info = tarfile.TarInfo(f"s{number:03d}.{field}")
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))
    return folder


def train(framework: str, pictures: Path, logs: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"),
            *(EXAMPLES / f"with_{framework}.py", pictures, logs),
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("framework", MODULES)
def test_every_sample_is_trained_on_once_an_epoch(pictures, tmp_path, framework):
    pytest.importorskip("torch")
    pytest.importorskip(MODULES[framework])
    run = train(framework, pictures, tmp_path)
    for _ in range(2):
        if run.returncode == 0 or TORCH_AT_EXIT not in run.stderr:
            break
        run = train(framework, pictures, tmp_path)
    assert run.returncode == 0, run.stderr
    ranks = [(tmp_path / f"rank-{rank}.txt").read_text().splitlines() for rank in range(2)]
    assert all(ranks)
    seen = collections.Counter(line for rank in ranks for line in rank)
    assert set(seen.values()) == {1}
    assert len(seen) == 2 * SAMPLES
    assert {line.split()[0] for line in seen} == {"0", "1"}
