"""States of loaders whose ranks are not at the same place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import StateError

__all__ = ["merge_states"]


def merge_states(states: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One state of the states of all ranks, in the order of the ranks, for loaders with
    `filter(refill=True)` or `pack_tokens` without `by=`: `load_state_dict` takes it on any number
    of ranks.

    Raises:
        StateError: they are not of one step of one run.

    Example:
        >>> states = [None] * world
        >>> torch.distributed.all_gather_object(states, loader.state_dict())
        >>> checkpoint["loader"] = hr.merge_states(states)
    """
    if not states or not all("headrace_assembled" in state for state in states):
        raise StateError(
            "these are no states of ranks", hint="Other loaders have the same state on all ranks."
        )
    from .functions.progress import Progress

    for name in ("headrace_assembled", "epoch", "step", "total", "steps", "engine"):
        found = {str(state[name]) for state in states}
        if len(found) > 1:
            raise StateError(f"the ranks' states differ in {name}: {', '.join(sorted(found))}")
    progress = Progress.joined([Progress.from_json(state["progress"]) for state in states])
    if len(progress) != states[0]["total"]:
        raise StateError(f"there are {len(states)} states, and not one of each rank")
    merged = {**states[0], "progress": progress.to_json()}
    if "cut" in merged:
        merged["cut"] = [each for state in states for each in state["cut"]]
    return merged


def check_kind(state: dict[str, Any], assembled: bool) -> None:
    """Raises StateError for a state of the other kind of batches."""
    if ("headrace_assembled" in state) != assembled:
        words = "is not" if assembled else "is"
        raise StateError(f"the state {words} of batches that are filled up or packed")
