"""The Hugging Face Trainer on any number of ranks: `get_train_dataloader` gives our batches.

    torchrun --nproc-per-node 2 examples/frameworks/with_hf_trainer.py SHARDS LOGS

The Trainer shards what its own `get_train_dataloader` makes. An overridden one is taken as it is.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.utils.data import DataLoader
from training_data import CLASSES, KeyLog, training_loader
from transformers import Trainer, TrainingArguments


class Classifier(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.model = torch.nn.Linear(3 * 16 * 16, CLASSES)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.model(image.flatten(1))


class HeadraceTrainer(Trainer):  # type: ignore[misc]
    def __init__(self, *, shards: str, logs: str, **options: Any) -> None:
        super().__init__(**options)
        self._shards = shards
        self._log = KeyLog(logs, self.args.process_index)

    def get_train_dataloader(self) -> DataLoader[Any]:
        return DataLoader(training_loader(self._shards).as_torch_dataset(), batch_size=None)

    def compute_loss(self, model: Any, inputs: dict[str, Any], *args: Any, **options: Any) -> Any:
        self._log.add(int(self.state.epoch or 0), inputs["__key__"], inputs["__mask__"])
        losses = torch.nn.functional.cross_entropy(
            model(image=inputs["image"]), inputs["label"], reduction="none"
        )
        return losses[torch.as_tensor(inputs["__mask__"])].sum() / len(losses)


def main() -> None:
    shards, logs = sys.argv[1:]
    arguments = TrainingArguments(
        output_dir=logs,
        num_train_epochs=2,
        use_cpu=True,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
    )
    HeadraceTrainer(shards=shards, logs=logs, model=Classifier(), args=arguments).train()


if __name__ == "__main__":
    main()
