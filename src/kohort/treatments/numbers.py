"""Values that are made less certain: noise, rank swapping, limits, rounding and post-randomization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.errors import InputError
from kohort.parameters import shown
from kohort.problem.promises.exact import Exact, Number, plain, readable
from kohort.treatments.treatment import Perturbation, Scope, decimals_of, read_exactly


class OfNumbers(Perturbation):
    """A perturbation of numbers: `changed` says what becomes of those that are not missing."""

    def changed(self, numbers: np.ndarray, decimals: int, rng: np.random.Generator) -> np.ndarray:
        """The numbers as they are published; `decimals` says how many their column has."""
        raise NotImplementedError

    @property
    def keeps_whole(self) -> bool:
        """Whether whole numbers stay such."""
        return True

    def perturbed(self, column: Column, kind: pa.DataType, rng: np.random.Generator) -> pa.Array:
        if column.kind not in ("integer", "float") or column.listed or column.numbers is None or column.apart:
            raise InputError(
                f"The treatment {self.name} of {column.name!r} is for numbers, which it does not hold. Leave "
                "the treatment out, or use pram."
            )
        found = _numbers(column)
        missing = np.isnan(found)
        found[~missing] = self.changed(found[~missing], decimals_of(column), rng)
        if pa.types.is_integer(kind) and self.keeps_whole:
            return pa.array(np.where(missing, 0, found).astype(np.int64), pa.int64(), mask=missing)
        return pa.array(found, pa.float64(), mask=missing)

    def effect(self, before: Column, after: pa.Array) -> str:
        old, new = _numbers(before), after.cast(pa.float64()).to_numpy(zero_copy_only=False)
        there = ~np.isnan(old)
        old, new = old[there], new[there]
        related = np.corrcoef(old, new)[0, 1] if old.std() and new.std() else 1.0
        return (
            f"Mean {old.mean():.6g} before, {new.mean():.6g} after; variance {old.var():.6g} before, "
            f"{new.var():.6g} after; correlation with the original {related:.4f}."
        )


def _numbers(column: Column) -> np.ndarray:
    """The number of each record; NaN where it is missing."""
    assert column.numbers is not None
    known = np.append(column.numbers.astype(float), np.nan)
    return known[np.minimum(column.codes, len(column.numbers))]


@dataclass(frozen=True)
class Noise(OfNumbers):
    """Normally distributed noise; its standard deviation is `size` times that of the column.

    >>> Noise(0.1).describe()
    'noise was added, with a standard deviation of 0.1 times that of the column'
    """

    name: ClassVar[str] = "noise"
    size: Number

    def __post_init__(self) -> None:
        read_exactly(self, "size", "a number > 0 and <= 10", lambda n: 0 < n <= 10)

    def describe(self) -> str:
        size = readable(Fraction(self.size))
        return f"noise was added, with a standard deviation of {size} times that of the column"

    def changed(self, numbers: np.ndarray, decimals: int, rng: np.random.Generator) -> np.ndarray:
        noise = rng.normal(0.0, float(Fraction(self.size)) * numbers.std(), len(numbers))
        return np.round(numbers + noise, decimals)


@dataclass(frozen=True)
class RankSwap(OfNumbers):
    """Every value changes places with one whose rank is at most the share `within` of all ranks away.

    Rank swapping (Moore, 1996): each rank, from the lowest, changes places with a free one above it. A place
    above it is drawn, and the next free one within reach is taken. O(n log n).

    >>> RankSwap(0.05).describe()
    'values changed places with others, at most 0.05 of all ranks away'
    """

    name: ClassVar[str] = "swap"
    within: Number

    def __post_init__(self) -> None:
        read_exactly(self, "within", "a number > 0 and <= 1", lambda n: 0 < n <= 1)

    def describe(self) -> str:
        within = readable(Fraction(self.within))
        return f"values changed places with others, at most {within} of all ranks away"

    def changed(self, numbers: np.ndarray, decimals: int, rng: np.random.Generator) -> np.ndarray:
        n = len(numbers)
        order = np.argsort(numbers, kind="stable")
        reach = max(int(float(Fraction(self.within)) * n), 1)
        partner, free = list(range(n)), _FreePlaces(n)
        for rank, chance in enumerate(rng.random(n).tolist()):
            if partner[rank] != rank:
                continue
            last = min(rank + reach, n - 1)
            drawn = free.from_place(rank + 1 + int(chance * (last - rank)))
            other = drawn if drawn <= last else free.from_place(rank + 1)
            if other <= last:
                partner[rank], partner[other] = other, rank
                free.take(other)
        found = np.empty(n)
        found[order] = numbers[order][partner]
        return found


class _FreePlaces:
    """Places from 0 on of which some are taken, and the next free one from any place on."""

    def __init__(self, n: int) -> None:
        self._next = list(range(n + 2))  # a place that may be free, at or after each; itself if it is free

    def from_place(self, place: int) -> int:
        """The first free place from this one on; beyond the last, if there is none."""
        while self._next[place] != place:
            self._next[place] = self._next[self._next[place]]  # so that the way is shorter next time
            place = self._next[place]
        return place

    def take(self, place: int) -> None:
        self._next[place] = place + 1


@dataclass(frozen=True)
class Limits(OfNumbers):
    """Top and bottom coding: numbers below `bottom` become `bottom`, those above `top` become `top`.

    >>> Limits(None, 90).describe()
    'values above 90 were set to it'
    """

    name: ClassVar[str] = "limits"
    scope: ClassVar[Scope] = "record"
    bottom: Number | None
    top: Number | None

    @classmethod
    def read(cls, value: Any, column: str) -> Limits:
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
            raise InputError(
                f"limits of {column!r} are a bottom and a top, such as [0, 90]. Got {shown(value)}."
            )
        return cls(*value)

    def __post_init__(self) -> None:
        for name in ("bottom", "top"):
            if getattr(self, name) is not None:
                read_exactly(self, name, "a number", lambda n: True)
        if self.bottom is None and self.top is None:
            raise InputError("Limits need a bottom, a top, or both, such as limits: [0, 90].")
        if None not in (self.bottom, self.top) and Fraction(self.bottom) > Fraction(self.top):  # type: ignore[arg-type]
            raise InputError("The bottom of limits must not be above their top.")

    def describe(self) -> str:
        ends = (("below", self.bottom), ("above", self.top))
        parts = [f"values {side} {readable(Fraction(end))}" for side, end in ends if end is not None]
        return f"{' and '.join(parts)} were set to it"

    def to_spec(self) -> dict[str, Any]:
        ends = (self.bottom, self.top)
        return {self.name: [None if end is None else plain(Fraction(end)) for end in ends]}

    @property
    def keeps_whole(self) -> bool:
        return all(end is None or Fraction(end).denominator == 1 for end in (self.bottom, self.top))

    def changed(self, numbers: np.ndarray, decimals: int, rng: np.random.Generator) -> np.ndarray:
        low = -np.inf if self.bottom is None else float(Fraction(self.bottom))
        high = np.inf if self.top is None else float(Fraction(self.top))
        return np.clip(numbers, low, high)


@dataclass(frozen=True)
class Rounding(OfNumbers):
    """Numbers are rounded to the nearest multiple of `to`.

    >>> Rounding(5).describe()
    'values were rounded to multiples of 5'
    """

    name: ClassVar[str] = "round"
    scope: ClassVar[Scope] = "record"
    to: Number

    def __post_init__(self) -> None:
        read_exactly(self, "to", "a number > 0", lambda n: n > 0)

    def describe(self) -> str:
        return f"values were rounded to multiples of {readable(Fraction(self.to))}"

    @property
    def keeps_whole(self) -> bool:
        return 1 in Fraction(self.to).as_integer_ratio()  # whole numbers are multiples of 1/2 themselves

    def changed(self, numbers: np.ndarray, decimals: int, rng: np.random.Generator) -> np.ndarray:
        unit = float(Fraction(self.to))
        return np.round(numbers / unit) * unit


@dataclass(frozen=True)
class Pram(Perturbation):
    """Post-randomization: every value is drawn anew, with chances that depend on the value.

    matrix : a number: the chance that a value stays, else it is drawn from the whole column, which keeps the
        expected frequencies (invariant PRAM); or per value a mapping from values to chances that add up to 1

    >>> Pram(0.8).describe()
    'every value stayed with the chance 0.8, and was else drawn from the whole column'
    """

    name: ClassVar[str] = "pram"
    matrix: Any

    def __post_init__(self) -> None:
        if isinstance(self.matrix, Mapping):
            object.__setattr__(self, "matrix", _checked_matrix(self.matrix))
        elif not isinstance(self.matrix, tuple):
            read_exactly(self, "matrix", "a chance from 0 to 1, or a mapping", lambda n: 0 <= n <= 1)

    @property
    def chances(self) -> dict[str, dict[str, Fraction]] | None:
        """Per value the chance of each value; None where the matrix is invariant."""
        if not isinstance(self.matrix, tuple):
            return None
        return {value: dict(row) for value, row in self.matrix}

    def describe(self) -> str:
        if self.chances is not None:
            return "every value was drawn anew, by the matrix of the spec"
        stays = readable(Fraction(self.matrix))
        return f"every value stayed with the chance {stays}, and was else drawn from the whole column"

    def to_spec(self) -> dict[str, Any]:
        if self.chances is None:
            return super().to_spec()
        rows = {
            value: {to: plain(chance) for to, chance in row.items()} for value, row in self.chances.items()
        }
        return {self.name: rows}

    def perturbed(self, column: Column, kind: pa.DataType, rng: np.random.Generator) -> pa.Array:
        """What is missing stays so; values keep the type that they came in: numbers stay numbers."""
        drawn = self._drawn_from_column if self.chances is None else self._drawn_by_matrix
        codes, texts = drawn(column, rng)
        array = pa.array(texts, pa.string())
        if column.kind in ("integer", "float"):
            array = array.cast(pa.int64() if column.kind == "integer" else pa.float64())
        return array.take(pa.array(np.where(codes < 0, len(texts) - 1, codes)))

    def _drawn_from_column(
        self, column: Column, rng: np.random.Generator
    ) -> tuple[np.ndarray, tuple[str | None, ...]]:
        there = np.flatnonzero(column.codes < len(column.texts) - column.has_null)
        given, drawn = column.codes[there], column.codes.copy()
        stays = rng.random(len(given)) < float(Fraction(self.matrix))
        drawn[there] = np.where(stays, given, given[rng.integers(0, max(len(given), 1), len(given))])
        return drawn, column.texts

    def _drawn_by_matrix(
        self, column: Column, rng: np.random.Generator
    ) -> tuple[np.ndarray, tuple[str | None, ...]]:
        """A code for each record, -1 where it is missing, and the texts of the codes."""
        chances = self.chances or {}
        texts = [text for text in column.texts if text is not None]
        if lacking := sum(text not in chances for text in texts):
            raise InputError(
                f"The PRAM matrix of {column.name!r} has no row for {lacking} of its values. Add a row "
                "for each."
            )
        place = {
            text: n
            for n, text in enumerate(dict.fromkeys([*texts, *(to for row in chances.values() for to in row)]))
        }
        found = np.full(len(column), -1)
        for code, text in enumerate(texts):
            row, records = chances[text], np.flatnonzero(column.codes == code)
            shares = np.array([float(chance) for chance in row.values()])
            found[records] = rng.choice([place[to] for to in row], len(records), p=shares / shares.sum())
        return found, (*place, None)

    def effect(self, before: Column, after: pa.Array) -> str:
        new = after.cast(pa.string()).to_pylist()
        changed = sum(before.texts[code] != text for code, text in zip(before.codes.tolist(), new))
        return f"{changed / len(before):.1%} of its values changed."


_CHANCE = Exact("made of chances from 0 to 1", lambda number: 0 <= number <= 1)


def _checked_matrix(matrix: Mapping[Any, Any]) -> tuple[tuple[str, tuple[tuple[str, Fraction], ...]], ...]:
    """The rows of a matrix as pairs; raises InputError where chances are none, or do not add up to 1."""
    rows: list[tuple[str, tuple[tuple[str, Fraction], ...]]] = []
    for value, row in matrix.items():
        if not isinstance(row, Mapping):
            raise InputError("Every row of a PRAM matrix is a mapping from values to chances.")
        chances = tuple((str(to), _CHANCE.read("Pram", "matrix", chance)) for to, chance in row.items())
        total = sum((chance for _, chance in chances), Fraction(0))
        if total != 1:
            place = len(rows) + 1
            raise InputError(
                f"Row {place} of the PRAM matrix adds up to {readable(total)}, not to 1. Chances may be "
                "written as fractions, such as 1/3."
            )
        rows.append((str(value), chances))
    return tuple(rows)
