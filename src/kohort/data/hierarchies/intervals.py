"""Hierarchies of numbers: intervals of given widths, and intervals with about equally many records."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from kohort.data.column import Column
from kohort.data.domain import STAR
from kohort.data.hierarchies import Builder, labels_of, tree_over, values_of
from kohort.data.hierarchies.dates import days_of
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, counted
from kohort.parameters import Within, check_parameters, shown

Number = int | float

_MOST_DECIMALS = 15
_FARTHEST_APART = 10**12
_EXACT = Context(prec=1000)
_FARTHEST_ORIGIN = 2**52  # distance in intervals; farther ones cannot be counted exactly


@dataclass(frozen=True)
class Intervals(Builder):
    """Nested half-open intervals, the narrowest first, counted from `origin`.

    Values from `top` on are one interval, and so are values below `bottom`; both lie right under the root.
    Limits are exact decimals: a width of 0.1 gives `[0.3, 0.4)`, and 0.3 is in it.
    """

    key: ClassVar[str] = "intervals"
    widths: tuple[Number, ...]
    origin: Number = 0
    top: Number | None = None
    bottom: Number | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", _as_tuple(self.widths))
        for name in ("origin", "top", "bottom"):
            if isinstance(value := getattr(self, name), np.number):
                object.__setattr__(self, name, value.item())
            if value is not None or name == "origin":
                _require_number(name, getattr(self, name))
        for width in self.widths:
            _require_number("widths", width)
            if width <= 0:
                raise InputError(f"The 'widths' of intervals must be positive. Got {width}.")
        _require_multiples(self.widths)
        if abs(Fraction(_exact(self.origin)) / Fraction(_exact(self.widths[0]))) > _FARTHEST_ORIGIN:
            raise InputError("The 'origin' of intervals is too far from 0 for widths this narrow.")
        if self.top is not None and self.bottom is not None and self.bottom >= self.top:
            raise InputError(
                f"The 'bottom' of intervals must be below the 'top'. Got {self.bottom} and {self.top}."
            )

    def build(self, column: Column) -> Hierarchy:
        values_of(column)
        numbers = numbers_of(column)
        exact = [Decimal(text) for text in column.present]
        top, bottom = (None if end is None else _exact(end) for end in (self.top, self.bottom))

        def beyond(number: Decimal) -> str:
            if top is not None and number >= top:
                return f">= {top:f}"
            return f"< {bottom:f}" if bottom is not None and number < bottom else ""

        outside = np.array([*map(beyond, exact)], dtype=object)
        inside = outside == ""
        self._require_within_reach(column.name, numbers[inside])
        finest = self._finest([number for number, label in zip(exact, outside) if not label])
        levels = []
        for width in self.widths:
            ratio = int(_exact(width) / _exact(self.widths[0]))
            level = outside.copy()
            level[inside] = labels_of(finest // ratio, partial(self._label, width))
            levels.append(level.tolist())
        return tree_over(column, levels)

    def _require_within_reach(self, name: str, numbers: np.ndarray) -> None:
        if numbers.dtype.kind == "i" and not any(map(_decimals, (*self.widths, self.origin))):
            return  # exact in whole numbers
        far = int((~(np.abs(numbers.astype(float)) / float(self.widths[0]) < 2**52)).sum())
        if far:
            raise InputError(
                f"Column {name!r} has {counted(far, 'value that is', 'values that are')} infinite or too "
                "large for intervals this narrow. Set top and bottom, or widen the intervals."
            )

    def _finest(self, numbers: Sequence[Decimal]) -> np.ndarray:
        """The narrowest interval of each number, in whole numbers, so that nothing is ever rounded."""
        (o, p), (w, q) = (_exact(number).as_integer_ratio() for number in (self.origin, self.widths[0]))
        found = [(n * p - o * m) * q // (m * p * w) for n, m in map(Decimal.as_integer_ratio, numbers)]
        return np.array(found, dtype=np.int64)

    def _label(self, width: Number, index: int) -> str:
        """The interval as text, with just the decimals of its level, cut off at top and bottom."""
        unit = Decimal(1).scaleb(-max(_decimals(width), _decimals(self.origin)))
        with localcontext(_EXACT):
            ends = (_exact(self.origin) + n * _exact(width) for n in (index, index + 1))
            lo, hi = (end.quantize(unit) for end in ends)
        if self.bottom is not None:
            lo = max(lo, _exact(self.bottom))
        if self.top is not None:
            hi = min(hi, _exact(self.top))
        return f"[{lo:f}, {hi:f})"


def intervals(
    *widths: Number, origin: Number = 0, top: Number | None = None, bottom: Number | None = None
) -> Intervals:
    """Nested intervals of these widths.

    >>> intervals(5, 10, 20).to_spec()
    {'intervals': [5, 10, 20]}
    """
    return Intervals(widths, origin=origin, top=top, bottom=bottom)


def numbers_of(column: Column) -> np.ndarray:
    """The column's values as numbers; raises an error that names a suitable builder if they are none."""
    if column.numbers is not None and column.kind in ("integer", "float"):
        return column.numbers
    if column.kind in ("date", "datetime"):
        hint = "For dates use date: [month, quarter, year]."
    else:
        hint = "Use mask, order, groups or a file for text, and date for ISO dates (2024-03-05)."
    raise InputError(f"Column {column.name!r} holds {column.kind} values: intervals need numbers. {hint}")


def _as_tuple(widths: Any) -> tuple[Number, ...]:
    if isinstance(widths, (int, float, np.number)):
        widths = (widths,)
    if isinstance(widths, (list, tuple)) and widths:
        return tuple(width.item() if isinstance(width, np.number) else width for width in widths)
    raise InputError(
        f"The 'widths' of intervals must be one or more numbers, such as 5, 10, 20. Got {shown(widths)}."
    )


def _require_number(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not _exact(value).is_finite():
        raise InputError(f"The '{name}' of intervals must be a finite number. Got {shown(value)}.")
    if _decimals(value) > _MOST_DECIMALS:
        raise InputError(f"The '{name}' of intervals may have {_MOST_DECIMALS} decimals. Got {value!r}.")


def _require_multiples(widths: Sequence[Number]) -> None:
    if Fraction(_exact(widths[-1])) / Fraction(_exact(widths[0])) > _FARTHEST_APART:
        raise InputError(
            f"The widest of the 'widths' may be {_FARTHEST_APART:,} times the narrowest. Leave some out."
        )
    for narrow, wide in pairwise(widths):
        times, rest = divmod(_exact(wide), _exact(narrow))
        if rest or times < 2:
            fits = [_exact(narrow) * n for n in (max(int(times), 2), max(int(times), 2) + 1)]
            raise InputError(
                f"Intervals of {wide} are not made of whole intervals of {narrow}. "
                f"Each width must be a multiple of the one before: {fits[0]:f} or {fits[1]:f} would fit."
            )


def _exact(number: Number) -> Decimal:
    """The exact decimal that a number is written as: 0.1 is one tenth."""
    return Decimal(str(number))


def _decimals(number: Number) -> int:
    exponent = _exact(number).normalize().as_tuple().exponent
    assert isinstance(exponent, int)  # finite numbers only
    return max(-exponent, 0)


_SLACK = 0.1  # how far a cut may move to a rounder number, as a share of a part's records


@dataclass(frozen=True)
class Quantiles(Builder):
    """The values are cut into `split` intervals of about equally many records, `depth` times over.

    Limits are round numbers, as far as the parts stay about equal, and the outermost intervals are open
    (`< 20`, `>= 5000`): neither the least nor the greatest value is shown.
    """

    key: ClassVar[str] = "quantiles"
    says_all: ClassVar[bool] = True
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
        before = np.concatenate([[0], np.cumsum(records)])  # how many records come before each number
        levels: list[list[str]] = []
        limits: dict[int, Decimal] = {}  # the places and numbers at which the sorted values are cut
        for _ in range(self.depth):
            ends = pairwise([0, *sorted(limits), len(numbers)])
            finer = [cut for lo, hi in ends for cut in _equal_parts(numbers, before, lo, hi, self.split)]
            if not finer:
                break
            limits |= dict(finer)
            labels = _labels([f"{limits[cut]:f}" for cut in sorted(limits)])
            levels.append(labels_of(np.searchsorted(sorted(limits), which, side="right"), labels.__getitem__))
        return tree_over(column, reversed(levels))


quantiles = Quantiles


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


def _equal_parts(
    numbers: np.ndarray, before: np.ndarray, lo: int, hi: int, parts: int
) -> Iterator[tuple[int, Decimal]]:
    """Cuts of the numbers lo..hi-1 into about equal parts, each with its limit."""
    part = (before[hi] - before[lo]) / parts
    for wanted in before[lo] + part * np.arange(1, parts) if hi - lo > 1 else ():
        first = int(np.searchsorted(before, wanted - _SLACK * part))
        last = int(np.searchsorted(before, wanted + _SLACK * part, side="right")) - 1
        if first > last:  # no cut within the slack: both are next to the wanted place, on its two sides
            first = last = min(first, last, key=lambda cut: abs(before[cut] - wanted))
        first, last = min(max(first, lo + 1), hi - 1), max(min(last, hi - 1), lo + 1)
        limit = roundest_between(numbers[first - 1], numbers[last])
        yield bisect_left(numbers, limit), limit


def _labels(limits: Sequence[str]) -> list[str]:
    inner = [f"[{a}, {b})" for a, b in pairwise(limits)]
    return [f"< {limits[0]}", *inner, f">= {limits[-1]}"]


@dataclass(frozen=True)
class Range:
    """The numbers from `low` to `high`, with `high` itself where it is `closed`."""

    low: Decimal
    high: Decimal
    closed: bool = True

    def holds(self, number: Decimal) -> bool:
        """Whether a number lies in it."""
        return self.low <= number and (number < self.high or (self.closed and number == self.high))


@dataclass(frozen=True)
class Ranges(Builder):
    """Ranges that contain one another: for each of the narrowest, the wider ones up to the widest.

    Two ranges that share an end are parted there: the end belongs to the upper one. A value that lies in none
    is missing from the hierarchy. Instead of the widest range of all, `*` is published.

    paths  per narrowest range, itself and those around it
    kind   what the ends are: numbers, or days since 1970-01-01
    file   where they were read
    """

    key: ClassVar[str] = "file"
    paths: tuple[tuple[Range, ...], ...]
    kind: Literal["number", "day"]
    file: str

    def __post_init__(self) -> None:
        paths = sorted(self.paths, key=lambda path: path[0].low)
        for (one, *_), (other, *_) in pairwise(paths):
            if one.high > other.low:
                raise InputError(
                    f"Hierarchy file {self.file!r}: the ranges {one.low},{one.high} and "
                    f"{other.low},{other.high} overlap."
                )
        shared = {path[0].low for path in paths}

        def parted(range_: Range) -> Range:
            """The range without its upper end, where another range begins there."""
            shares = range_.high in shared and range_.high > range_.low
            return replace(range_, closed=False) if shares else range_

        object.__setattr__(self, "paths", tuple(tuple(map(parted, path)) for path in paths))

    def build(self, column: Column) -> Hierarchy:
        values = values_of(column)
        found = [(value, self._path_of(number)) for value, number in zip(values, self._numbers(column))]
        inside = [(value, *path) for value, path in found if path]
        if not inside:
            raise InputError(
                f"Column {column.name!r}: none of its values lies in a range of {self.file!r}. "
                "Is it the hierarchy of another column?"
            )
        return Hierarchy.from_paths(inside)

    def to_spec(self) -> dict[str, Any]:
        return {"file": self.file}

    def labels(self) -> list[tuple[str, ...]]:
        """The labels of each narrowest range and of those around it, up to the root."""
        return [self._labelled(path) for path in self.paths]

    def _numbers(self, column: Column) -> list[Decimal]:
        if self.kind == "day":
            return [Decimal(day) for day in days_of(column).tolist()]
        numbers_of(column)  # an error if these are none
        return [Decimal(value) for value in values_of(column)]

    def _path_of(self, number: Decimal) -> tuple[str, ...]:
        place = bisect_right(self.paths, number, key=lambda path: path[0].low) - 1
        if place < 0 or not self.paths[place][0].holds(number):
            return ()
        return self._labelled(self.paths[place])

    def _labelled(self, path: Sequence[Range]) -> tuple[str, ...]:
        def spelled(number: Decimal) -> str:
            return str(np.datetime64(int(number), "D")) if self.kind == "day" else f"{number.normalize():f}"

        labels = [f"[{spelled(part.low)}, {spelled(part.high)}{']' if part.closed else ')'}" for part in path]
        return (*labels[:-1], STAR)
