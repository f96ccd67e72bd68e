"""Hierarchies of dates: day, month, quarter, half-year, year, decade, or day and ISO week."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import ClassVar

import numpy as np

from kohort.data.column import Column
from kohort.data.hierarchies import Builder, labels_of, tree_over, values_of
from kohort.data.hierarchy import Hierarchy
from kohort.data.times import local_days
from kohort.errors import InputError, did_you_mean

_CALENDAR = ("day", "month", "quarter", "half", "year", "decade")  # each is made of whole ones before it
_LEVELS = (*_CALENDAR, "week")


@dataclass(frozen=True)
class Dates(Builder):
    """Periods that contain one another, the shortest first, such as month, quarter, year."""

    key: ClassVar[str] = "date"
    levels: tuple[str, ...] = ("month", "quarter", "year")

    def __post_init__(self) -> None:
        levels = (self.levels,) if isinstance(self.levels, str) else self.levels
        if not isinstance(levels, (list, tuple)) or not levels:
            raise InputError("The 'levels' of dates must be periods, such as month, quarter, year.")
        object.__setattr__(self, "levels", tuple(levels))
        for level in self.levels:
            if not isinstance(level, str) or level not in _LEVELS:
                raise InputError(f"Unknown period of dates {level!r}. {did_you_mean(str(level), _LEVELS)}")
        for short, long in pairwise(self.levels):
            _require_nested(short, long)

    def build(self, column: Column) -> Hierarchy:
        values_of(column)
        days = days_of(column)
        return tree_over(column, [labels_of(period_of(days, level), _LABELS[level]) for level in self.levels])


def dates(*levels: str) -> Dates:
    """Dates by these periods; month, quarter and year if none is named.

    >>> dates("month", "year").to_spec()
    {'date': ['month', 'year']}
    """
    return Dates(levels) if levels else Dates()


def period_of(days: np.ndarray, level: str) -> np.ndarray:
    """The number of the period in which each day (since 1970-01-01) lies."""
    if level == "day":
        return days
    if level == "week":
        return (days + 3) // 7  # weeks begin on Monday; 1970-01-01 was a Thursday
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 1970 * 12
    return months // _MONTHS[level]


_MONTHS = {"month": 1, "quarter": 3, "half": 6, "year": 12, "decade": 120}


def _week_label(week: int) -> str:
    thursday = np.datetime64(week * 7, "D")  # the ISO year of a week is that of its Thursday
    year = thursday.astype("datetime64[Y]")
    number = (thursday - year.astype("datetime64[D]")).astype(int) // 7 + 1
    return f"{year}-W{number:02d}"


_LABELS: dict[str, Callable[[int], str]] = {
    "day": lambda day: str(np.datetime64(day, "D")),
    "week": _week_label,
    "month": lambda month: f"{month // 12:04d}-{month % 12 + 1:02d}",
    "quarter": lambda quarter: f"{quarter // 4:04d}-Q{quarter % 4 + 1}",
    "half": lambda half: f"{half // 2:04d}-H{half % 2 + 1}",
    "year": lambda year: f"{year:04d}",
    "decade": lambda decade: f"{decade * 10:04d}s",
}


_PERIOD = re.compile(
    r"(?P<year>[0-9]{4})(-(?P<month>0[1-9]|1[0-2])|-Q(?P<quarter>[1-4])|-H(?P<half>[12])|-W(?P<week>[0-9]{2})"
    r"|(?P<decade>s)|-(?P<of>[0-9]{2})-(?P<day>[0-9]{2}))?"
)


def days_of_period(label: str) -> tuple[int, int] | None:
    """The first and the last day of a period as Python's ordinals; None if the label is no period.

    >>> [date.fromordinal(day).isoformat() for day in days_of_period("2024-Q1")]
    ['2024-01-01', '2024-03-31']
    """
    found = _PERIOD.fullmatch(label)
    if found is None:
        return None
    try:
        if found["week"]:
            first = date.fromisocalendar(int(found["year"]), int(found["week"]), 1).toordinal()
            return first, first + 6
        if found["day"]:
            return (date.fromisoformat(label).toordinal(),) * 2
        level = next((name for name in ("month", "quarter", "half", "decade") if found[name]), "year")
        place = int(found[level]) - 1 if level in ("month", "quarter", "half") else 0
        begin = int(found["year"]) * 12 + place * _MONTHS[level]
        return _first_of(begin), _first_of(begin + _MONTHS[level]) - 1
    except ValueError:  # there is no such day or week
        return None


def _first_of(month: int) -> int:
    return date(month // 12, month % 12 + 1, 1).toordinal()


def days_of(column: Column) -> np.ndarray:
    """The days since 1970-01-01 of the values, by their own clocks; raises an error if they are no dates."""
    if column.kind in ("date", "datetime"):
        return np.array(local_days(column.present), dtype=np.int64)
    raise InputError(
        f"Column {column.name!r} holds {column.kind} values, not dates such as 2024-03-05 or "
        "2024-03-05 14:30. Write the dates in this form, or use intervals for numbers and order for text."
    )


def _require_nested(short: str, long: str) -> None:
    if "week" in (short, long) and (short, long) != ("day", "week"):
        raise InputError(
            f"The periods {short} and {long} are not nested: a week may lie in two of them. "
            "Use day and week, or day, month, quarter, half, year, decade."
        )
    if long != "week" and _CALENDAR.index(short) >= _CALENDAR.index(long):
        raise InputError(
            f"The periods of dates must go from short to long: {long} does not contain {short}. "
            f"Order them as {', '.join(_CALENDAR)}."
        )
