"""A column before it is published, by definition: the text of each value, and its place in the order."""

from __future__ import annotations

import re
from datetime import date, datetime
from fractions import Fraction

WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,18})")
DECIMAL = re.compile(r"-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")  # 0440 is a code
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?")


class OriginalColumn:
    """`texts` per record, None where missing; `number` reads the text of an ordered column as its rank.

    values  as Python has them
    order   texts in the order that was asked for, or None: that of numbers and times
    """

    def __init__(self, values, order=None):
        known = [value for value in values if value is not None]
        whole = _whole_floats(known)
        self.texts = [None if value is None else _text(value, whole) for value in values]
        self.has_null = None in self.texts
        distinct = {text for text in self.texts if text is not None}
        self.number = _rank_in(order) if order is not None else _reader(known, distinct)
        self.ordered = self.number is not None
        self.distinct = sorted(distinct, key=self._natural)

    def _natural(self, text):
        return (self.number(text), text) if self.ordered else (0, text)


def _whole_floats(known):
    """Whole numbers become floats where some are missing: then they are written as whole numbers."""
    return all(isinstance(v, float) and v == v // 1 and abs(v) < 2**53 for v in known)


def _text(value, whole):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if whole else str(value + 0.0)  # there is one zero
    return str(value)


def _reader(known, distinct):
    """How a text is read as a number; None if the column has no order."""
    if not known or isinstance(known[0], bool):
        return None
    if isinstance(known[0], (int, float)):
        return Fraction
    if isinstance(known[0], (date, datetime)):
        return seconds
    if all(WHOLE.fullmatch(text) or DECIMAL.fullmatch(text) for text in distinct) and _all_read(
        Fraction, distinct
    ):
        return Fraction
    if all(DAY.fullmatch(text) for text in distinct) or all(TIME.fullmatch(text) for text in distinct):
        return seconds if _all_read(seconds, distinct) else None
    return None


def seconds(text):
    """A day or a time as seconds."""
    return Fraction(str((datetime.fromisoformat(text) - datetime(1970, 1, 1)).total_seconds()))


def _all_read(read, texts):
    try:
        return all(read(text) is not None for text in texts)
    except ValueError:
        return False


def _rank_in(order):
    place = {text: number for number, text in enumerate(order)}

    def rank(text):
        if text not in place:
            raise ValueError(text)
        return place[text]

    return rank
