"""What jobs read and write, for the tests of drivers."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
from headrace.drivers.program import ask, program


def numbered_set(folder: Path, samples: int = 600) -> Path:
    """A data set of small samples in 6 shards."""
    files = folder / "files"
    files.mkdir()
    for i in range(samples):
        (files / f"{i:04d}.txt").write_text(f"{i} " * (i % 50))
        (files / f"{i:04d}.cls").write_text(str(i % 7))
    hr.pack(files, folder / "set", samples=samples // 6)
    return folder / "set"


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a data set."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def shuffle_twice(source: Path, folder: Path, tasks: int) -> tuple[str, dict[str, bytes], Path]:
    """A plan that no driver has begun, what threads make of it, and where it goes."""

    def plan(name: str) -> str:
        place = folder / f"plan-{name}"
        flags = ["--seed=5", f"--shards={tasks}", f"--out={folder / name}", f"--plan={place}"]
        return ask("plan", "shuffle", str(source), *flags)["place"]

    ask("run", plan("threads"))
    return plan("driven"), contents(folder / "threads"), folder / "driven"


class SlowProgram:
    """The program, whose tasks take so many seconds longer or are held, also on other machines."""

    def __init__(self, folder: Path) -> None:
        self._delay = folder / "delay"
        self._hold = folder / "hold"
        self.path = folder / "headrace"
        self.seconds(0)
        held = f"while [ -e {self._hold} ]; do sleep 0.1; done"
        wait = f'sleep "$(cat {self._delay})"; {held}'
        self.path.write_text(
            f'#!/bin/sh\nif [ "$1" = run-task ]; then {wait}; fi\nexec {program()} "$@"\n'
        )
        self.path.chmod(0o755)

    def seconds(self, delay: float) -> None:
        self._delay.write_text(str(delay))

    def hold(self) -> None:
        """Tasks that have not begun to work, and those that are started now, wait for release()."""
        self._hold.touch()

    def release(self) -> None:
        self._hold.unlink(missing_ok=True)
