"""Contenders in turn: A B C, A B C, … so that a slow minute of the machine hits all of them."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HANGS = 900  # seconds after which a peer's reader will never come


@dataclass
class Contender:
    """`measure` gives one value, in the unit of its table."""

    name: str
    measure: Callable[[], float]
    kind: str = "peer"  # ours, limit or peer
    note: str = ""
    values: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.values)


@dataclass
class Goal:
    text: str
    value: float
    wanted: float
    at_most: bool = False

    @property
    def reached(self) -> bool:
        return self.value <= self.wanted if self.at_most else self.value >= self.wanted


@dataclass
class Table:
    """One job: who did it, how fast, and what was asked for."""

    name: str
    title: str
    unit: str
    contenders: list[Contender]
    less_is_better: bool = False
    ratios: bool = True
    goals: list[Goal] = field(default_factory=list)

    def __getitem__(self, name: str) -> Contender:
        return next(each for each in self.contenders if each.name == name)

    @property
    def ours(self) -> Contender:
        return next(each for each in self.contenders if each.kind == "ours")

    def times_faster(self, other: str | Contender) -> float:
        """How many times as fast as `other` we are: the median of the rounds' own ratios."""
        return self.ratio(self.ours, self[other] if isinstance(other, str) else other)

    def ratio(self, one: Contender, other: Contender) -> float:
        """How many times as fast as `other` one is, the same way."""
        pairs = zip(one.values, other.values, strict=True)
        ratios = [b / a if self.less_is_better else a / b for a, b in pairs]
        return statistics.median(ratios)

    def as_json(self) -> dict[str, Any]:
        rows = [
            {
                "name": each.name,
                "kind": each.kind,
                "note": each.note,
                "median": each.median,
                "values": each.values,
                "times_faster": self.times_faster(each) if self.ratios else None,
            }
            for each in self.contenders
        ]
        goals = [
            {
                "text": g.text,
                "value": g.value,
                "wanted": g.wanted,
                "at_most": g.at_most,
                "reached": g.reached,
            }
            for g in self.goals
        ]
        keys = ("name", "title", "unit")
        return {**{key: getattr(self, key) for key in keys}, "rows": rows, "goals": goals}


def take_turns(contenders: Sequence[Contender], rounds: int) -> None:
    """One uncounted round to warm up, then `rounds` that count."""
    for turn in range(rounds + 1):
        for contender in contenders:
            value = contender.measure()
            if turn > 0:
                contender.values.append(value)


def python(script: str, *arguments: object) -> Any:
    """What a script of this folder prints as JSON, run in a fresh process."""
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS)
    except subprocess.TimeoutExpired:
        raise SystemExit(f"{' '.join(command)}\nhas not ended after {HANGS} s") from None
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}\nfailed")
    return json.loads(done.stdout.splitlines()[-1])
