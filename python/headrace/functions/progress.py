"""How far the rows of a stream have gone out.

A step of the stream has as many rows on any number of ranks, and steps are counted over all passes
of the data. What has gone out is then one number for each row of a step, the first step from which
on it is still to come:

    steps     0 1 2 3 4 …
    row 0     x x x x .        4  ┐ a rank: its rows of one step go out in order, so it has
    row 1     x x x . .        3  ┘ one edge
    row 2     x x . . .        2  ┐ another one, which dropped fewer
    row 3     x x . . .        2  ┘

Ranks have rows of a step that follow each other, so the numbers of all, one after the other, are
those of a run on any other number of ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import StateError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Progress:
    """Of some rows of a step, which follow each other. Immutable."""

    def __init__(self, first_row: int, steps: NDArray[np.int64]) -> None:
        """`first_row`: of the first one, in the step of all ranks; `steps`: one a row."""
        self._first_row = first_row
        self._steps = steps

    @classmethod
    def none(cls, first_row: int, rows: int) -> Progress:
        """Nothing has gone out."""
        return cls(first_row, np.zeros(rows, np.int64))

    @property
    def first_step(self) -> int:
        """From which on rows are to come."""
        return int(self._steps.min())

    def to_come(self, rows: NDArray[np.int64], step: int) -> NDArray[np.bool_]:
        """Which of these rows of a step have not gone out; bool, one a row."""
        to_come: NDArray[np.bool_] = self._steps[rows - self._first_row] <= step
        return to_come

    def until(self, step: int, row: int) -> Progress:
        """With all rows before row `row` of step `step`."""
        rows = self._first_row + np.arange(len(self._steps))
        return Progress(self._first_row, np.maximum(self._steps, step + (rows < row)))

    def of(self, first_row: int, rows: int) -> Progress:
        """That of some of its rows.

        Raises:
            StateError: it does not know all of them.
        """
        begin = first_row - self._first_row
        if begin < 0 or begin + rows > len(self._steps):
            own = f"{self._first_row} to {self._first_row + len(self._steps) - 1}"
            raise StateError(
                f"the state is of rows {own} of a step, and this rank has "
                f"{first_row} to {first_row + rows - 1}",
                hint="Make one state of those of all ranks with hr.merge_states().",
            )
        return Progress(first_row, self._steps[begin : begin + rows])

    def to_json(self) -> dict[str, Any]:
        """Plain data; rows that are equally far in a row of runs, [rows, step]."""
        edges = np.flatnonzero(np.diff(self._steps)) + 1
        begins = [0, *edges.tolist()]
        ends = [*edges.tolist(), len(self._steps)]
        runs = [[end - at, int(self._steps[at])] for at, end in zip(begins, ends, strict=True)]
        return {"first_row": self._first_row, "runs": runs}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Progress:
        """What `to_json` made."""
        rows, steps = zip(*data["runs"], strict=True)
        return cls(data["first_row"], np.repeat(np.array(steps, np.int64), rows))

    @classmethod
    def joined(cls, parts: list[Progress]) -> Progress:
        """That of all ranks.

        Raises:
            StateError: they do not follow each other.
        """
        row = 0
        for part in parts:
            if part._first_row != row:
                raise StateError("the states are not those of all ranks, in their order")
            row += len(part._steps)
        return cls(0, np.concatenate([part._steps for part in parts]))

    def __len__(self) -> int:
        return len(self._steps)
