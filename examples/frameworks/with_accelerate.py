"""Hugging Face Accelerate on any number of ranks: all is prepared, the loader stays as it is.

    torchrun --nproc-per-node 2 examples/frameworks/with_accelerate.py SHARDS LOGS

`prepare` shards only torch's own DataLoader; a Headrace loader passes through it as it is, with
the rows of this rank.
"""

from __future__ import annotations

import sys

import torch
from accelerate import Accelerator
from training_data import CLASSES, KeyLog, training_loader


def main() -> None:
    shards, logs = sys.argv[1:]
    accelerator = Accelerator(cpu=True)
    model = torch.nn.Linear(3 * 16 * 16, CLASSES)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, training_loader(shards))
    log = KeyLog(logs, accelerator.process_index)
    for epoch in range(2):
        for batch in loader:
            log.add(epoch, batch.keys, batch.mask)
            losses = torch.nn.functional.cross_entropy(
                model(batch["image"].flatten(1)), batch["label"], reduction="none"
            )
            accelerator.backward(losses[torch.as_tensor(batch.mask)].sum() / len(losses))
            optimizer.step()
            optimizer.zero_grad()
    accelerator.end_training()


if __name__ == "__main__":
    main()
