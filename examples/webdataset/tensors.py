"""Features kept as arrays: written once in the tenbin format, then read without decoding.

usage: tensors.py SHARDS
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import headrace.webdataset as wds
import numpy as np


def main() -> None:
    shards = sorted(str(path) for path in Path(sys.argv[1]).glob("*.tar"))
    with tempfile.TemporaryDirectory() as out:
        path = f"{out}/features.tar"
        pictures = (
            wds.WebDataset(shards, shardshuffle=False).decode("rgb").to_tuple("__key__", "jpg")
        )
        with wds.TarWriter(path) as sink:
            for key, picture in pictures:
                mean, spread = picture.mean((0, 1)), picture.std((0, 1))
                sink.write(
                    {
                        "__key__": key,
                        "ten": [mean, spread],
                        "histogram.npy": np.histogram(picture, 8)[0],
                    }
                )
        features = (
            wds.WebDataset(path, shardshuffle=False).decode().to_tuple("ten", "histogram.npy")
        )
        rows = [(mean, spread, histogram) for (mean, spread), histogram in features]
        means = np.stack([mean for mean, _, _ in rows])
        print(means.shape, means.dtype, np.round(means.mean(0), 4).tolist())
        print("pixels", sum(int(histogram.sum()) for _, _, histogram in rows))


if __name__ == "__main__":
    main()
