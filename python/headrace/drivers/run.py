"""A plan run by an engine: what is left of it, and the commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .dispatch import Dispatcher, Engine, Progress
from .program import ask


def run_with(
    make_engine: Callable[[str], Engine],
    plan: str,
    options: Sequence[str] = (),
    told: Callable[[Progress], None] = lambda _: None,
) -> dict[str, Any]:
    """What `headrace run PLAN --json` says, with `retries` and `doubles`.

    make_engine: from the plan's digest. It is not asked when nothing is left to do.
    options: of the program, for the commit.
    Raises what a task failed with, as TaskError, and what the commit fails with.
    """
    status = ask("status", plan)
    made = Progress(0, 0, 0, 0, 0)
    if status["left"]:
        left = (task for first, last in status["left"] for task in range(first, last + 1))
        made = Dispatcher(make_engine(status["plan"]), left, told).run()
    return {**ask("run", plan, *options), "retries": made.retries, "doubles": made.doubles}
