"""Intervals that are published as `[20, 30)` or `[20, 30]`, and the values of a column that lie in them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import date
from typing import NamedTuple

from kohort.data.column import Column, Kind
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
    texts = [text for text in column.texts if text is not None]
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
