"""Generated pipelines, run with the real webdataset and with ours, side by side.

A pipeline is drawn from a seed: shards (whole, compressed, damaged, with odd names), a source with
random arguments, splitters and handlers, then random stages with random arguments, sensible and
not. Both libraries run it in this process. The samples must be the same in the same order (the same
multiset where the original's order is not fixed), and an error must have the same type and come
after the same samples.

    PIPELINES=5000 pytest tests/python/webdataset/test_generated.py     # more of them
"""

from __future__ import annotations

import gc
import os
import random
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import headrace.webdataset as ours
import numpy as np
import pytest

real = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed: NOT TESTED")

from generated_plans import Draw, Plan  # noqa: E402
from generated_shards import DAMAGED, make_shards  # noqa: E402

PIPELINES = int(os.environ.get("PIPELINES", "400"))
MOST_ITEMS = 150  # of endless pipelines
CUT_OR_COLUMNS = {"slice", "rsample", "with_epoch", "repeat", "batched"}


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    return make_shards(tmp_path_factory.mktemp("shards"))


def plain(value: Any) -> Any:
    """What is compared: hashable, with types."""
    if isinstance(value, dict):
        return "dict", tuple(sorted((key, plain(each)) for key, each in value.items()))
    if isinstance(value, tuple | list):
        return type(value).__name__, tuple(map(plain, value))
    if isinstance(value, np.ndarray):
        return "array", value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, Image.Image):
        return "image", value.mode, value.size, value.tobytes()
    return type(value).__name__, value if isinstance(value, str | bytes | int | float) else None


@dataclass
class Outcome:
    """Of one epoch."""

    items: list[Any]
    error: str | None


def run(plan: Plan, library: Any) -> list[Outcome]:
    """An outcome for each epoch, or one for a pipeline that cannot be built."""
    random.seed(11)
    try:
        pipeline = plan.build(library)
    except Exception as error:
        return [Outcome([], f"{type(error).__name__} while building")]
    return [run_epoch(pipeline) for _ in range(plan.epochs)]


def run_epoch(pipeline: Any) -> Outcome:
    items: list[Any] = []
    try:
        for item in pipeline:
            items.append(plain(item))
            if len(items) >= MOST_ITEMS:
                break
    except Exception as error:
        return Outcome(items, type(error).__name__)
    return Outcome(items, None)


def difference(plan: Plan, epoch: int, theirs: Outcome, mine: Outcome) -> str | None:
    """What differs and should not; the first lines are what differs on purpose."""
    text = str(plan)
    is_batched = "batched(" in text or "listed(" in text
    # What is kept in memory is not changed by later stages.
    if "mcached(" in text and "map_dict(" in text:
        return None
    if stops_at_damage(plan) and (is_batched or theirs.error != mine.error):
        return None
    if epoch > 0 and plan.reordered_later and (theirs.error or mine.error):
        return None
    cuts = bool(CUT_OR_COLUMNS & {call.name for call in plan.stages})
    if theirs.error != mine.error:
        # Chance decides which samples come to the stage that fails before the end.
        if not plan.ordered and (cuts or "ignore_and_stop" in text):
            return None
        return f"{theirs.error} there, {mine.error} here"
    # All that a compressed stream holds before its cut is delivered.
    if "cutzip" in text:
        return None
    if stops_at_damage(plan) and epoch == 0 and plan.ordered:
        return None if theirs.items[: len(mine.items)] == mine.items else "other items"
    if plan.ordered and not (epoch > 0 and plan.reordered_later):
        return None if theirs.items == mine.items else first_difference(theirs.items, mine.items)
    whole = len(mine.items) < MOST_ITEMS and not mine.error
    if whole and not cuts:
        lacking = Counter(flat(theirs.items)) - Counter(flat(mine.items))
        if lacking or len(flat(theirs.items)) != len(flat(mine.items)):
            return f"other items: {str(lacking)[:500]}"
    return None


def stops_at_damage(plan: Plan) -> bool:
    """A handler that says stop, at a damaged shard: the original's WebDataset goes on."""
    source = str(plan.source[0])
    return "'@ignore_and_stop'" in source and any(name in source for name in DAMAGED)


def flat(items: list[Any]) -> list[Any]:
    """The items in lists of items."""
    return [each for kind, value in items for each in (value if kind == "list" else [value])]


def first_difference(theirs: list[Any], mine: list[Any]) -> str:
    for i, (their, my) in enumerate(zip(theirs, mine, strict=False)):
        if their != my:
            return f"item {i}:\n  there {str(their)[:700]}\n  here  {str(my)[:700]}"
    return f"{len(theirs)} items there, {len(mine)} here"


@pytest.mark.parametrize("seed", range(PIPELINES))
def test_a_pipeline_gives_what_the_real_one_gives(seed, shards, monkeypatch):
    plan = Draw(seed, shards).plan()
    for name in ("RANK", "WORLD_SIZE", "WORKER", "NUM_WORKERS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in plan.environment.items():
        monkeypatch.setenv(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, mine = run(plan, real), run(plan, ours)
    assert len(theirs) == len(mine), plan
    for epoch, (their, my) in enumerate(zip(theirs, mine, strict=True)):
        found = difference(plan, epoch, their, my)
        assert found is None, f"epoch {epoch}: {found}\n{plan}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(PIPELINES // 32))
def test_a_pipeline_gives_the_same_in_two_workers(seed, shards, monkeypatch):
    """DataLoader takes from its workers in turn, so the order is fixed here too."""
    torch = pytest.importorskip("torch", reason="torch is not installed: NOT TESTED")
    plan = Draw(seed, shards).plan()
    for name in ("RANK", "WORLD_SIZE", "WORKER", "NUM_WORKERS"):
        monkeypatch.delenv(name, raising=False)

    def in_workers(library: Any) -> Outcome:
        random.seed(11)
        torch.manual_seed(11)  # the workers' randomness
        pipeline = plan.build(library)
        loader = torch.utils.data.DataLoader(pipeline, batch_size=None, num_workers=2)
        outcome = run_epoch(loader)
        gc.collect()  # or the next workers inherit what is left of this iteration
        return outcome

    if run(plan, real)[0].error is not None:
        pytest.skip("torch waits ten seconds for the workers after an error")
    found = difference(plan, 0, in_workers(real), in_workers(ours))
    assert found is None, f"{found}\n{plan}"
