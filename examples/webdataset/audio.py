"""Audio: WAV files decoded by a function of one's own, cut to one length, in batches.

usage: audio.py SHARDS
"""

from __future__ import annotations

import io
import sys
import wave
from pathlib import Path
from typing import Any

import headrace.webdataset as wds
import numpy as np

LENGTH = 512


def wav_decoder(key: str, data: bytes) -> Any:
    """Mono float32 in -1..1; None for what is no WAV file, so that others may try."""
    if not key.endswith(".wav"):
        return None
    with wave.open(io.BytesIO(data)) as file:
        frames = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
        return frames.astype(np.float32) / 32768, file.getframerate()


def cut(sample: dict[str, Any]) -> dict[str, Any]:
    signal, rate = sample["wav"]
    return {"signal": signal[:LENGTH], "rate": rate, "label": sample["cls"]}


def main() -> None:
    shards = sorted(str(path) for path in Path(sys.argv[1]).glob("*.tar"))
    dataset = (
        wds.WebDataset(shards, shardshuffle=False, select_files=lambda name: name[-3:] in "wav cls")
        .decode(wav_decoder, wds.handle_extension("cls", int))
        .map(cut)
        .batched(16)
    )
    energy = 0.0
    for batch in dataset:
        assert batch["signal"].shape[1:] == (LENGTH,) and set(batch["rate"]) == {8000}
        energy += float(np.square(batch["signal"]).mean())
    print("labels of the last batch", batch["label"].tolist(), "energy", round(energy, 5))


if __name__ == "__main__":
    main()
