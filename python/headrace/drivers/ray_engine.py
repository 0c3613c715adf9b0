"""Tasks of a plan on a Ray cluster.

Ray gets the plan's place and a number, and gives an exit code back; nothing else goes through it.
Headrace must be installed on the nodes, and their environment must have the settings of the stores,
as credentials: they are not sent. Retries are the dispatcher's, so Ray makes none.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import ray  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .dispatch import Ended
from .program import run_task

_WAIT = 1.0
_LOOK_AT_CLUSTER = 5.0
_NOT_YET = -1.0  # it waits for a processor


class RayEngine:
    """`cpus` and `memory` (bytes) are what Ray reserves for a task.

    Connects to the cluster of `address` ("auto", RAY_ADDRESS, …), unless this process is connected.
    """

    batch = 1
    spare = 1

    def __init__(
        self,
        plan: str,
        options: Sequence[str] = (),
        *,
        cpus: float = 1,
        memory: int = 0,
        address: str | None = None,
    ) -> None:
        if not ray.is_initialized():
            ray.init(address=address, log_to_driver=False, configure_logging=False)
        needs: dict[str, Any] = {"num_cpus": cpus, "max_retries": 0}
        if memory:
            needs["memory"] = memory
        self._task = ray.remote(**needs)(run_task)
        self._plan, self._options, self._cpus = plan, list(options), cpus
        self._began: dict[Any, float] = {}
        self._looked = float("-inf")
        self._limit = 1

    @property
    def limit(self) -> int:
        """As many as run at once, and one: a processor that comes free need not wait for us."""
        if time.monotonic() - self._looked > _LOOK_AT_CLUSTER:
            self._looked = time.monotonic()
            resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call, unused-ignore]
            self._limit = max(1, int(resources.get("CPU", 1) // self._cpus)) + self.spare
        return self._limit

    def start(self, tasks: Sequence[int]) -> list[Any]:
        attempts = [self._task.remote(self._plan, task, self._options) for task in tasks]
        for attempt in attempts:
            waits = len(self._began) >= self._limit - self.spare
            self._began[attempt] = _NOT_YET if waits else time.monotonic()
        return attempts

    def wait(self) -> list[Ended]:
        pending = list(self._began)
        # Tasks come in crowds when a cluster is large: after the first, all that are there.
        ended, rest = ray.wait(pending, num_returns=1, timeout=_WAIT)
        if ended and rest:
            ended += ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        return [self._ended(attempt) for attempt in ended]

    def _ended(self, attempt: Any) -> Ended:
        try:
            code, message = ray.get(attempt)
        except ray.exceptions.RayError as error:
            # The node or the worker is gone, or Ray ended it for want of memory.
            code, message = None, f"{type(error).__name__}: {error}".splitlines()[0]
        seconds = self.running_for(attempt)
        self._forget(attempt)
        return Ended(attempt, code, seconds, message)

    def running_for(self, attempt: Any) -> float:
        began = self._began[attempt]
        return 0.0 if began == _NOT_YET else time.monotonic() - began

    def cancel(self, attempt: Any) -> None:
        self._forget(attempt)
        ray.cancel(attempt, force=True)

    def _forget(self, attempt: Any) -> None:
        """The one that waited longest takes its place."""
        if self._began.pop(attempt, _NOT_YET) == _NOT_YET:
            return
        waiting = next((other for other, began in self._began.items() if began == _NOT_YET), None)
        if waiting is not None:
            self._began[waiting] = time.monotonic()
