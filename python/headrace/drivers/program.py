"""The program `headrace` as a command, on whatever machine this runs."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import Error, NotFoundError, Origin, from_native

#: What the program's exit codes stand for; all others are a "failure".
CODES = {
    2: "usage",
    3: "not_found",
    4: "corrupt",
    5: "partial",
    6: "changed",
    7: "denied",
    8: "no_space",
    130: "interrupted",
}
_LAST_WORDS = 2000  # characters of a task's standard error


def program() -> str:
    """HEADRACE_PROGRAM; or beside this Python, as a wheel installs it; or on the PATH."""
    if named := os.environ.get("HEADRACE_PROGRAM"):
        return named
    beside = Path(sys.executable).parent / "headrace"
    found = str(beside) if beside.is_file() else shutil.which("headrace")
    if found is None:
        raise NotFoundError("the program 'headrace' is neither beside Python nor on the PATH")
    return found


def run_task(plan: str, task: int, options: Sequence[str]) -> tuple[int, str]:
    """One task, here: its exit code, and what it said last. Ends with the process that asked."""
    done = subprocess.run(
        [program(), "run-task", plan, str(task), "--quiet", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        preexec_fn=_end_with_parent(),
        check=False,
    )
    return done.returncode, done.stderr[-_LAST_WORDS:].strip()


def _end_with_parent() -> Callable[[], None] | None:
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)  # loaded here: little is safe between fork and exec
    return lambda: library.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def ask(*arguments: str) -> dict[str, Any]:
    """The JSON that the program answers. Its errors are raised as Headrace's own."""
    done = subprocess.run([program(), *arguments, "--json"], capture_output=True, check=False)
    if done.returncode == 0:
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer
    raise error_of(done.returncode, done.stdout, done.stderr)


def error_of(code: int, stdout: bytes, stderr: bytes) -> Error:
    """The error that the program printed, as JSON or else as text."""
    for line in reversed((stdout + b"\n" + stderr).decode(errors="replace").splitlines()):
        if not line.startswith('{"error"'):
            continue
        error = json.loads(line)["error"]
        origin = Origin(error.get("shard", ""), error.get("member", ""), error.get("offset"))
        return from_native(error["code"], error["message"], origin, error.get("hint", ""))
    if code < 0:
        return Error(f"headrace was ended by {signal.Signals(-code).name}")
    return Error(stderr.decode(errors="replace").strip() or f"headrace ended with {code}")
