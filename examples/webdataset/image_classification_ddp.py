"""Image classification on two ranks under DistributedDataParallel; each rank reads half the shards.

`torchrun` would start the ranks; here the script does it itself.
usage: image_classification_ddp.py SHARDS
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Any

import headrace.webdataset as wds
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

WORLD = 2
STEPS = 3


def flat(image: Any) -> Any:
    return image.reshape(-1)


def make_loader(shards: list[str]) -> Any:
    dataset = (
        wds.WebDataset(shards, resampled=True, nodesplitter=wds.split_by_node, seed=1)
        .shuffle(100, initial=50)
        .decode("torchrgb")
        .to_tuple("jpg", "cls")
        .map_tuple(flat)
    )
    return wds.WebLoader(dataset.batched(4), batch_size=None, num_workers=1).with_epoch(STEPS)


def train(rank: int, port: int, shards: list[str]) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(WORLD))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(3 * 48 * 48, 5))
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-4)
    steps = 0
    for images, labels in make_loader(shards):
        loss = torch.nn.functional.cross_entropy(model(images), torch.as_tensor(labels))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        steps += 1
    total = torch.tensor(steps)
    dist.all_reduce(total)
    if rank == 0:
        print("steps of all ranks", int(total), "loss is finite", bool(torch.isfinite(loss)))
    dist.destroy_process_group()


def main() -> None:
    shards = sorted(str(path) for path in Path(sys.argv[1]).glob("*.tar"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    torch.multiprocessing.start_processes(train, (port, shards), nprocs=WORLD, start_method="fork")


if __name__ == "__main__":
    main()
