#!/usr/bin/env python3
"""A wheel must work by itself: in a fresh environment, with nothing of the builder's machine.

1. installs the wheel into a new virtual environment,
2. every library that its files load is inside the environment or promised by manylinux,
3. no instruction beyond x86-64-v2 outside functions chosen at run time,
4. the program and the package pack a small folder and load it again, and both decode AVIF, whose
   decoder they load when the first file comes.
usage: wheel_test.py WHEEL BUILT
BUILT: the wheel as it was before auditwheel. Its binaries are the same, but for section numbers, by
which the disassembler knows functions.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path

# The libraries that PEP 599 and PEP 600 promise, of those we use.
PROMISED = re.compile(
    r"(linux-vdso|ld-linux[-\w]*|lib(c|m|dl|rt|pthread|resolv|gcc_s|stdc\+\+|z))\.so\.\d+"
)
# AVX registers; functions that are only reached after asking the processor say so in their name.
WIDE_REGISTER = re.compile(r"%[yz]mm\d")
CHOSEN_AT_RUN_TIME = re.compile(r"avx2|avx3|avx512|avx10|_v3|_v4", re.IGNORECASE)

AVIF = Path(__file__).parent / "data" / "codec" / "avif" / "q60.avif"

SCRIPT = """
import headrace as hr
keys = set()
loader = hr.open("shards").shuffle(seed=7).decode(text=hr.text("txt"), label=hr.integer("cls"))
for batch in loader.batch(4, tail="short").loader():
    keys.update(batch.keys)
assert len(keys) == 10, keys
print("headrace", hr.__version__, "loaded", len(keys), "samples")
(batch,) = hr.open("pictures").decode(image=hr.image("avif")).batch(1).loader()
print("AVIF in a library that is loaded when needed:", batch["image"].shape)
"""


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """The command's output. The environment is bare: no PATH of ours, no library path."""
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": os.environ.get("HOME", "/"),
        "LC_ALL": "C.UTF-8",
    }
    environment |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(
            f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def binaries(environment: Path) -> list[Path]:
    """Our ELF files: everything that belongs to headrace under the environment."""
    return sorted(
        path
        for path in environment.rglob("*")
        if "headrace" in str(path.relative_to(environment.parent))
        and path.is_file()
        and not path.is_symlink()
        and path.read_bytes()[:4] == b"\x7fELF"
    )


def check_libraries(environment: Path, binary: Path) -> None:
    for line in run("ldd", binary).splitlines():
        name, _, where = line.strip().partition(" => ")
        library = Path(name.split(" ")[0]).name
        if PROMISED.fullmatch(library):
            continue
        resolved = where.split(" (")[0].strip()
        if not resolved.startswith("/") or environment not in Path(resolved).resolve().parents:
            sys.exit(
                f"{binary.name} takes {library} from outside the wheel: {where or 'not found'}"
            )


def check_instructions(binary: Path) -> None:
    function = ""
    for line in run("objdump", "-d", "--no-show-raw-insn", binary).splitlines():
        if line.endswith(">:"):
            function = line
        elif WIDE_REGISTER.search(line) and not CHOSEN_AT_RUN_TIME.search(function):
            sys.exit(f"{binary.name} needs AVX in {function}: {line.strip()}")


def make_folder(folder: Path) -> None:
    for number in range(10):
        path = folder / ("even" if number % 2 == 0 else "odd") / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {number}")


def main(wheel: Path, built: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="wheel-test-") as name:
        folder = Path(name).resolve()
        environment = folder / "venv"
        venv.create(environment, with_pip=True)
        bin_folder = environment / "bin"
        run(bin_folder / "python", "-m", "pip", "install", "--quiet", wheel.resolve())

        ours = binaries(environment)
        if not ours:
            sys.exit(f"{wheel.name} holds no binaries")
        for binary in ours:
            check_libraries(environment, binary)
        if sysconfig.get_platform().endswith("x86_64"):
            zipfile.ZipFile(built).extractall(folder / "headrace-built")
            for binary in binaries(folder / "headrace-built"):
                check_instructions(binary)

        print(run(bin_folder / "headrace", "--version").strip())
        make_folder(folder / "files")
        run(bin_folder / "headrace", "pack", "files", "--out", "shards",
            "--label-from", "folder", "--samples", "4", cwd=folder)  # fmt: skip
        run(bin_folder / "headrace", "verify", "shards", cwd=folder)
        run(bin_folder / "headrace", "pack", AVIF, "--out", "pictures", cwd=folder)
        run(bin_folder / "headrace", "pack", AVIF, "--out", "arrays",
            "--image", "raw-uint8", "--drop-corrupt", cwd=folder)  # fmt: skip
        print(run(bin_folder / "python", "-c", SCRIPT, cwd=folder).strip())
        print(f"{wheel.name}: {len(ours)} binaries, all self-contained")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*map(Path, sys.argv[1:]))
