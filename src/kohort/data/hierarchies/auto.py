"""A hierarchy for a column that has none in the spec: chosen from its values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from kohort.data.column import Column
from kohort.data.hierarchies import Builder, values_of
from kohort.data.hierarchies.categories import Code, Flat, Mask
from kohort.data.hierarchies.code_systems import recognized_code
from kohort.data.hierarchies.dates import Dates, days_of, period_of
from kohort.data.hierarchies.intervals import Intervals, Quantiles
from kohort.data.hierarchies.orders import ByFrequency, Order
from kohort.data.hierarchy import Hierarchy

_FEW = 4  # up to this many values, a tree gains nothing
_SKEWED = 1 / 3  # a share of the range; skewed if it holds the middle nine tenths of the records
_FINEST = 0.02  # the least width of an interval, as a share of the range
_FINEST_SPAN = 1e-12  # the narrowest range that has round limits
_WIDEST_SPAN = 1e300  # above this, round widths overflow
_CODE = re.compile(r"(?=.*[0-9])[0-9A-Za-z./-]{3,16}")


@dataclass(frozen=True)
class Choice:
    """A builder and why it was chosen."""

    builder: Builder
    what: str
    why: str


@dataclass(frozen=True)
class Auto:
    """Round intervals or quantiles for numbers, periods for dates, masks for codes, else by frequency."""

    def choose(self, column: Column) -> Choice:
        """The builder for this column; write its `to_spec()` down to keep the choice for other data."""
        values = values_of(column)
        if column.kind in ("date", "datetime"):
            return _for_dates(column)
        if len(values) <= _FEW:
            return Choice(Flat(), "value or *", f"it has {_FEW} different values or fewer")
        system = recognized_code(column)
        if system is not None:
            return _for_codes(Code(system))
        if column.listed:
            return Choice(Order(), "neighbours in order", "its categories have an order")
        if column.numbers is not None:
            return _for_numbers(column, column.numbers)
        if _are_codes(values):
            return Choice(Mask(), "masks from the right", "its values are codes of equal length")
        return Choice(
            ByFrequency(), "groups that join rare values first", "its values are names without an order"
        )

    def build(self, column: Column) -> Hierarchy:
        return self.choose(column).builder.build(column)

    def describe(self, column: Column) -> str:
        """A sentence that says what was chosen and why; it shows no value."""
        choice = self.choose(column)
        return f"Column {column.name!r} gets {choice.what}, because {choice.why}."

    def to_spec(self) -> dict[str, Any]:
        return {"auto": True}


auto = Auto


def _for_codes(builder: Code) -> Choice:
    what = f"the levels of {builder.title}"
    return Choice(builder, what, "its name and values speak for these codes")


def _for_dates(column: Column) -> Choice:
    days = days_of(column)
    shortest = ("day", "month") if column.kind == "datetime" else ("month",)
    levels = _thinning(days, (*shortest, "quarter", "year", "decade"), len(days))
    if not levels:
        levels = _thinning(days, ("week",), len(days))
    if not levels:
        return Choice(Flat(), "value or *", "its dates lie too close together or are too few for periods")
    return Choice(
        Dates(levels), f"periods ({', '.join(levels)})", "its dates fall into several periods of each kind"
    )


def _thinning(days: np.ndarray, levels: tuple[str, ...], n: int) -> tuple[str, ...]:
    """The levels that join something and leave more than one period."""
    useful = []
    for level in levels:
        periods = len(np.unique(period_of(days, level)))
        if 1 < periods < n:
            useful.append(level)
            n = periods
    return tuple(useful)


def _for_numbers(column: Column, numbers: np.ndarray) -> Choice:
    span = float(numbers[-1]) - float(numbers[0])
    reach = max(abs(float(numbers[0])), abs(float(numbers[-1])))
    if not _FINEST_SPAN < span < _WIDEST_SPAN or reach > span * 2**40:
        return Choice(
            Order(),
            "neighbours in order",
            "its numbers lie too close together or too far apart for intervals with round limits",
        )
    count = f"{len(numbers)} different numbers"
    if _is_skewed(numbers, column.counts[: len(numbers)], span):
        why = f"most records lie in a small part of the range of its {count}"
        return Choice(Quantiles(), "intervals with about equally many records", why)
    widths = _round_widths(span, len(numbers))
    what = f"intervals of {', '.join(map(str, widths))}"
    return Choice(Intervals(widths), what, f"its {count} are spread over their range")


def _is_skewed(numbers: np.ndarray, counts: np.ndarray, span: float) -> bool:
    """Whether one value has most records, or the middle nine tenths of them lie close together."""
    share = np.cumsum(counts) / counts.sum()
    low, high = np.minimum(np.searchsorted(share, [0.05, 0.95]), len(numbers) - 1)
    return counts.max() > counts.sum() / 2 or float(numbers[high]) - float(numbers[low]) < _SKEWED * span


def _round_widths(span: float, n_values: int) -> tuple[int | float, ...]:
    """Widths 1, 2 or 5 times a power of ten, each a multiple of the one before.

    The finest is the least that has 2 % of the range and holds two values on average.
    """
    least = max(_FINEST * span, 2 * span / (n_values - 1))
    exponent = int(np.floor(np.log10(least)))
    series = [(digit, e) for e in range(exponent, exponent + 4) for digit in (1, 2, 5)]
    widths: list[tuple[int, int]] = []
    for digit, e in series:
        width = digit * 10.0**e
        fits = not widths or digit * 10 ** (e - widths[-1][1]) % widths[-1][0] == 0
        if width >= least * (1 - 1e-9) and fits and (width < span or not widths):
            widths.append((digit, e))
    return tuple(digit * 10**e if e >= 0 else float(f"{digit}e{e}") for digit, e in widths)


def _are_codes(values: list[str]) -> bool:
    return len({len(value) for value in values}) == 1 and all(_CODE.fullmatch(value) for value in values)
