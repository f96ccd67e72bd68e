"""Which values of an ordered column lie in an interval that is published as `[20, 30)` or `[20, 30]`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import date

from kohort.data.column import Column, Kind
from kohort.data.times import DATE_TEXT, is_zoned, moment_of_text

__all__ = ["values_in_interval"]


def values_in_interval(label: str, column: Column) -> tuple[str, ...]:
    """The values of a column of numbers, dates or times in an interval; none if the label is no interval.

    >>> import pyarrow as pa
    >>> from kohort.data.column import code_column
    >>> values_in_interval("[20, 30)", code_column("age", pa.array([19, 20, 29, 30])))
    ('20', '29')
    """
    low, _, high = label[1:-1].partition(", ")
    if not label.startswith("[") or not label.endswith((")", "]")):
        return ()
    texts = [text for text in column.texts if text is not None]
    places = [_place(text, column.kind) for text in texts]
    ends = _place(low, column.kind), _place(high, column.kind)
    if None in places or None in ends or len({is_zoned(text) for text in (*texts[:1], low, high)}) > 1:
        return ()
    first = bisect_left(places, ends[0])  # type: ignore[type-var]
    last = (bisect_right if label.endswith("]") else bisect_left)(places, ends[1])  # type: ignore
    return tuple(texts[first:last])


def _place(text: str, kind: Kind) -> int | float | None:
    """The position of a text among numbers, days or moments; None if it is none of these."""
    try:
        if kind == "date":
            return date.fromisoformat(text).toordinal()
        if kind == "datetime":
            return moment_of_text(f"{text} 00:00" if DATE_TEXT.fullmatch(text) else text)
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        return None
