"""Tasks of a plan as Slurm job arrays: plain executables, a script of ten lines.

Slurm says who is queued, running or lost (squeue); how a task ended, the script writes into a
folder that all nodes share, because squeue forgets and sacct needs a database that not every
cluster has. Jobs of failed nodes are requeued by Slurm itself.
"""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import Error
from .dispatch import Ended

_LARGEST_ARRAY = 1000  # Slurm's own default is 1,001
_SIGNALS = 128
_INTERRUPTED = 130  # the program's own code
_LAST_WORDS = 2000  # characters of a task's standard error
_OVER = {
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "REVOKED",
    "TIMEOUT",
}

_SCRIPT = """#!/bin/sh
set -- {tasks}
shift "$SLURM_ARRAY_TASK_ID"
began=$(date +%s)
name={folder}/"${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID"
{command} "$1" {options} 2>"$name.err"
code=$?
echo "$code $(($(date +%s) - began))" >"$name.part" && mv "$name.part" "$name.end"
exit $code
"""


class Attempt(NamedTuple):
    job: str
    element: int  # of its array

    def __str__(self) -> str:
        return f"{self.job}_{self.element}"


class SlurmEngine:
    """`sbatch` are options for it, as "--partition=cpu". `folder` must be one that the nodes share.

    limit: tasks that are queued or run at once.
    poll: seconds between two calls of squeue.
    """

    spare = 0

    def __init__(
        self,
        plan: str,
        options: Sequence[str] = (),
        *,
        folder: str | Path,
        program: str,
        sbatch: Sequence[str] = (),
        limit: int = 1000,
        poll: float = 5.0,
    ) -> None:
        self.limit = limit
        self.batch = max(1, limit // 2)
        self.folder = Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._command = shlex.join([program, "run-task", plan])
        self._options = shlex.join(["--quiet", *options])
        self._sbatch, self._poll = list(sbatch), poll
        self._attempts: set[Attempt] = set()
        self._running_since: dict[Attempt, float] = {}
        self._missing: set[Attempt] = set()  # neither in the queue nor ended, at the last look
        self._looked = time.monotonic()

    def start(self, tasks: Sequence[int]) -> list[Attempt]:
        started: list[Attempt] = []
        for first in range(0, len(tasks), _LARGEST_ARRAY):
            started += self._submit(tasks[first : first + _LARGEST_ARRAY])
        self._attempts.update(started)
        return started

    def _submit(self, tasks: Sequence[int]) -> list[Attempt]:
        script = _SCRIPT.format(
            tasks=" ".join(map(str, tasks)),
            folder=shlex.quote(str(self.folder)),
            command=self._command,
            options=self._options,
        )
        command = ["sbatch", "--parsable", "--requeue", "--open-mode=append"]
        command += [f"--array=0-{len(tasks) - 1}", "--job-name=headrace", "--output=/dev/null"]
        done = _call([*command, *self._sbatch], script)
        if done.returncode != 0:
            raise Error(f"sbatch refuses: {done.stderr.strip()}")
        job = done.stdout.strip().split(";")[0]
        return [Attempt(job, element) for element in range(len(tasks))]

    def wait(self) -> list[Ended]:
        time.sleep(min(1.0, self._poll))
        ended = self._ended_by_files()
        if time.monotonic() - self._looked >= self._poll:
            self._looked = time.monotonic()
            ended += self._lost(self._states())
        for one in ended:
            self._forget(one.attempt)
        return ended

    def _ended_by_files(self) -> list[Ended]:
        ended = []
        there = {path.stem: path for path in self.folder.glob("*.end")}
        for attempt in self._attempts:
            if (path := there.get(str(attempt))) is None:
                continue
            code, seconds = map(int, path.read_text().split())
            if code > _SIGNALS and code != _INTERRUPTED:  # as the shell says it; Python: below 0
                code = _SIGNALS - code
            ended.append(Ended(attempt, code, seconds, self._last_words(attempt)))
        return ended

    def _last_words(self, attempt: Attempt) -> str:
        try:
            text = (self.folder / f"{attempt}.err").read_text(errors="replace")
        except FileNotFoundError:
            return ""
        return text[-_LAST_WORDS:].strip()

    def _states(self) -> dict[str, str]:
        """Of all that the queue knows, "JOB_INDEX" -> "RUNNING" and its like."""
        jobs = sorted({attempt.job for attempt in self._attempts})
        listed = _call(["squeue", "-h", "-r", "-t", "all", "-j", ",".join(jobs), "-o", "%F_%K %T"])
        if listed.returncode != 0 and "Invalid job id" not in listed.stderr:
            # The controller may be down for a while: nothing is known, so nothing is lost.
            return {str(attempt): "UNKNOWN" for attempt in self._attempts}
        return dict(line.split(" ", 1) for line in listed.stdout.splitlines())

    def _lost(self, states: dict[str, str]) -> list[Ended]:
        """What is over without having said how, twice: a shared folder may show files late."""
        missing = set()
        for attempt in self._attempts:
            state = states.get(str(attempt), "gone")
            if state == "RUNNING":
                self._running_since.setdefault(attempt, time.monotonic())
            elif state == "PENDING":  # requeued, perhaps
                self._running_since.pop(attempt, None)
            elif state == "gone" or state in _OVER:
                missing.add(attempt)
        lost = missing & self._missing
        self._missing = missing - lost
        return [
            Ended(attempt, None, 0.0, f"Slurm: {states.get(str(attempt), 'gone')}")
            for attempt in lost
        ]

    def _forget(self, attempt: Attempt) -> None:
        self._attempts.discard(attempt)
        self._running_since.pop(attempt, None)
        for ending in ("end", "err"):
            (self.folder / f"{attempt}.{ending}").unlink(missing_ok=True)

    def running_for(self, attempt: Attempt) -> float:
        since = self._running_since.get(attempt)
        return 0.0 if since is None else time.monotonic() - since

    def cancel(self, attempt: Attempt) -> None:
        _call(["scancel", str(attempt)])
        self._forget(attempt)


def _call(command: Sequence[str], text: str = "") -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise Error(
            f"{command[0]} is not there: this machine is no submit host of Slurm"
        ) from error
