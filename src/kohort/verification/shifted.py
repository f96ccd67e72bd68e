"""Checks of dates that were moved by the same number of days for all records of a person."""

from __future__ import annotations

import numpy as np

from kohort.data.column import Column
from kohort.data.dataset import Dataset
from kohort.errors import counted
from kohort.verification.scale import Position, Scale
from kohort.verification.verdict import Check

__all__ = ["check_shifted"]

_DAY = 86_400_000_000_000  # nanoseconds


def check_shifted(
    published: Dataset, original: Dataset, name: str, rows: np.ndarray, persons: np.ndarray, most: int
) -> Check:
    """Check that all dates of a person moved by the same number of days: at most `most`, and not by 0.

    rows     per published record its original
    persons  per published record the number of its person
    """
    after, before = _moments(published.column(name)), _moments(original.column(name))
    wrong = 0
    days_of: dict[int, int] = {}
    for record, (row, person) in enumerate(zip(rows.tolist(), persons.tolist())):
        new, old = after[record], before[row]
        if new is None or old is None:
            wrong += new is not old
            continue
        days, rest = divmod(new - old, _DAY)
        fine = rest == 0 and 1 <= abs(days) <= most and days_of.setdefault(person, days) == days
        wrong += not fine
    detail = (
        f"{counted(wrong, 'date')} of {name!r} did not move with the others of the same person, or by more "
        f"than {most} days, or not at all."
        if wrong
        else f"The dates of {name!r} moved by the same number of days for all records of a person, at most "
        f"{most}."
    )
    return Check(f"shift of {name!r}", not wrong, detail)


def _moments(column: Column) -> list[Position | None]:
    """The moment of each record in nanoseconds; None where it is missing or no date."""
    times = column.kind in ("date", "datetime")
    known = Scale(column).positions if times else [None] * len(column.texts)
    return [known[code] for code in column.codes.tolist()]
