"""Values that are made less certain: noise, rank swapping, limits, rounding and post-randomization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.errors import InputError
from kohort.parameters import shown
from kohort.problem.promises.exact import Exact, Number, plain, readable
from kohort.treatments.treatment import Perturbation, Scope, decimals_of


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
    words: ClassVar[str] = "noise was added, with a standard deviation of {} times that of the column"
    size: Annotated[Number, Exact("a number > 0 and <= 10", lambda n: 0 < n <= 10)]

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
    words: ClassVar[str] = "values changed places with others, at most {} of all ranks away"
    within: Annotated[Number, Exact("a number > 0 and <= 1", lambda n: 0 < n <= 1)]

    def changed(self, numbers: np.ndarray, decimals: int, rng: np.random.Generator) -> np.ndarray:
        n = len(numbers)
        order = np.argsort(numbers, kind="stable")
        reach = max(int(float(Fraction(self.within)) * n), 1)
        partner = list(range(n))
        following = list(range(n + 2))  # a place that may be free, at or after each; itself if it is free

        def free_from(place: int) -> int:
            """The first free place from this one on; beyond the last, if there is none."""
            while following[place] != place:
                following[place] = following[following[place]]  # so that the way is shorter next time
                place = following[place]
            return place

        for rank, chance in enumerate(rng.random(n).tolist()):
            if partner[rank] != rank:
                continue
            last = min(rank + reach, n - 1)
            drawn = free_from(rank + 1 + int(chance * (last - rank)))
            other = drawn if drawn <= last else free_from(rank + 1)
            if other <= last:
                partner[rank], partner[other] = other, rank
                following[other] = other + 1
        found = np.empty(n)
        found[order] = numbers[order][partner]
        return found


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
        ends = [
            (name, Exact("a number", lambda n: True).read("Limits", name, getattr(self, name)))
            for name in ("bottom", "top")
            if getattr(self, name) is not None
        ]
        if not ends:
            raise InputError("Limits need a bottom, a top, or both, such as limits: [0, 90].")
        if ends[0][1] > ends[-1][1]:
            raise InputError("The bottom of limits must not be above their top.")
        for name, number in ends:
            object.__setattr__(self, name, number)

    @property
    def _ends(self) -> list[Fraction | None]:
        return [None if end is None else Fraction(end) for end in astuple(self)]

    def describe(self) -> str:
        parts = [
            f"values {side} {readable(e)}" for side, e in zip(("below", "above"), self._ends) if e is not None
        ]
        return f"{' and '.join(parts)} were set to it"

    def to_spec(self) -> dict[str, Any]:
        return {self.name: [None if end is None else plain(end) for end in self._ends]}

    @property
    def keeps_whole(self) -> bool:
        return all(end is None or end.denominator == 1 for end in self._ends)

    def changed(self, numbers: np.ndarray, decimals: int, rng: np.random.Generator) -> np.ndarray:
        low, high = (None if end is None else float(end) for end in self._ends)
        return np.clip(numbers, low, high)


@dataclass(frozen=True)
class Rounding(OfNumbers):
    """Numbers are rounded to the nearest multiple of `to`.

    >>> Rounding(5).describe()
    'values were rounded to multiples of 5'
    """

    name: ClassVar[str] = "round"
    scope: ClassVar[Scope] = "record"
    words: ClassVar[str] = "values were rounded to multiples of {}"
    to: Annotated[Number, Exact("a number > 0", lambda n: n > 0)]

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
    words: ClassVar[str] = "every value stayed with the chance {}, and was else drawn from the whole column"
    matrix: Any

    def __post_init__(self) -> None:
        if isinstance(self.matrix, Mapping):
            object.__setattr__(self, "matrix", _checked_matrix(self.matrix))
        elif not isinstance(self.matrix, tuple):
            share = Exact("a chance from 0 to 1, or a mapping", lambda n: 0 <= n <= 1)
            object.__setattr__(self, "matrix", share.read("Pram", "matrix", self.matrix))

    @property
    def chances(self) -> dict[str, dict[str, Fraction]] | None:
        """Per value the chance of each value; None where the matrix is invariant."""
        if not isinstance(self.matrix, tuple):
            return None
        return {value: dict(row) for value, row in self.matrix}

    def describe(self) -> str:
        if self.chances is not None:
            return "every value was drawn anew, by the matrix of the spec"
        return super().describe()

    def to_spec(self) -> dict[str, Any]:
        if self.chances is None:
            return super().to_spec()
        rows = {value: {to: plain(n) for to, n in row.items()} for value, row in self.chances.items()}
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
        drawn = dict.fromkeys([*texts, *(to for row in chances.values() for to in row)])
        place = {text: n for n, text in enumerate(drawn)}
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


def _checked_matrix(matrix: Mapping[Any, Any]) -> tuple[tuple[str, tuple[tuple[str, Fraction], ...]], ...]:
    """The rows of a matrix as pairs; raises InputError where chances are none, or do not add up to 1."""
    share = Exact("made of chances from 0 to 1", lambda n: 0 <= n <= 1)
    rows: list[tuple[str, tuple[tuple[str, Fraction], ...]]] = []
    for place, (value, row) in enumerate(matrix.items(), start=1):
        if not isinstance(row, Mapping):
            raise InputError("Every row of a PRAM matrix is a mapping from values to chances.")
        chances = tuple((str(to), share.read("Pram", "matrix", chance)) for to, chance in row.items())
        total = sum((chance for _, chance in chances), Fraction(0))
        if total != 1:
            raise InputError(
                f"Row {place} of the PRAM matrix adds up to {readable(total)}, not to 1. Chances may be "
                "written as fractions, such as 1/3."
            )
        rows.append((str(value), chances))
    return tuple(rows)
