"""Checks of dates that were moved by the same number of days for all records of a person."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from kohort.data.column import Column
from kohort.errors import counted
from kohort.tables.table import Table
from kohort.verification.scale import Scale
from kohort.verification.verdict import Check

_DAY = 86_400_000_000_000  # nanoseconds


def check_shifted(
    published: Table, original: Table, name: str, rows: np.ndarray, persons: np.ndarray, most: int
) -> Check:
    """Check that all dates of a person moved by the same number of days: at most `most`, and not by 0.

    rows     per published record its original
    persons  per published record the number of its person
    """
    after, before = _clocks(published.column(name)), _clocks(original.column(name))
    zone = getattr(published.arrow(name).type, "tz", None)
    wrong = 0
    days_of: dict[int, int] = {}
    for record, (row, person) in enumerate(zip(rows.tolist(), persons.tolist())):
        new, old = after[record], before[row]
        if new is None or old is None:
            wrong += new is not old
            continue
        days, rest = divmod(new - old, _DAY)
        fine = rest == 0 or _is_skipped(new - rest, zone)
        wrong += not (fine and 1 <= abs(days) <= most and days_of.setdefault(person, days) == days)
    detail = (
        f"{counted(wrong, 'date')} of {name!r} did not move with the others of the same person, or by more "
        f"than {most} days, or not at all."
        if wrong
        else f"The dates of {name!r} moved by the same number of days for all records of a person, at most "
        f"{most}."
    )
    return Check(f"shift of {name!r}", not wrong, detail)


def _clocks(column: Column) -> list[int | None]:
    """What clock and calendar show in each record, in nanoseconds; None where it is missing or no date."""
    known = Scale(column).clocks
    return [known[code] for code in column.codes.tolist()]


def _is_skipped(clock: int, zone: str | None) -> bool:
    """Whether the clocks of a time zone never show this, as they are put forward there."""
    if zone is None:
        return False
    shown = datetime(1970, 1, 1) + timedelta(microseconds=clock // 1000)
    try:
        real = shown.replace(tzinfo=ZoneInfo(zone)).astimezone(timezone.utc).astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError):  # a fixed offset, whose clocks show everything
        return False
    return real.replace(tzinfo=None) != shown
