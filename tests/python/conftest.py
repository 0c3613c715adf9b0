"""Data sets for the tests, made by Python's own tarfile, and helpers to run other processes."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import subprocess
import sys
import tarfile
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

# A shell that starts the tests in the background has Ctrl-C ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

Members = dict[str, bytes]


def write_tar(path: Path, samples: Iterable[tuple[str, Members]]) -> None:
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for key, members in samples:
            for field, data in members.items():
                info = tarfile.TarInfo(f"{key}.{field}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))


def simple_sample(number: int) -> tuple[str, Members]:
    """A sample whose every field can be told from its number."""
    return f"s{number:05d}", {
        "cls": str(number).encode(),
        "txt": f"sample {number} äöü".encode(),
        "json": json.dumps({"number": number}).encode(),
        "bin": bytes([number % 251]) * (number % 40),
    }


@pytest.fixture
def make_tar() -> Callable[[Path, Iterable[tuple[str, Members]]], None]:
    """make_tar(path, samples): a shard of (key, {field: bytes})."""
    return write_tar


MakeShards = Callable[..., Path]


@pytest.fixture
def shards(tmp_path: Path) -> MakeShards:
    """shards(samples, count): a folder of `count` shards of uneven size."""

    def make(samples: int, count: int = 3, name: str = "shards") -> Path:
        folder = tmp_path / name
        folder.mkdir()
        starts = [samples * i * i // (count * count) for i in range(count + 1)]
        for shard in range(count):
            numbers = range(starts[shard], starts[shard + 1])
            write_tar(folder / f"part-{shard:03d}.tar", map(simple_sample, numbers))
        return folder

    return make


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], check=False)
    if mounted.returncode != 0:
        pytest.skip("file systems are mounted by root alone")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_python() -> Run:
    """run_python(code, *arguments): the code in another Python, within a time limit."""

    def run(
        code: str, *arguments: object, env: dict[str, str] | None = None, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, **(env or {})},
        )

    return run


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Members]]:
    """60 samples in two folders: {key: {field: bytes}}, and the folder that holds them."""
    folder = tmp_path_factory.mktemp("files")
    rng = random.Random(7)
    samples = {}
    for animal in ("cat", "dog"):
        (folder / animal).mkdir()
        for i in range(30):
            fields = {"bin": rng.randbytes(rng.randint(1, 1500)), "cls": b"%d" % (animal == "dog")}
            if i % 7 == 0:
                fields["txt"] = b"" if i == 7 else b"a note\n"
            samples[f"{animal}/{i:03}"] = fields
            for field, data in fields.items():
                (folder / animal / f"{i:03}.{field}").write_bytes(data)
    return folder, samples


@pytest.fixture
def packed(files: tuple[Path, dict[str, Members]], tmp_path: Path) -> Path:
    """A fresh data set of six shards, to be damaged."""
    from program import ok  # where the program is not built, only its own tests are skipped

    out = tmp_path / "set"
    ok("pack", files[0], "--out", out, "--samples", "10", "--quiet")
    return out
