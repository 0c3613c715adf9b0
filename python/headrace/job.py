"""A job under way: what `headrace.jobs.shuffle` and its sisters give."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from .drivers.program import ask, error_of, program
from .errors import NotFoundError

_BETWEEN_LOOKS = 0.5


class JobProgress(NamedTuple):
    """How far a job is."""

    finished: int
    tasks: int


class Job:
    """A plan that a process of its own is running. It goes on when this Python ends.

    Attributes:
        plan: the plan's place.
        out: where the data set will be.
        tasks: their number: one a shard of the output.
    """

    def __init__(
        self,
        planned: dict[str, Any],
        engine: str,
        options: Sequence[str],
        environment: dict[str, str] | None = None,
    ) -> None:
        self.plan: str = planned["place"]
        self.out: str = planned["out"]
        self.tasks: int = planned["tasks"]
        command = [program(), "run"]
        if engine != "threads":
            command = [sys.executable, "-m", "headrace.drivers", engine]
        self._process = subprocess.Popen(
            [*command, self.plan, "--json", "--quiet", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"HEADRACE_PYTHON": sys.executable, **os.environ, **(environment or {})},
        )
        self._answer: tuple[bytes, bytes] | None = None

    def __repr__(self) -> str:
        finished, tasks = self.progress()
        state = "running" if self.running() else "done" if finished == tasks else "stopped"
        return f"<Job to {self.out}: {state}, {finished} of {tasks} tasks>"

    def running(self) -> bool:
        """Whether the process is there. One that failed is not; `wait` says why."""
        return self._process.poll() is None

    def progress(self) -> JobProgress:
        """From the records at the destination."""
        try:
            status = ask("status", self.plan)
        except NotFoundError:  # a plan at its destination goes with the job's end
            return JobProgress(self.tasks if self._process.poll() == 0 else 0, self.tasks)
        return JobProgress(status["finished"], status["tasks"])

    def wait(self, *, progress: bool = False) -> dict[str, Any]:
        """Until it is done; what came of it. `progress`: a line on standard error meanwhile.

        Returns:
            As `headrace run --json`: plan, out, tasks, tasks_before, samples, bytes,
            skipped (what was left out, with reasons), skipped_samples, corrupt_samples,
            fingerprint, notes; pictures, where `convert` changed them; with Ray and Slurm also
            retries and doubles (second copies).

        Raises:
            Error: of the kind that stopped the job, as ChangedError for an input that is another
                one now. What is finished stays: the same call goes on.
        """
        while progress and self.running():
            finished, tasks = self.progress()
            print(f"\r{finished} of {tasks} tasks ", end="", file=sys.stderr, flush=True)
            time.sleep(_BETWEEN_LOOKS)
        if self._answer is None:
            self._answer = self._process.communicate()
        if progress:
            print(f"\r{self!r}", file=sys.stderr)
        if self._process.returncode != 0:
            raise error_of(self._process.returncode, *self._answer)
        import json

        report: dict[str, Any] = json.loads(self._answer[0])
        return report

    def cancel(self) -> None:
        """Stops it, and waits for that. The same call goes on where it was."""
        if self.running():
            self._process.send_signal(signal.SIGTERM)
        self._answer = self._answer or self._process.communicate()
