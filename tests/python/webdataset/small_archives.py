"""Small archives for the tests of reading."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path


def archive(members: Iterable[tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def write(path: Path, members: Iterable[tuple[str, bytes]]) -> str:
    path.write_bytes(archive(members))
    return str(path)


def numbered(folder: Path, shards: int, samples: int) -> list[str]:
    """Shards of samples with `txt` and `cls`, numbered throughout."""
    return [
        write(
            folder / f"n{shard}.tar",
            [
                (f"{number:04d}.{field}", str(number).encode())
                for number in range(shard * samples, (shard + 1) * samples)
                for field in ("txt", "cls")
            ],
        )
        for shard in range(shards)
    ]
