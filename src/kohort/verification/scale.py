"""Where the values of an ordered column lie, read from their texts alone: exact numbers, days, true time.

The codes of a column come in an order that the coding of the table claims. What an interval covers must not
depend on that claim, so positions are computed here once more, by other means.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from math import ceil, floor

import numpy as np

from kohort.data.column import Column

Position = int | Decimal

_PARTS = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?)?",
    re.ASCII,
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_PERIOD = re.compile(r"(\d{4})(?:(s)|(-[QHW]?)(\d\d?))?", re.ASCII)
_DAY_ZERO = date(1970, 1, 1).toordinal()
_NANOSECONDS = 1_000_000_000
_DAY_LONG = 86_400 * _NANOSECONDS
_WHOLE_NUMBER = re.compile(r"-?[0-9]+")
_SIGNED_ZERO = re.compile(r"-[0.]*0[0.]*(?:[eE][+-]?\d+)?")


def spelled(text: str | None) -> str | None:
    """A text as it is compared with others: zero has no sign."""
    return text[1:] if text is not None and _SIGNED_ZERO.fullmatch(text) else text


@dataclass(frozen=True, eq=False)
class Scale:
    """The positions of one ordered column's values: numbers, places in a given order, or nanoseconds.

    Times with an offset are placed in universal time, others as they are written; the two do not compare.
    """

    column: Column
    leaves: tuple[str | None, ...] = ()  # the leaves of the column's hierarchy

    def position(self, text: str | None) -> Position | None:
        """Where a text lies on the scale; None if nowhere."""
        if text is None:
            return None
        if self.column.listed:
            return self._places.get(text)
        if self.column.kind in ("date", "datetime"):
            return self._moment(text)
        return exact_number(text)

    def between(self, low: Position, high: Position, *, closed: bool) -> np.ndarray:
        """The codes of the values from low to high; high itself only if the interval is closed."""
        return _within(*self._values, low, high, closed)

    def below(self, limit: str) -> np.ndarray:
        """The codes of the values below a text that lies on the scale, and of those that lie nowhere."""
        positions, codes = self._values
        place = self.position(limit)
        assert place is not None
        above = codes[_count_below(positions, place) :]
        return np.setdiff1d(np.arange(len(self.column.texts)), above)

    @cached_property
    def clocks(self) -> list[int | None]:
        """Per value of a column of dates or times what its own clock shows: see `moment_as_written`."""
        return [None if text is None else moment_as_written(text) for text in self.column.texts]

    def leaves_between(self, low: Position, high: Position, *, closed: bool) -> np.ndarray:
        """The leaves of the hierarchy from low to high, ascending; high itself only if it is closed."""
        return np.sort(_within(*self._leaves, low, high, closed))

    @property
    def positions(self) -> list[Position | None]:
        """Where each value of the column lies; None for a missing one."""
        return [self.position(text) for text in self.column.texts]

    @cached_property
    def _values(self) -> tuple[np.ndarray, np.ndarray]:
        return self._placed(self.column.texts)

    @cached_property
    def _leaves(self) -> tuple[np.ndarray, np.ndarray]:
        return self._placed(self.leaves)

    def _placed(self, texts: Sequence[str | None]) -> tuple[np.ndarray, np.ndarray]:
        """Positions by size, and the numbers of the texts that have them."""
        found = [(number, self.position(text)) for number, text in enumerate(texts)]
        numbers = np.array([number for number, position in found if position is not None], dtype=np.int64)
        positions = _array([position for _, position in found if position is not None])
        order = np.argsort(positions, kind="stable")
        return positions[order], numbers[order]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {text: place for place, text in enumerate(self.column.listed)}

    @cached_property
    def zoned(self) -> bool:
        """Whether the column's times say how far their clocks are from universal time."""
        return any(text is not None and _offset(text) is not None for text in self.column.texts)

    def _moment(self, text: str) -> int | None:
        moment, offset = moment_as_written(text), _offset(text)
        if moment is None or (offset is not None) != self.zoned:
            return None
        return moment - (offset or 0)


def exact_number(text: str) -> Position | None:
    """The exact number that a text spells: whole, decimal or infinite."""
    if _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    try:
        number = Decimal(text)
    except ArithmeticError:
        return None
    return None if number.is_nan() or "_" in text or text != text.strip() else number


def moment_as_written(text: str) -> int | None:
    """Nanoseconds from 1970-01-01 00:00 to a date or time by its own clock; None for any other text."""
    found = _PARTS.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = [int(part or 0) for part in found.groups()[:6]]
    try:
        days = date(year, month, day).toordinal() - _DAY_ZERO
    except ValueError:  # no day of the calendar
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    seconds = days * 86_400 + hour * 3_600 + minute * 60 + second
    return seconds * _NANOSECONDS + (int(found[7].ljust(9, "0")) if found[7] else 0)


def period(label: str) -> tuple[int, int] | None:
    """The moments at which a period begins and is over, by the clock; None for any other text.

    A period is a day, `2024-03`, `2024-Q1`, `2024-H1`, the week `2024-W09`, `2024`, or `2020s`.
    """
    if _DAY.fullmatch(label):
        begin = moment_as_written(label)
        return None if begin is None else (begin, begin + _DAY_LONG)
    found = _PERIOD.fullmatch(label)
    if found is None:
        return None
    first, kind, number = 12 * (int(found[1]) - 1970), found[2] or found[3], int(found[4] or 1)
    if kind == "-W":
        fourth = _first_day(first) + 3  # of January, which is in the first week of its year
        monday = fourth - (fourth + 3) % 7 + 7 * (number - 1)  # 1970-01-01 was a Thursday
        return monday * _DAY_LONG, (monday + 7) * _DAY_LONG
    months = {"-": 1, "-Q": 3, "-H": 6, None: 12, "s": 120}[kind]
    first += (number - 1) * months
    return _first_day(first) * _DAY_LONG, _first_day(first + months) * _DAY_LONG


def _first_day(month: int) -> int:
    """The days from 1970-01-01 to the first of a month, which is counted from January 1970."""
    return int(np.datetime64(month, "M").astype("datetime64[D]").astype(np.int64))


def _offset(text: str) -> int | None:
    """By how many nanoseconds the clock of a time is ahead of universal time; None if it does not say."""
    found = _PARTS.fullmatch(text)
    if found is None or found[8] is None:
        return None
    digits = found[8][1:].replace(":", "").ljust(6, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:4]) * 60 + int(digits[4:])
    return (-seconds if found[8][0] == "-" else seconds) * _NANOSECONDS


def _array(positions: list[Position]) -> np.ndarray:
    """Positions as int64, or as the floats that are written like them, or else as Python's exact numbers."""
    if all(isinstance(position, int) and -(2**63) <= position < 2**63 for position in positions):
        return np.array(positions, dtype=np.int64)
    floats = [float(Decimal(position)) for position in positions]
    same = all(_written(number) == position for number, position in zip(floats, positions))
    return np.array(floats) if same else np.array(positions, dtype=object)


def _written(number: float) -> Decimal:
    """The decimal number that is written for a float: 0.1 and not what its bits are."""
    return Decimal(repr(number))


def _within(
    positions: np.ndarray, numbers: np.ndarray, low: Position, high: Position, closed: bool
) -> np.ndarray:
    return numbers[_count_below(positions, low) : _count_below(positions, high, or_at=closed)]


def _count_below(positions: np.ndarray, limit: Position, *, or_at: bool = False) -> int:
    """How many of these sorted positions are below a limit, or at it."""
    if positions.dtype.kind == "i":
        if not -(2**63) <= limit < 2**63:
            return len(positions) if limit > 0 else 0
        limit = floor(limit) if or_at else ceil(limit)
    elif positions.dtype.kind == "f":
        nearest = float(Decimal(limit))
        or_at = or_at if _written(nearest) == limit else _written(nearest) < limit
        return int((bisect_right if or_at else bisect_left)(positions, nearest))
    return int((bisect_right if or_at else bisect_left)(positions, limit))
