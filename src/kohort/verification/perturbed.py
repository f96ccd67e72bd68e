"""Checks of columns that are treated: whatever of a treatment can be seen in what is published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from math import sqrt

import numpy as np

from kohort.data.column import Column
from kohort.problem.perturbations import Limits, Noise, Perturbation, Pram, RankSwap, Rounding
from kohort.tables.table import Table
from kohort.verification.verdict import Check

SIGMAS = 7
"""Chance alone exceeds so many standard deviations once in 10^11 times."""


def check_hidden(published: Table, original: Table | None, treatments: Mapping[str, str]) -> list[Check]:
    """A failing check for each mask that tells records apart, and for pseudonyms that are original values."""
    failing = []
    for name in (name for name in published.names if treatments.get(name) in ("mask", "pseudonym")):
        shown = {text for text in published.column(name).texts if text is not None}
        if treatments[name] == "mask":
            hides = len(shown) < 2
        else:
            hides = original is None or shown.isdisjoint(original.column(name).texts)
        if not hides:
            detail = f"Column {name!r} is published without its {treatments[name]}."
            failing.append(Check(f"column {name!r} hidden", False, detail))
    return failing


def check_perturbed(
    published: Table,
    original: Table | None,
    name: str,
    how: Perturbation,
    rows: np.ndarray | slice | None,
    *,
    sure: bool,
) -> Check:
    """Whether a column may have come about as the spec says.

    rows, sure  per published record its original, and whether that is known for certain
    """
    title = f"column {name!r} treated"
    if name not in published.names:
        return Check(title, False, f"Column {name!r} is missing.")
    known = None if original is None or rows is None else original.column(name)
    wrong = _Comparison(published.column(name), known, rows if sure else None, rows).wrong(how)
    if wrong is None:
        return Check(title, True, f"Column {name!r}: as far as it can be seen, {how.describe()}.")
    return Check(title, False, f"Column {name!r}: {wrong}.")


class _Comparison:
    def __init__(
        self,
        after: Column,
        before: Column | None,
        rows: np.ndarray | slice | None,
        any_rows: np.ndarray | slice | None,
    ) -> None:
        self.after, self.before, self.rows = after, before, rows
        self.any_rows = slice(None) if any_rows is None else any_rows

    def wrong(self, how: Perturbation) -> str | None:
        """What contradicts the perturbation, in words; None if nothing does."""
        if isinstance(how, Pram):
            return self._wrong_values(how)
        after = _numbers(self.after)
        if after is None:
            return "it does not hold numbers"
        if isinstance(how, Rounding):
            return self._not_rounded(after, Fraction(how.to))
        if isinstance(how, Limits):
            return self._beyond(after, how)
        before = None if self.before is None else _numbers(self.before)
        if before is None:
            return None
        if isinstance(how, RankSwap):
            return self._not_swapped(before, after, how)
        assert isinstance(how, Noise)
        return self._not_noisy(before, after, float(Fraction(how.size)))

    def _known(self) -> np.ndarray | None:
        """The number that each published record had; None where that is not known."""
        before = None if self.before is None or self.rows is None else _numbers(self.before)
        return None if before is None else before[self.rows]

    def _not_rounded(self, after: np.ndarray, unit: Fraction) -> str | None:
        shown = after[~np.isnan(after)]
        steps = shown / float(unit)
        if (np.abs(steps - np.round(steps)) > 1e-6).any():
            return "some values are no multiples of what they were to be rounded to"
        before = self._known()
        if before is None:
            return None
        apart = np.abs(after - before)
        return (
            "some values are not the nearest multiples" if (apart > float(unit) * 0.5000001).any() else None
        )

    def _beyond(self, after: np.ndarray, how: Limits) -> str | None:
        low = -np.inf if how.bottom is None else float(Fraction(how.bottom))
        high = np.inf if how.top is None else float(Fraction(how.top))
        if (after < low).any() or (after > high).any():
            return "some values lie beyond the limits"
        before = self._known()
        if before is None:
            return None
        expected = np.minimum(np.maximum(before, low), high)
        same = (after == expected) | (np.isnan(after) & np.isnan(expected))
        return None if same.all() else "some values within the limits were changed"

    def _not_swapped(self, before: np.ndarray, after: np.ndarray, how: RankSwap) -> str | None:
        if len(before) == len(after) and not np.array_equal(np.sort(before), np.sort(after), equal_nan=True):
            return "its values are not those of the original in other places"
        if self.rows is None:
            return None
        known = np.sort(before[~np.isnan(before)])
        reach = max(int(float(Fraction(how.within)) * len(known)), 1)
        there = ~np.isnan(after)
        mine = before[self.rows][there]
        lowest, highest = np.searchsorted(known, mine, "left"), np.searchsorted(known, mine, "right") - 1
        first, last = (
            np.searchsorted(known, after[there], "left"),
            np.searchsorted(known, after[there], "right") - 1,
        )
        far = (first - highest > reach) | (lowest - last > reach)
        if len(before) == len(after) and np.array_equal(mine, after[there]) and _must_move(known, reach):
            return "no value is in another place"
        return "some values moved by more ranks than allowed" if far.any() else None

    def _not_noisy(self, before: np.ndarray, after: np.ndarray, size: float) -> str | None:
        here = before[self.any_rows]
        there = ~np.isnan(here)
        n, spread = int(there.sum()), size * float(np.nanstd(before))
        if n < 2 or not spread:
            return None
        if np.isnan(after).sum() != n_missing(here):
            return "missing values are not those of the original"
        apart = float(np.nanmean(after) - here[there].mean())
        if abs(apart) > SIGMAS * spread / sqrt(n) + _unit(self.after):
            return "its mean is farther from the original's than noise of this size explains"
        if self.rows is None:
            return None
        noise = (after - before[self.rows])[there]
        ratio = float(noise.var() / (spread**2 + _unit(self.after) ** 2 / 12))
        if abs(ratio - 1) > SIGMAS * sqrt(2 / n):
            return f"the noise has {ratio:.3g} times the variance that was stated"
        return None

    def _wrong_values(self, how: Pram) -> str | None:
        if self.before is None:
            return None
        before = Counter(self.before.texts[code] for code in self.before.codes[self.any_rows].tolist())
        after = Counter(self.after.texts[code] for code in self.after.codes.tolist())
        everybody = Counter(self.before.texts[c] for c in self.before.codes.tolist())
        expected, variance = _expected(before, how, everybody)
        for text in {*after, *expected}:
            apart = abs(after[text] - expected.get(text, 0.0))
            if apart > SIGMAS * sqrt(variance.get(text, 0.0)) + 1e-9:
                return "values occur more or less often than the chances of the matrix explain"
        return None if self.rows is None else self._wrong_stays(before, how, everybody)

    def _wrong_stays(
        self, before: Counter[str | None], how: Pram, everybody: Counter[str | None]
    ) -> str | None:
        """Whether as many records keep their value as the chances say, in words if not."""
        assert self.before is not None and self.rows is not None
        pairs = zip(self.before.codes[self.rows].tolist(), self.after.codes.tolist())
        stayed = sum(self.before.texts[one] == self.after.texts[two] for one, two in pairs)
        chances = [_chances(text, how, everybody).get(text, 0.0) for text in before]
        mean = sum(n * chance for n, chance in zip(before.values(), chances))
        variance = sum(n * chance * (1 - chance) for n, chance in zip(before.values(), chances))
        fine = abs(stayed - mean) <= SIGMAS * sqrt(max(variance, 0.0)) + 1e-6
        return None if fine else "more or fewer records keep their value than the chances explain"


def _must_move(known: np.ndarray, reach: int) -> bool:
    """Whether rank swapping moves some value but for a chance of 10^-11: none moves where all meet equals.

    The first of equal values meets only free places above it, as many as `reach`, as long as none has moved.
    """
    _, first, equal = np.unique(known, return_index=True, return_counts=True)
    above = np.minimum(reach, len(known) - 1 - first)
    return bool(np.prod(np.minimum(1.0, (equal - 1)[above > 0] / above[above > 0])) < 1e-11)


def _chances(text: str | None, how: Pram, everybody: Counter[str | None]) -> dict[str | None, float]:
    """The chance of each value where there was this one; what is missing stays so."""
    if text is None:
        return {None: 1.0}
    if how.chances is not None:
        return {to: float(chance) for to, chance in how.chances.get(text, {}).items()}
    stays, total = float(Fraction(how.matrix)), everybody.total() - everybody[None]
    row: dict[str | None, float] = {
        other: (1 - stays) * n / total for other, n in everybody.items() if other is not None
    }
    return row | {text: row.get(text, 0.0) + stays}


def _expected(
    before: Counter[str | None], how: Pram, everybody: Counter[str | None]
) -> tuple[dict[str | None, float], dict[str | None, float]]:
    """The expected number of each value after PRAM, and its variance."""
    total, n = sum(everybody.values()), sum(before.values())
    mean: dict[str | None, float] = {}
    variance: dict[str | None, float] = {}
    for text, count in before.items():
        for to, chance in _chances(text, how, everybody).items():
            mean[to] = mean.get(to, 0.0) + count * chance
            variance[to] = variance.get(to, 0.0) + count * chance * (1 - chance) + (chance < 1) * n / total
    return mean, variance


def _numbers(column: Column) -> np.ndarray | None:
    """The value of each record, read from its text; NaN where it is missing. None if some are no numbers."""
    try:
        values = [np.nan if text is None else float(text) for text in column.texts]
    except ValueError:
        return None
    return np.array([*values, np.nan])[column.codes]


def n_missing(numbers: np.ndarray) -> int:
    """How many numbers are missing."""
    return int(np.isnan(numbers).sum())


def _unit(column: Column) -> float:
    """The last decimal that is published."""
    parts = [text.partition(".")[2] for text in column.texts if text is not None and "e" not in text.lower()]
    return 10.0 ** -max((len(part) for part in parts), default=0)
