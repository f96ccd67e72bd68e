"""Promises about a whole published table: they look at the labels of its classes, and at a population.

known-columns is the L and K of LKC-privacy (Mohammed and others, 2009): k-anonymity against whoever knows a
few columns. k-map (Sweeney, 2002): every published class fits at least k people of a population.
delta-presence: how likely somebody of a population is to be in the table (Nergiz and others, 2007).
Population uniqueness: few of those who are unique in a release are unique in the population.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Annotated

import numpy as np

from kohort.errors import InputError, UnsupportedError
from kohort.problem.promises.exact import (
    AtLeastOne,
    Confidence,
    Fractional,
    OneOf,
    at_most,
    readable,
    rounded_down,
    rounded_up,
)
from kohort.problem.promises.promise import LabelledClasses, PopulationSource, TableModel, ValueContext
from kohort.problem.uniqueness import estimated_uniqueness

MOST_COMBINATIONS = 100_000


@dataclass(frozen=True)
class KnownColumns(TableModel):
    """Whatever at most `known` quasi-identifiers somebody knows of a person, at least k records fit.

    For every set of at most so many columns, and every record, at least k records have the same labels there.

    >>> KnownColumns(5, 3).describe()
    'every combination of published values in at most 3 columns is that of at least 5 records'
    """

    name = "known-columns"
    spec_key = "known"
    stops = "finding the record of a person by any few facts about them, in a table with many columns"
    leaves = "whoever knows more columns than that"
    typical = "known: 3, with k: 5"
    k: AtLeastOne
    known: AtLeastOne

    @property
    def enough_k(self) -> int:
        return self.k  # columns tell no more than the class does

    def holds_in(self, table: LabelledClasses) -> np.ndarray:
        return self.records_alike(table) >= self.k

    def records_alike(self, table: LabelledClasses) -> np.ndarray:
        """Per class the fewest records that have the same labels as it in some set of known columns.

        Sets of exactly so many columns suffice, of those in which classes differ: fewer columns tell less.
        """
        varied = [column for column in table.labels.T if len(column) and (column != column[0]).any()]
        size = min(self.known, len(varied))
        if comb(len(varied), size) > MOST_COMBINATIONS:
            raise UnsupportedError(
                f"{self.known} known columns of {len(varied)} are {comb(len(varied), size):,} combinations; "
                f"at most {MOST_COMBINATIONS:,} are possible. Ask for fewer known columns."
            )
        fewest = np.full(len(table.sizes), table.sizes.sum(), dtype=np.int64)
        for chosen in combinations(varied, size):
            number = _numbered(chosen, len(table.sizes))
            alike = np.bincount(number, weights=table.sizes).astype(np.int64)
            fewest = np.minimum(fewest, alike[number])
        return fewest

    def describe(self) -> str:
        columns = "any one column" if self.known == 1 else f"at most {self.known} columns"
        return f"every combination of published values in {columns} is that of at least {self.k} records"

    def _refusal(self, whole: LabelledClasses, context: ValueContext) -> str:
        n = int(whole.sizes.sum())
        return f"k = {self.k} is impossible: the table has {n} records, so k can be at most {n}"


def _numbered(columns: tuple[np.ndarray, ...], n_classes: int) -> np.ndarray:
    """A number per class; the same for classes that are alike in these columns."""
    number = np.zeros(n_classes, dtype=np.int64)
    for column in columns:
        _, number = np.unique(number * (int(column.max()) + 1) + column, return_inverse=True)
    return number


@dataclass(frozen=True)
class KMap(TableModel):
    """At least k people of the population fit the labels of every class, whether in the table or not.

    population : a file with the quasi-identifiers of everybody who might be in the table, or such a table

    >>> KMap("people.parquet", 5).describe()
    'every class fits at least 5 people of the population'
    """

    name = "k-map"
    spec_key = "k_map"
    stops = "finding the record of a person, by somebody who does not know who is in the table"
    leaves = "whoever knows that a person is in the table: ask for k instead"
    typical = "k: 5"
    population: PopulationSource
    k: AtLeastOne

    @property
    def enough_k(self) -> int:
        return self.k  # the records of a class are people whom it fits

    def holds_in(self, table: LabelledClasses) -> np.ndarray:
        return table.known_people >= self.k

    def describe(self) -> str:
        return f"every class fits at least {self.k} people of the population"

    def _refusal(self, whole: LabelledClasses, context: ValueContext) -> str:
        n = int(whole.known_people.sum())
        return f"k = {self.k} of k-map is impossible: the population has {n} people, so k can be at most {n}"


@dataclass(frozen=True)
class DeltaPresence(TableModel):
    """For everybody in the population, the chance to be in the table lies from `at_least` to `at_most`.

    The chance of somebody who fits a class is the number of its records over that of the people whom it fits,
    and 0 for somebody who fits none. Classes must not overlap: nobody may fit two.

    population : a file with the quasi-identifiers of everybody who might be in the table, or such a table

    >>> DeltaPresence("people.parquet", at_most=0.5).describe()
    'everybody in the population is in the table with a chance from 0 to 0.5'
    """

    name = "delta-presence"
    spec_key = "presence"
    compares_with_whole_table = True
    stops = "learning that a person is in the table at all, or that they are not"
    leaves = "what is learnt about those who are known to be in it"
    typical = "at_most: 0.5"
    limited_by = "at_most"
    population: PopulationSource
    at_least: Fractional = 0
    at_most: Fractional = 1

    def check(self) -> None:
        if Fraction(self.at_least) > Fraction(self.at_most):
            raise InputError("'at_least' of DeltaPresence must not be above 'at_most'.")

    def holds_in(self, table: LabelledClasses) -> np.ndarray:
        people, most, least = table.known_people, self.asked, Fraction(self.at_least)
        if not table.apart or (least > 0 and table.elsewhere):  # the chance of those elsewhere is 0
            return np.zeros(len(people), dtype=bool)
        below = at_most(table.sizes, most.denominator, people, most.numerator)
        return below & at_most(people, least.numerator, table.sizes, least.denominator)

    def describe(self) -> str:
        return (
            "everybody in the population is in the table with a chance from "
            f"{readable(Fraction(self.at_least))} to {readable(self.asked)}"
        )

    def _refusal(self, whole: LabelledClasses, context: ValueContext) -> str:
        share = Fraction(int(whole.sizes.sum()), max(int(whole.known_people.sum()), 1))
        limits = f"at_most must be at least {rounded_up(share)}"
        if share <= self.asked:
            limits = f"at_least can be at most {rounded_down(share)}"
        return (
            f"delta-presence from {readable(Fraction(self.at_least))} to {readable(self.asked)} is "
            f"impossible: {rounded_up(share)} of the population are in the table, so {limits}"
        )


@dataclass(frozen=True)
class PopulationUniqueness(TableModel):
    """The estimated share of the population that is unique in it is at most `share`.

    The sizes of the published classes are taken for a sample of the population, of which the table is
    `sampling_fraction`. An estimate is no proof: it is as good as its model of the population.

    estimate : pitman or zayatz; auto is Pitman's for samples of up to a tenth, else Zayatz's

    >>> PopulationUniqueness(0.01, sampling_fraction=0.1).describe()
    'by estimate (auto), at most 0.01 of the population is unique in it'
    """

    name = "population-uniqueness"
    spec_key = "uniqueness"
    stops = "most matches with a register of the population from being certain"
    leaves = "everything about those who remain unique; it is an estimate"
    typical = "share: 0.01"
    limited_by = "share"
    share: Fractional
    sampling_fraction: Confidence
    estimate: Annotated[str, OneOf(("auto", "pitman", "zayatz"))] = "auto"

    @property
    def survives_unions(self) -> bool:
        return False  # an estimate may rise where classes grow

    def holds_in(self, table: LabelledClasses) -> np.ndarray:
        return np.full(len(table.sizes), self._estimated(table) <= float(self.asked))

    def _estimated(self, table: LabelledClasses) -> float:
        sizes, times = np.unique(table.sizes, return_counts=True)
        counted = tuple(zip(sizes.tolist(), times.tolist()))
        return _estimate(counted, float(Fraction(self.sampling_fraction)), self.estimate)

    def describe(self) -> str:
        return (
            f"by estimate ({self.estimate}), at most {readable(self.asked)} of the population is unique in it"
        )

    def _refusal(self, whole: LabelledClasses, context: ValueContext) -> str:
        best = self._estimated(whole)
        return (
            f"a population uniqueness of {readable(self.asked)} is impossible: with all records alike the "
            f"estimate is {best:.3g}, so share must be at least that"
        )


@lru_cache(maxsize=4096)
def _estimate(counted: tuple[tuple[int, int], ...], fraction: float, estimate: str) -> float:
    """The estimate for so many classes of each size: fitting takes a moment, and tables recur in a search."""
    sizes = np.repeat([size for size, _ in counted], [times for _, times in counted])
    return estimated_uniqueness(sizes, fraction, estimate)
