"""Comparisons and frontiers as a person sees them: a row per release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kohort.comparison.rows import Row
from kohort.display import Display, Figures
from kohort.errors import counted, percent

_ASKED = ("algorithm", "cost", "k", "l", "alpha", "t")
_FOUND = ("loss", "gap", "solver_gap", "highest_risk", "best_guess", "query_error", "seconds")
_NAMES = ("algorithm", "cost")
_SHARES = ("gap", "solver_gap", "highest_risk", "best_guess", "query_error")


def comparison_display(rows: Sequence[Row]) -> Display:
    """The figures of every release that could be made, and the reasons for the others."""
    done = sum(row["status"] == "done" for row in rows)
    failed = len(rows) - done
    beside = f"; {failed:,} could not be made" if failed else ""
    return Display(f"Comparison of {counted(done, 'release')}{beside}", _parts(rows, _ASKED))


def frontier_display(points: Sequence[Row], failed: Sequence[Row], parameter: str, sentence: str) -> Display:
    """The figures of every step, and what they suggest."""
    title = f"Risk and loss for {counted(len(points), 'value')} of {parameter}"
    return Display(title, [*_parts([*points, *failed], (parameter,)), sentence])


def _parts(rows: Sequence[Row], asked: Sequence[str]) -> list[str | Figures]:
    if len({row["cost"] for row in rows}) == 1:
        asked = [name for name in asked if name != "cost"]  # it says nothing
    done = [row for row in rows if row["status"] == "done"]
    reasons = [_reason(row, asked) for row in rows if row["status"] != "done"]
    return [_table(done, (*asked, *_FOUND)), *reasons] if done else [*reasons]


def _reason(row: Row, asked: Sequence[str]) -> str:
    what = [str(row[name]) if name in _NAMES else f"{name} = {row[name]}" for name in asked if row[name]]
    return f"Not made ({', '.join(what)}): {row['reason']}"


def _table(rows: Sequence[Row], names: Sequence[str]) -> Figures:
    """A table of these columns, without those that are empty."""
    used = [name for name in names if any(row.get(name) is not None for row in rows)]
    texts = [[_text(name, row.get(name)) for name in used] for row in rows]
    return Figures([name.replace("_", " ") for name in used], texts, left=_NAMES)


def _text(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name in _SHARES:
        return percent(value)
    return f"{value:.3g}" if isinstance(value, float) else str(value)
