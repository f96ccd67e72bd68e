"""Promises about the sizes of classes: k-anonymity, and a limit on the risk that somebody is found.

k-anonymity is that of Samarati and Sweeney (1998): nobody stands out from fewer than k records. A limit on
the risk is stated by those who must approve a release: the prosecutor and journalist risk of El Emam (2013),
highest or on average; regulators state limits such as 0.09 (European Medicines Agency, Policy 0070) or 0.05.

The risk against a population is estimated from a sample: a class with f records of it has F people in the
population, where F follows the negative binomial distribution with f successes and the sampling fraction p
(Benedetti and Franconi, 1998). The risk is the expectation of 1 / F.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, log
from typing import Annotated

import numpy as np

from kohort.errors import InputError, percent
from kohort.problem.promises.counts import ClassCounts
from kohort.problem.promises.exact import AtLeastOne, Exact, Number, OneOf, readable
from kohort.problem.promises.promise import NO_CONTEXT, Model, ValueContext


@dataclass(frozen=True)
class KAnonymity(Model):
    """Every class has at least k records.

    >>> KAnonymity(3).holds(ClassCounts.of_sizes([2, 3, 4]))
    array([False,  True,  True])
    """

    name = "k-anonymity"
    spec_key = "k"
    only_counts = True
    stops = "finding the record of a person by what one knows about them"
    leaves = "learning what all records of a class share"
    typical = "k: 5 inside an office, 10 to 20 for the public"
    attribute = ""
    k: AtLeastOne

    @property
    def needed_k(self) -> int:
        return self.k

    def holds(self, counts: ClassCounts, context: ValueContext = NO_CONTEXT) -> np.ndarray:
        return counts.sizes >= self.k

    def _gaps(self, counts: ClassCounts, context: ValueContext) -> tuple[np.ndarray, float]:
        return (self.k - counts.sizes).astype(float), self.k - 1

    def describe(self) -> str:
        return f"every class has at least {_records(self.k)}"

    def describe_for_people(self) -> str:
        return f"every class has at least {self.k} {'person' if self.k == 1 else 'people'}"

    def _refusal(self, whole_table: ClassCounts, context: ValueContext) -> str:
        n = int(whole_table.sizes.sum())
        return f"k = {self.k} is impossible: the table has {_records(n)}, so k can be at most {n}"


def _records(n: int) -> str:
    return f"{n} record" if n == 1 else f"{n} records"


_RISK = Exact("above 0 and at most 1", lambda number: 0 < number <= 1)


@dataclass(frozen=True)
class RiskLimit(Model):
    """The chance that a person is found is below a limit: for everybody, for most, or on average.

    limit     a number above 0, at most 1
    of        maximum: of the person most at risk; average: over all records
    against   sample: found among the records of the table, 1 over the size of the class; population: found
              among the people that the table is a sample of, estimated from the `sampling_fraction`
    strict    whether the risk must be below the limit; otherwise it may equal it
    share     the share of all records that may have a higher risk, instead of none of them

    >>> RiskLimit(0.09).least_class, RiskLimit("1/11", strict=False).least_class
    (12, 11)
    """

    name = "risk-limit"
    spec_key = "risk"
    only_counts = True
    stops = "finding the record of a person more often than a stated limit allows"
    leaves = "learning what all records of a class share"
    typical = "limit: 0.09"
    attribute = ""
    limit: Annotated[Number, _RISK]
    of: Annotated[str, OneOf(("maximum", "average"))] = "maximum"
    against: Annotated[str, OneOf(("sample", "population"))] = "sample"
    strict: bool = True
    sampling_fraction: Annotated[Number | None, _RISK] = None
    share: Annotated[Number | None, Exact("above 0 and below 1", lambda x: 0 < x < 1)] = None

    def check(self) -> None:
        if self.against == "population" and self.sampling_fraction is None:
            raise InputError(
                "A risk limit against the population needs the 'sampling_fraction': the share of the "
                "population that the table holds."
            )
        if self.against == "sample" and self.sampling_fraction is not None:
            raise InputError(
                "'sampling_fraction' is for a risk limit against the population: leave it out, or say "
                "against: population."
            )
        if self.share is not None and self.of == "average":
            raise InputError(
                "The 'share' of a risk limit is the share of records whose own risk may be higher, which an "
                "average does not look at: leave out share, or say of: maximum."
            )

    @property
    def highest(self) -> Fraction:
        """The limit itself."""
        return Fraction(self.limit)

    @property
    def asked(self) -> Fraction:
        return self.highest if self.share is None else Fraction(self.share)

    @property
    def of_whole_table(self) -> bool:
        """Whether it is a promise about all classes together, not about each."""
        return self.of == "average" or self.share is not None

    compares_with_whole_table = of_whole_table

    @property
    def least_class(self) -> int:
        """The smallest class whose own risk is within the limit."""
        if self.against == "population":
            return _least_size(float(self.highest), self._sampled, strict=self.strict)
        return floor(1 / self.highest) + 1 if self.strict else ceil(1 / self.highest)

    @property
    def needed_k(self) -> int:
        return 1 if self.of_whole_table else self.least_class

    @property
    def enough_k(self) -> int | None:
        return self.least_class if self.of_whole_table else None

    def why_this_k(self) -> str:
        """A sentence that says which k the limit needs, and why one less is not enough."""
        k, which = self.least_class, "average" if self.of == "average" else "highest"
        what = f"{'below' if self.strict else 'of at most'} {readable(self.highest)}"
        of = "the population" if self.against == "population" else "the table"
        whom = "" if self.share is None else f" for all but {percent(float(self.asked))} of the records"
        at = f"with {k} to a class it is {expected_risk(k, self._sampled):.4f}"
        less = f"; with {k - 1} it would be {expected_risk(k - 1, self._sampled):.4f}" if k > 1 else ""
        needs = f"is kept by k = {k}, and maybe by less" if self.of_whole_table else f"needs k = {k}"
        return f"A {which} risk {what} against {of}{whom} {needs}: {at}{less}."

    def holds(self, counts: ClassCounts, context: ValueContext = NO_CONTEXT) -> np.ndarray:
        """Per class whether its risk is within the limit; of a table that is, all classes are valid."""
        valid = np.asarray(counts.sizes >= self.least_class)
        if self.of_whole_table and counts.n_classes and self.within(self._of_all(counts)):
            return np.ones(counts.n_classes, dtype=bool)
        return valid

    def within(self, risk: Fraction | float) -> bool:
        """Whether a risk, or the share of records that are above the limit, is within what is asked."""
        return risk < self.asked if self.strict and self.share is None else risk <= self.asked

    def _of_all(self, counts: ClassCounts) -> Fraction | float:
        """The average risk, or the share of records that are above the limit."""
        n = int(counts.sizes.sum())
        if self.share is not None:
            return Fraction(int(counts.sizes[counts.sizes < self.least_class].sum()), n)
        if self.against == "sample":  # each class has as many records as its risk has parts
            return Fraction(counts.n_classes, n)
        return float((self._risks(counts.sizes) * counts.sizes).sum() / n)

    def _risks(self, sizes: np.ndarray) -> np.ndarray:
        """The estimated risk of each class against the population: the expectation of 1 / F."""
        distinct, place = np.unique(sizes, return_inverse=True)
        return np.array([expected_risk(int(size), self._sampled) for size in distinct])[place]

    @property
    def _sampled(self) -> float:
        return float(Fraction(self.sampling_fraction or 1))

    def _gaps(self, counts: ClassCounts, context: ValueContext) -> tuple[np.ndarray, float]:
        if self.of_whole_table:
            return super()._gaps(counts, context)
        return (self.least_class - counts.sizes).astype(float), self.least_class - 1

    def describe(self) -> str:
        return self._describe("a record")

    def describe_for_people(self) -> str:
        return self._describe("a person")

    def _describe(self, whom: str) -> str:
        among = "in the table" if self.against == "sample" else "in the population"
        how = "below" if self.strict else "at most"
        if self.share is not None:
            others = "records" if whom == "a record" else "people"
            most = f"for at least {percent(1 - float(self.asked))} of {others}"
            return f"{most} the chance to be found {among} is {how} {readable(self.highest)}"
        which = "on average the chance" if self.of == "average" else "the chance"
        return f"{which} that {whom} is found {among} is {how} {readable(self.asked)}"

    def _refusal(self, whole_table: ClassCounts, context: ValueContext) -> str:
        n = int(whole_table.sizes.sum())
        return (
            f"A risk limit of {readable(self.highest)} is impossible: it needs classes of {self.least_class} "
            f"or more, and the table has {n} in all"
        )


_ENOUGH = 1e-16  # terms below this part of the sum do not change it


def _least_size(limit: float, fraction: float, *, strict: bool) -> int:
    """The smallest class whose expected risk is within the limit; the risk falls as classes grow."""
    low, high = 0, 1

    def fails(size: int) -> bool:
        risk = expected_risk(size, fraction)
        return risk >= limit if strict else risk > limit

    while fails(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fails(middle) else (low, middle)
    return high


@lru_cache(maxsize=4096)
def expected_risk(size: int, p: float) -> float:
    """The expectation of 1 / F for a class of this size in a sample of the share p of the population.

    It equals p times the integral of u^(f - 1) / (p + q u) over u from 0 to 1.

    By a recursion in f where it is stable (p at most a half) and f is small, else by a series whose terms
    shrink at least as fast as the powers of q f / (f + 1).
    """
    if p == 1:
        return 1 / size
    q = 1 - p
    if p <= 0.5 and size <= 200:
        risk = p / q * -log(p)
        for f in range(1, size):
            risk = p / q * (1 / f - risk)
        return risk
    term = total = 1 / size
    j = 0
    while term > _ENOUGH * total:
        j += 1
        term *= q * j / (size + j)
        total += term
    return p * total
