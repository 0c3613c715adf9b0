"""States of loaders whose ranks are not at the same place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .errors import StateError

if TYPE_CHECKING:
    from .distributed import Place

__all__ = ["merge_states"]


def merge_states(states: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One state of the states of all ranks, in the order of the ranks, for loaders with
    `filter(refill=True)` or `pack_tokens` without `by=`: `load_state_dict` takes it on as many
    ranks.

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
    for name in ("epoch", "step", "wanted"):
        found = {str(state[name]) for state in states}
        if len(found) > 1:
            raise StateError(f"the ranks' states differ in {name}: {', '.join(sorted(found))}")
    if states[0]["wanted"][0] * len(states) != states[0]["wanted"][1]:
        raise StateError(f"there are {len(states)} states, and not one of each rank")
    return {"headrace_ranks": 1, "ranks": list(states)}


def own_state(state: dict[str, Any], place: Place, assembled: bool) -> dict[str, Any]:
    """What of a state this rank loads."""
    if "headrace_ranks" in state:
        ranks = state["ranks"]
        if len(ranks) != place.world:
            raise StateError(
                f"the state is of {len(ranks)} ranks, and there are {place.world}",
                hint="Filled and packed batches go on with as many ranks as they had.",
            )
        state = ranks[place.rank]
    if ("headrace_assembled" in state) != assembled:
        words = "is not" if assembled else "is"
        raise StateError(f"the state {words} of batches that are filled up or packed")
    return state
