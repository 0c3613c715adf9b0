"""An epoch begun on one world size and ended on another, over any data set, audited."""

from __future__ import annotations

from pathlib import Path

import headrace as hr


def read_on_two_worlds(location: str, audits: Path, first: int = 2, then: int = 3) -> None:
    """Two ranks read a third of epoch 0, three read the rest and epoch 1; the audit must pass."""
    pipeline = hr.open(location).shuffle(seed=5, lanes=12).batch(total=24)
    state = None
    for rank in range(first):
        loader = pipeline.loader(rank=rank, world=first, audit=audits / "first")
        stop = max(1, len(loader) // 3)
        for batch in loader:
            if batch.step + 1 == stop:
                break
        state = loader.state_dict()
        loader.close()
    for rank in range(then):
        loader = pipeline.loader(rank=rank, world=then, audit=audits / "then")
        assert state is not None
        loader.load_state_dict(state)
        for _ in range(2):
            for _ in loader:
                pass
        loader.close()
    report = hr.audit_report([audits / "first", audits / "then"], hr.open(location))
    assert report.passed, report
    assert [epoch["missing"] for epoch in report.epochs] == [0, 0], report
