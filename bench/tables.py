"""A table of results, as plain text for the terminal and as Markdown for the documentation."""

from __future__ import annotations

from typing import Any

KINDS = {"ours": "ours", "limit": "limit", "peer": ""}


def number(value: float) -> str:
    """Three digits that mean something: 1,234 and 12.3 and 0.123."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def ratio(row: dict[str, Any]) -> str:
    """We are so many times as fast."""
    if row["times_faster"] is None:  # rows that are parts, not rivals
        return ""
    return "1" if row["kind"] == "ours" else f"{row['times_faster']:.2f}"


def goal_text(goal: dict[str, Any], at_most: bool) -> str:
    sign = "<=" if at_most else ">="
    return f"{goal['text']}: {number(goal['value'])} (wanted {sign} {number(goal['wanted'])})"


def cells(table: dict[str, Any]) -> list[list[str]]:
    head = ["", table["unit"], "we are x times", "lowest - highest"]
    rows = []
    for row in table["rows"]:
        spread = f"{number(min(row['values']))} - {number(max(row['values']))}"
        rows.append([row["name"], number(row["median"]), ratio(row), spread])
    return [head, *rows]


def as_text(table: dict[str, Any]) -> str:
    rows = cells(table)
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = [f"\n{table['title']}"]
    for row in rows:
        numbers = "  ".join(
            cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)
        )
        lines.append(f"  {row[0].ljust(widths[0])}  {numbers}")
    for goal in table["goals"]:
        mark = "reached" if goal["reached"] else "MISSED"
        lines.append(f"  {mark}: {goal_text(goal, goal['at_most'])}")
    return "\n".join(lines)


def as_markdown(table: dict[str, Any]) -> str:
    lines = [f"### {table['title']}", ""]
    head, *rows = cells(table)
    lines.append("| " + " | ".join(head) + " |")
    lines.append("|---|---:|---:|---:|")
    for cell, row in zip(rows, table["rows"], strict=True):
        name = f"**{cell[0]}**" if row["kind"] == "ours" else cell[0]
        note = f" ({row['note']})" if row["note"] else ""
        lines.append("| " + " | ".join([name + note, *cell[1:]]) + " |")
    for goal in table["goals"]:
        mark = "reached" if goal["reached"] else "**missed**"
        lines.append(f"\nGoal {mark}: {goal_text(goal, goal['at_most'])}.")
    return "\n".join(lines)
