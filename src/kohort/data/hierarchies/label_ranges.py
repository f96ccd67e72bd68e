"""The values that a published label stands for, as a range on the scale of its column."""

from __future__ import annotations

import csv
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, NamedTuple

import numpy as np

from kohort.data.column import Column, Kind
from kohort.data.domain import STAR
from kohort.data.hierarchies.dates import days_of_period
from kohort.data.times import DATE_TEXT, is_zoned, moment_of_text


class IntervalEnds(NamedTuple):
    """The ends of an interval as texts, and whether the high end belongs to it; the low end always does."""

    low: str
    high: str
    closed: bool


def interval_ends(label: str) -> IntervalEnds | None:
    """The ends of an interval; None if the label is none.

    >>> interval_ends("[20, 30)"), interval_ends("20")
    (IntervalEnds(low='20', high='30', closed=False), None)
    """
    low, comma, high = label[1:-1].partition(", ")
    if not comma or not label.startswith("[") or not label.endswith((")", "]")):
        return None
    return IntervalEnds(low, high, label.endswith("]"))


def values_in_interval(label: str, column: Column) -> tuple[str, ...]:
    """The values of a column of numbers, dates or times in an interval; none if the label is no interval.

    >>> import pyarrow as pa
    >>> from kohort.data.column import code_column
    >>> values_in_interval("[20, 30)", code_column("age", pa.array([19, 20, 29, 30])))
    ('20', '29')
    """
    interval = interval_ends(label)
    if interval is None:
        return ()
    low, high, closed = interval
    texts = column.present
    places = [place_of(text, column.kind) for text in texts]
    ends = place_of(low, column.kind), place_of(high, column.kind)
    if None in places or None in ends or len({is_zoned(text) for text in (*texts[:1], low, high)}) > 1:
        return ()
    first = bisect_left(places, ends[0])  # type: ignore[type-var]
    last = (bisect_right if closed else bisect_left)(places, ends[1])  # type: ignore
    return tuple(texts[first:last])


def place_of(text: str, kind: Kind) -> int | float | None:
    """The position of a text among numbers, days or moments; None if it is none of these."""
    try:
        if kind == "date":
            return date.fromisoformat(text).toordinal()
        if kind == "datetime":
            return moment_of_text(f"{text} 00:00" if DATE_TEXT.fullmatch(text) else text)
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        return None


# The range of numbers, dates or times that each label of a published column stands for.
#
# A label is a value, an interval `[20, 30)` or `[20, 30]`, an open end `>= 90` or `< 18`, a period such as
# `2024-Q1`, a set `{1, 2}` of these, or `*`.
Scale = Literal["integer", "float", "date", "datetime"]
Range = tuple[float, float]

DAY = 86_400_000_000  # microseconds: dates and times are counted in these from 1970-01-01
_EPOCH = date(1970, 1, 1).toordinal()
_PERIOD = re.compile(r"[0-9]{4}(-[0-9]{2}|-Q[1-4]|-H[12]|-W[0-9]{2}|s)")
_DATE_START = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_OPEN = re.compile(r"(>=|<) (.+)")


@dataclass(frozen=True, eq=False)
class LabelRanges:
    """What each of some labels covers: one or more ranges, both ends of which are values.

    low, high   the least and the greatest value; infinite at an open end, NaN for `*` and missing labels
    star        whether the label is `*`
    parts       of each label, its ranges: one for an interval, one per member of a set, none for `*`
    unreadable  how many labels are none of the things that a label can be
    """

    low: np.ndarray
    high: np.ndarray
    star: np.ndarray
    parts: Sequence[Sequence[Range]]
    unreadable: int
    scale: Scale

    @property
    def whole(self) -> int | None:
        """The distance between two neighbouring values; None where there are values between any two."""
        return {"integer": 1, "date": DAY}.get(self.scale)


def scale_of(labels: Iterable[str | None]) -> Scale:
    """The scale that labels are on, from how they are written: `20.0` is no whole number.

    >>> scale_of(["23", "[20, 30)", "*"]), scale_of(["[0, 1)", "0.5"]), scale_of(["2024-03-05", "2024"])
    ('integer', 'float', 'date')
    """
    found: Scale = "integer"
    for text in (part for label in labels if label and label != STAR for part in _written(label)):
        if _DATE_START.match(text) and not DATE_TEXT.fullmatch(text):
            return "datetime"
        if _DATE_START.match(text) or _PERIOD.fullmatch(text):
            found = "date"
        elif found == "integer" and not text.lstrip("-").isdecimal():
            found = "float"
    return found


def label_ranges(
    labels: Sequence[str | None], scale: Scale, known: Mapping[str, Range] | None = None
) -> LabelRanges:
    """The ranges of these labels; `known` has those that cannot be read, from a hierarchy."""
    star = np.array([label == STAR for label in labels], dtype=bool)
    parts = [() if label in (None, STAR) else _ranges(str(label), scale, known or {}) for label in labels]
    low = np.array([min((a for a, _ in ranges), default=np.nan) for ranges in parts])
    high = np.array([max((b for _, b in ranges), default=np.nan) for ranges in parts])
    unreadable = sum(not ranges and label not in (None, STAR) for label, ranges in zip(labels, parts))
    return LabelRanges(low, high, star, parts, unreadable, scale)


def _written(label: str) -> list[str]:
    """The numbers, dates or times that a label is written with."""
    found: list[str] = []
    for member in _members(label):
        ends, opened = interval_ends(member), _OPEN.fullmatch(member)
        found += [ends.low, ends.high] if ends else [opened[2]] if opened else [member]
    return found


def _ranges(label: str, scale: Scale, known: Mapping[str, Range]) -> tuple[Range, ...]:
    """The ranges of a label, one per member of a set; none if it cannot be read."""
    found = [_range(member, scale) for member in _members(label)]
    if found and not np.isnan(found).any():
        return tuple(found)
    return (known[label],) if label in known else ()


def _members(label: str) -> list[str]:
    """The members of a set `{a, b}`, which may be intervals; any other label is its only member.

    >>> _members('{1, "[3, 5)"}')
    ['1', '[3, 5)']
    """
    if not (label.startswith("{") and label.endswith("}")):
        return [label]
    [fields] = csv.reader([label[1:-1]], skipinitialspace=True)
    return fields


def _range(text: str, scale: Scale) -> Range:
    """The least and the greatest value of a value, a period, an interval or an open end; NaN for others."""
    ends, opened = interval_ends(text), _OPEN.fullmatch(text)
    if ends is not None:
        low = _value(ends.low, scale)
        return _first(low, scale), max(_last(_value(ends.high, scale), scale, closed=ends.closed), low)
    if opened is not None:
        limit, above = _value(opened[2], scale), opened[1] == ">="
        return (_first(limit, scale), np.inf) if above else (-np.inf, _last(limit, scale, closed=False))
    if scale in ("date", "datetime") and (days := days_of_period(text)) is not None:
        first, last = (float((day - _EPOCH) * DAY) for day in days)
        return first, last if scale == "date" else last + DAY
    value = _value(text, scale)
    return value, value


def _first(low: float, scale: Scale) -> float:
    """The least value from `low` on: `[20.5, 30)` of whole numbers begins at 21."""
    return float(np.ceil(low)) if scale == "integer" else low


def _last(high: float, scale: Scale, *, closed: bool) -> float:
    """The greatest value up to `high`, or below it where the interval is not closed."""
    if scale == "integer":
        return float(np.floor(high) if closed else np.ceil(high) - 1)
    return high - DAY if scale == "date" and not closed else high


def _value(text: str, scale: Scale) -> float:
    """A number, or the microseconds since 1970 of a date or time; NaN for any other text."""
    if scale in ("integer", "float"):
        found = place_of(text, scale)
        return np.nan if found is None or not np.isfinite(float(found)) else float(found)
    try:
        moment = moment_of_text(f"{text} 00:00" if DATE_TEXT.fullmatch(text) else text)
    except ValueError:
        return np.nan
    return np.nan if moment is None else moment / 1000
