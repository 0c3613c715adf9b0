"""Where the programs under test are: beside the Python that runs this, or where the environment
says (HEADRACE_PROGRAM, HEADRACE_IO_LIMIT …)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
HEADRACE = Path(os.environ.get("HEADRACE_PROGRAM", Path(sys.executable).with_name("headrace")))


def program(name: str) -> Path:
    """The program of bench/NAME.cc, built now if it is not there."""
    if place := os.environ.get(f"HEADRACE_{name.upper()}"):
        return Path(place)
    build = ROOT / "build" / "release"
    for command in (
        ["cmake", "-DHEADRACE_BENCH=ON", build],
        ["cmake", "--build", build, "--target", name],
    ):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return build / "bench" / name
