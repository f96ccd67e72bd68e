"""Hierarchies of nested ranges of numbers or days, as other tools write them down."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from kohort.data.column import Column
from kohort.data.domain import STAR
from kohort.data.hierarchies import values_of
from kohort.data.hierarchies.dates import days_of
from kohort.data.hierarchies.intervals import numbers_of
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError


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
class Ranges:
    """Ranges that contain one another: for each of the narrowest, the wider ones up to the widest.

    Two ranges that share an end are parted there: the end belongs to the upper one. A value that lies in none
    is missing from the hierarchy. Instead of the widest range of all, `*` is published.

    paths  per narrowest range, itself and those around it
    kind   what the ends are: numbers, or days since 1970-01-01
    file   where they were read
    """

    paths: tuple[tuple[Range, ...], ...]
    kind: Literal["number", "day"]
    file: str

    def __post_init__(self) -> None:
        paths = sorted(self.paths, key=lambda path: path[0].low)
        for (one, *_), (other, *_) in pairwise(paths):
            if one.high > other.low:
                raise InputError(
                    f"Hierarchy file {self.file!r}: the ranges {_written(one)} and {_written(other)} overlap."
                )
        shared = {path[0].low for path in paths}
        object.__setattr__(
            self, "paths", tuple(tuple(_parted(range_, shared) for range_ in path) for path in paths)
        )

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
        spell = _day if self.kind == "day" else _written_number
        *below, _ = path
        return (*(_label(range_, spell) for range_ in below), STAR)


def _parted(range_: Range, starts: set[Decimal]) -> Range:
    """The range without its upper end, where another range begins there."""
    return replace(range_, closed=False) if range_.high in starts and range_.high > range_.low else range_


def _label(range_: Range, spell: Callable[[Decimal], str]) -> str:
    return f"[{spell(range_.low)}, {spell(range_.high)}{']' if range_.closed else ')'}"


def _written(range_: Range) -> str:
    return f"{range_.low},{range_.high}"


def _written_number(number: Decimal) -> str:
    return f"{number.normalize():f}"


def _day(number: Decimal) -> str:
    return str(np.datetime64(int(number), "D"))
