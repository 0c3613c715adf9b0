"""Every sample exactly once over ranks in processes of their own, stopped and resumed on others."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest

RANK = textwrap.dedent("""
    import json, sys
    import headrace as hr

    folder, state_file, stop, total, tail = sys.argv[1:6]
    loader = (
        hr.open(folder).shuffle(seed=11, lanes=4).decode(n=hr.integer("cls"))
        .batch(total=int(total), tail=tail).loader(threads=2)
    )
    if state_file != "-":
        loader.load_state_dict(json.load(open(state_file)))
    rows = []
    for batch in loader:
        rows.append([batch.step, batch["n"].tolist(), batch.mask.tolist()])
        if batch.step + 1 == int(stop):
            break
    print(json.dumps({"rows": rows, "state": loader.state_dict(), "steps": len(loader)}))
    """)


def run_world(folder, world, *, state="-", stop=0, total=12, tail="pad"):
    """The answers of all ranks, run at the same time; rank and world come from the environment."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RANK, str(folder), str(state), str(stop), str(total), tail],
            stdout=subprocess.PIPE,
            text=True,
            env={**_environment(), "RANK": str(rank), "WORLD_SIZE": str(world)},
        )
        for rank in range(world)
    ]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * world
    return [json.loads(output) for output in outputs]


def _environment():
    import os

    return dict(os.environ)


def global_steps(ranks):
    """step -> [(number, real)] of all ranks, in rank order."""
    steps: dict[int, list[tuple[int, bool]]] = {}
    for rank in ranks:
        for step, numbers, mask in rank["rows"]:
            steps.setdefault(step, []).extend(zip(numbers, mask, strict=True))
    return steps


@pytest.mark.parametrize("tail", ["pad", "short"])
def test_ranks_stopped_and_resumed_on_others_see_every_sample_once(shards, tmp_path, tail):
    folder = shards(205, 5)
    whole = global_steps(run_world(folder, 1, tail=tail))
    for world, then in ((1, 3), (3, 2), (2, 5), (5, 1)):
        begun = run_world(folder, world, stop=7, tail=tail)
        states = [rank["state"] for rank in begun]
        assert all(state == states[0] for state in states)
        assert len({rank["steps"] for rank in begun}) == 1
        file = tmp_path / f"{world}.json"
        file.write_text(json.dumps(states[0]))
        resumed = run_world(folder, then, state=file, tail=tail)
        both = {**global_steps(begun), **global_steps(resumed)}
        assert sorted(global_steps(resumed)) == list(range(7, 18))
        assert both == whole
        real = [number for step in both.values() for number, is_real in step if is_real]
        assert sorted(real) == list(range(205))
