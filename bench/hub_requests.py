"""Requests that a Hub gets from a node of many workers: Headrace and `datasets` in turn.

    .venv/bin/python bench/hub_requests.py [--files 10000] [--workers 64]

The Hub is the fake one of the tests, which counts. The repository has so many tar shards and a
manifest made by `headrace index`; Headrace's workers are processes, those of `datasets` the
DataLoader's. `open`: until every worker has the data set; `first`: until each has a first sample.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/python"))
from servers.hub_fake import HubFake  # noqa: E402

OURS = """
import sys, headrace as hr
ds = hr.open("hf://datasets/org/set")
if sys.argv[1] == "first":
    rank, world = int(sys.argv[2]), int(sys.argv[3])
    loader = ds.shuffle(seed=1).batch(1).loader(rank=rank, world=world, threads=1)
    next(iter(loader))
print(len(ds))
"""

THEIRS = """
import sys, datasets
from torch.utils.data import DataLoader
rows = datasets.load_dataset("org/set", split="train", streaming=True)
if sys.argv[1] == "first":
    workers = int(sys.argv[3])
    loader = iter(DataLoader(rows, batch_size=1, num_workers=workers, prefetch_factor=1,
                             collate_fn=list))
    for _ in range(workers):
        next(loader)
print(rows.num_shards)
"""


def make_shards(folder: Path, files: int) -> dict[str, bytes | Path]:
    for number in range(files):
        with tarfile.open(folder / f"{number:05}.tar", "w") as archive:
            for sample in range(2):
                data = f"sample {sample} of {number}".encode()
                info = tarfile.TarInfo(f"{number:05}-{sample}.txt")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    program = os.environ.get("HEADRACE_BIN", str(ROOT / "build/release/cli/headrace"))
    subprocess.run([program, "index", folder, "--out", folder, "--quiet"], check=True)
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path for path in paths}


def run(code: str, arguments: list[list[str]], hub: HubFake, home: Path) -> dict[str, int]:
    """Runs `code` once for each list of arguments, all at once; what the Hub was asked."""
    environment = {name: value for name, value in os.environ.items() if name[:3] != "HF_"}
    environment |= {
        "HF_ENDPOINT": hub.endpoint.replace("127.0.0.1", "localhost"),
        "HF_HOME": str(home),
        "HEADRACE_CACHE": str(home / "headrace"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    }
    hub.clear_log()
    command = [sys.executable, "-W", "ignore", "-c", code]
    running = [
        subprocess.Popen([*command, *words], env=environment, stdout=subprocess.DEVNULL)
        for words in arguments
    ]
    assert [process.wait() for process in running] == [0] * len(running)
    return hub.counts()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=64)
    options = parser.parse_args()
    world = str(options.workers)
    with tempfile.TemporaryDirectory() as place, HubFake() as hub:
        folder = Path(place) / "set"
        folder.mkdir()
        hub.add("datasets", "org/set", make_shards(folder, options.files))
        for phase in ("open", "first"):
            ours = [[phase, str(rank), world] for rank in range(options.workers)]
            for name, code, arguments in [
                ("headrace", OURS, ours),
                ("datasets", THEIRS, [[phase, "0", world]]),
            ]:
                counts = run(code, arguments, hub, Path(place) / f"{name}-{phase}")
                row = {"reader": name, "phase": phase, "all": sum(counts.values()), **counts}
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
