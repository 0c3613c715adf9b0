"""curl downloading many addresses at once to nowhere: what reading over HTTP is measured by."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Download:
    seconds: float
    cpu_seconds: float


def find_curl(job: str) -> str:
    curl = shutil.which("curl")
    if not curl:
        raise SystemExit(f"the job {job} needs curl and nginx: apt-get install curl nginx-light")
    os.environ.pop("HEADRACE_CACHE", None)  # as every job that needs curl measures the network
    return curl


def whole_files(addresses: Iterable[str]) -> str:
    """A configuration of curl."""
    return "".join(f'url = "{address}"\noutput = "/dev/null"\n' for address in addresses)


def in_ranges(sizes: dict[str, int], piece: int) -> str:
    """The same for files of known sizes, in pieces of so many bytes."""
    parts = []
    for address, size in sizes.items():
        for first in range(0, size, piece):
            last = min(first + piece, size) - 1
            parts.append(f"fail\nrange = {first}-{last}\n" + whole_files([address]))
    return "next\n".join(parts)


def download(curl: str, config: Path, *more: str, connections: int = 8) -> Download:
    words = [
        curl,
        "--silent",
        "--no-progress-meter",
        "--fail",
        "--parallel",
        "--parallel-max",
        str(connections),
    ]
    begin = time.perf_counter()
    process = subprocess.Popen([*words, *more, "--config", str(config)])
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    if status != 0:
        raise SystemExit(f"curl failed with {os.waitstatus_to_exitcode(status)}")
    return Download(seconds, usage.ru_utime + usage.ru_stime)
