"""Hierarchies of nested intervals that hold about equally many records, for skewed numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from kohort.data.build_intervals import numbers_of
from kohort.data.builder import labels_of, tree_over, values_of
from kohort.data.column import Column
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError
from kohort.parameters import Within, check_parameters

_SLACK = 0.1  # how far a cut may move to a rounder number, as a share of a part's records


@dataclass(frozen=True)
class Quantiles:
    """The values are cut into `split` intervals of about equally many records, `depth` times over.

    Limits are round numbers, as far as the parts stay about equal, and the outermost intervals are open
    (`< 20`, `>= 5000`): neither the least nor the greatest value is shown.
    """

    split: Annotated[int, Within(2, 1_000_000)] = 3
    depth: Annotated[int, Within(1, 20)] = 3

    def __post_init__(self) -> None:
        check_parameters(self, say="The {name!r} of quantiles")

    def build(self, column: Column) -> Hierarchy:
        numbers_of(column)  # an error if these are none
        exact = [Decimal(text) for text in values_of(column)]  # floats would be beside their own labels
        if not all(number.is_finite() for number in exact):
            raise InputError(f"Column {column.name!r} has infinite values, which quantiles cannot cut.")
        numbers, which = np.unique(np.array(exact, dtype=object), return_inverse=True)
        records = np.bincount(which, weights=column.counts[: len(which)])
        levels = []
        for limits in self._limits(_Sorted(numbers, np.concatenate([[0], np.cumsum(records)]))):
            labels = _labels([f"{limits[cut]:f}" for cut in sorted(limits)])
            levels.append(labels_of(np.searchsorted(sorted(limits), which, side="right"), labels.__getitem__))
        return tree_over(column, reversed(levels))

    def to_spec(self) -> dict[str, Any]:
        return {"quantiles": self.split, "depth": self.depth}

    def _limits(self, values: _Sorted) -> list[dict[int, Decimal]]:
        """The places and numbers at which the sorted values are cut, per level from the coarsest."""
        levels: list[dict[int, Decimal]] = []
        limits: dict[int, Decimal] = {}
        for _ in range(self.depth):
            ends = [0, *sorted(limits), len(values.numbers)]
            finer = [values.equal_parts(lo, hi, self.split) for lo, hi in pairwise(ends)]
            if not any(finer):
                break
            limits = limits.copy()
            for new in finer:
                limits.update(new)
            levels.append(limits)
        return levels


def quantiles(split: int = 3, depth: int = 3) -> Quantiles:
    """Intervals with about equally many records: `split` parts, `depth` times."""
    return Quantiles(split, depth)


def roundest_between(low: float | Decimal, high: float | Decimal) -> Decimal:
    """A number with few digits that is above `low` and at most `high`.

    >>> roundest_between(18, 25), roundest_between(0.123, 0.456)
    (Decimal('20'), Decimal('0.4'))
    """
    below, most = Decimal(str(low)), Decimal(str(high))
    digit = (most - below).adjusted() + 1
    for exponent in (digit, digit - 1):
        step = Decimal(1).scaleb(exponent)
        rounded = (most / step).to_integral_value(ROUND_FLOOR) * step
        if below < rounded <= most:
            return Decimal(f"{rounded:f}")
    return most  # neighbours in all their digits


@dataclass(frozen=True, eq=False)
class _Sorted:
    """Distinct numbers in order, and how many records come before each (and, last, all of them)."""

    numbers: np.ndarray
    before: np.ndarray

    def equal_parts(self, lo: int, hi: int, parts: int) -> dict[int, Decimal]:
        """Cuts of the numbers lo..hi-1 into about equal parts, each with its limit."""
        if hi - lo < 2:
            return {}
        part = (self.before[hi] - self.before[lo]) / parts
        limits = {}
        for wanted in self.before[lo] + part * np.arange(1, parts):
            first, last = self._cuts_near(wanted, _SLACK * part, lo, hi)
            limit = roundest_between(self.numbers[first - 1], self.numbers[last])
            limits[bisect_left(self.numbers, limit)] = limit
        return limits

    def _cuts_near(self, wanted: float, slack: float, lo: int, hi: int) -> tuple[int, int]:
        """The first and last cut within the slack, or else the nearest cut."""
        first = int(np.searchsorted(self.before, wanted - slack))
        last = int(np.searchsorted(self.before, wanted + slack, side="right")) - 1
        if first > last:  # both are next to the wanted place, on its two sides
            first = last = min(first, last, key=lambda cut: abs(self.before[cut] - wanted))
        return min(max(first, lo + 1), hi - 1), max(min(last, hi - 1), lo + 1)


def _labels(limits: Sequence[str]) -> list[str]:
    inner = [f"[{a}, {b})" for a, b in pairwise(limits)]
    return [f"< {limits[0]}", *inner, f">= {limits[-1]}"]
