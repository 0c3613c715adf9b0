"""The built program, called as people call it, and data sets to call it on."""

import io
import os
import random
import subprocess
import tarfile
from pathlib import Path

import pytest
from conftest import write_tar

ROOT = Path(__file__).resolve().parents[2]


def _binary() -> str:
    named = os.environ.get("HEADRACE_BIN")
    built = [ROOT / ".venv/bin/headrace", ROOT / "build/release/cli/headrace"]
    candidates = [named] if named else built
    for candidate in candidates:
        if Path(candidate).is_file():
            return str(candidate)
    pytest.skip("the headrace program is not built", allow_module_level=True)


HEADRACE = _binary()


def run(*args, stdin=None, env=None, **kwargs):
    return subprocess.run(
        [HEADRACE, *map(str, args)],
        input=stdin,
        capture_output=True,
        env={**os.environ, **(env or {})},
        timeout=120,
        **kwargs,
    )


def ok(*args, **kwargs) -> bytes:
    done = run(*args, **kwargs)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def shards_of(folder: Path):
    return sorted(folder.glob("*.tar"))


def table(folder: Path, name: str) -> Path:
    (path,) = (folder / "_headrace").glob(name + "-*.bin")
    return path


def flip(path: Path, offset: int, bit: int = 1):
    data = bytearray(path.read_bytes())
    data[offset] ^= bit
    path.write_bytes(data)


def make_tar(path, names, data=b"x"):
    with tarfile.open(path, "w") as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def write_random_set(folder: Path, shards: int, samples: int, largest: int) -> Path:
    """An indexed set of "part-N.tar"; a sample has 1,000 to `largest` random bytes as "bin" and
    its number as "cls"."""
    folder.mkdir()
    rng = random.Random(5)
    for shard in range(shards):
        write_tar(
            folder / f"part-{shard}.tar",
            (
                (
                    f"s{shard}-{i:03}",
                    {"bin": rng.randbytes(rng.randint(1000, largest)), "cls": str(i).encode()},
                )
                for i in range(samples)
            ),
        )
    ok("index", folder, "--out", folder, "--quiet")
    return folder
