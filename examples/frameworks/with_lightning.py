"""PyTorch Lightning on any number of ranks: the loader is a data set that Lightning leaves alone.

    torchrun --nproc-per-node 2 examples/frameworks/with_lightning.py SHARDS LOGS

Lightning wants a DataLoader; `batch_size=None` says that batches come ready. It puts no
DistributedSampler over an iterable data set, so every rank keeps the rows that Headrace gives it.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import lightning
import torch
from torch.utils.data import DataLoader
from training_data import CLASSES, KeyLog, training_loader


class Classifier(lightning.LightningModule):  # type: ignore[misc]
    def __init__(self, logs: str) -> None:
        super().__init__()
        self.model = torch.nn.Linear(3 * 16 * 16, CLASSES)
        self.logs = logs

    def on_fit_start(self) -> None:
        self.log_of_keys = KeyLog(self.logs, self.global_rank)

    def training_step(self, batch: dict[str, Any], step: int) -> torch.Tensor:
        self.log_of_keys.add(self.current_epoch, batch["__key__"], batch["__mask__"])
        losses = torch.nn.functional.cross_entropy(
            self.model(batch["image"].flatten(1)), batch["label"], reduction="none"
        )
        return losses[torch.as_tensor(batch["__mask__"])].sum() / len(losses)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main() -> None:
    shards, logs = sys.argv[1:]
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=int(os.environ.get("LOCAL_WORLD_SIZE", "1")),
        strategy="ddp",
        max_epochs=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    data = DataLoader(training_loader(shards).as_torch_dataset(), batch_size=None)
    trainer.fit(Classifier(logs), data)


if __name__ == "__main__":
    main()
