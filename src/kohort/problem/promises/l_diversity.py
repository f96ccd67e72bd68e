"""l-diversity: in no class is a sensitive value too likely (Machanavajjhala et al., 2006).

The default kind is that of Wong et al. (2006) and of Kenig and Tassa, Definition 8: the number of records
over that of the most frequent value.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np

from kohort.errors import InputError
from kohort.problem.promises.counts import ClassCounts
from kohort.problem.promises.exact import (
    Column,
    Exact,
    Number,
    OneOf,
    Whole,
    at_most,
    largest_ratio,
    product_at_least_one,
    readable,
    rounded_down,
    rounded_up,
)
from kohort.problem.promises.promise import NO_CONTEXT, Model, TallyRule, ValueContext

CLOSE = 1e-9
"""Entropies nearer than this to the bound are compared without floating point."""
_AT_LEAST_ONE = Exact("a number >= 1", lambda number: number >= 1)
_ABOVE_ZERO = Exact("a number > 0", lambda number: number > 0)


@dataclass(frozen=True)
class LDiversity(Model):
    """Every class has at least l well-represented values of a sensitive attribute.

    kind : what well-represented means, for a class of n records with counts r1 >= r2 >= ... >= rm
        frequency : n / r1 >= l
        distinct : m >= l
        entropy : the entropy of the values is at least log(l); the measure is exp(entropy)
        recursive : r1 < c * (rl + ... + rm); the measure is the largest r1 / (rl + ... + rm), infinite
            if a class has fewer than l values, and the rule holds if it lies below c
    c : for kind='recursive' only

    >>> LDiversity("diagnosis", 3).describe()
    "in every class the most frequent value of 'diagnosis' makes up at most 1/3"
    """

    name = "l-diversity"
    spec_key = "diversity"
    stops = "classes in which everybody, or nearly everybody, has the same sensitive value"
    leaves = "values that mean the same, and rare values that are frequent in a class"
    typical = "l: 3"
    attribute: Column
    l: Number  # noqa: E741 (the name it has in every paper)
    kind: Annotated[str, OneOf(("frequency", "distinct", "entropy", "recursive"))] = "frequency"
    c: Number | None = None

    def check(self) -> None:
        recursive = self.kind == "recursive"
        read_l = Whole(2) if recursive else _AT_LEAST_ONE
        object.__setattr__(self, "l", Fraction(read_l.read("LDiversity", "l", self.l)))
        if recursive:
            object.__setattr__(self, "c", _ABOVE_ZERO.read("LDiversity", "c", self.c))
        elif self.c is not None:
            raise InputError("The 'c' parameter of LDiversity is for kind='recursive' only. Leave it out.")

    @property
    def asked(self) -> Fraction:
        return Fraction(self.l if self.c is None else self.c)

    @property
    def exact_l(self) -> Fraction:
        return Fraction(self.l)

    @property
    def survives_unions_of_people(self) -> bool:
        return self.kind == "distinct"

    @property
    def of_people(self) -> Literal["having", "spread"]:
        return KINDS[self.kind].of_people

    def holds(self, counts: ClassCounts, context: ValueContext = NO_CONTEXT) -> np.ndarray:
        return KINDS[self.kind].holds(self, counts)

    def _gaps(self, counts: ClassCounts, context: ValueContext) -> tuple[np.ndarray, float]:
        return KINDS[self.kind].gaps(self, counts)

    def tally_rule(self) -> TallyRule | None:
        return KINDS[self.kind].tally_rule(float(self.exact_l))

    def describe(self) -> str:
        return KINDS[self.kind].describe(self)

    def describe_for_people(self) -> str:
        return KINDS[self.kind].describe_for_people(self) or super().describe_for_people()

    def _refusal(self, whole: ClassCounts, context: ValueContext) -> str:
        return KINDS[self.kind].refusal(self, whole)


class Kind(ABC):
    """One meaning of 'well-represented'; `reached` is what a class has of that of which l is asked."""

    of_people: Literal["having", "spread"] = "having"

    @abstractmethod
    def holds(self, model: LDiversity, counts: ClassCounts) -> np.ndarray: ...

    def gaps(self, model: LDiversity, counts: ClassCounts) -> tuple[np.ndarray, float]:
        l = float(model.exact_l)  # noqa: E741
        return l - self.reached(counts), l - 1

    def reached(self, counts: ClassCounts) -> np.ndarray:
        raise NotImplementedError

    def tally_rule(self, l: float) -> TallyRule | None:  # noqa: E741
        return None

    @abstractmethod
    def describe(self, model: LDiversity) -> str: ...

    def describe_for_people(self, model: LDiversity) -> str:
        """The promise in words where people are counted; empty: as it is, with everybody spread evenly."""
        return ""

    @abstractmethod
    def refusal(self, model: LDiversity, whole: ClassCounts) -> str: ...


class Frequency(Kind):
    """No value makes up more than 1 / l of a class."""

    def holds(self, model: LDiversity, counts: ClassCounts) -> np.ndarray:
        return at_most(counts.largest, model.exact_l.numerator, counts.sizes, model.exact_l.denominator)

    def reached(self, counts: ClassCounts) -> np.ndarray:
        return counts.sizes / counts.largest

    def tally_rule(self, l: float) -> TallyRule:  # noqa: E741
        return TallyRule("most", 1 / l)

    def describe(self, model: LDiversity) -> str:
        share = readable(1 / model.exact_l)
        return f"in every class the most frequent value of {model.attribute!r} makes up at most {share}"

    def describe_for_people(self, model: LDiversity) -> str:
        share = readable(1 / model.exact_l)
        return f"in every class at most {share} of the people have the same value of {model.attribute!r}"

    def refusal(self, model: LDiversity, whole: ClassCounts) -> str:
        share = largest_ratio(whole.largest, whole.sizes)
        return (
            f"l = {readable(model.exact_l)} is impossible: the most frequent value of {model.attribute!r} "
            f"makes up {rounded_up(share)} of all records, so l can be at most {rounded_down(1 / share)}"
        )


class Distinct(Kind):
    """Every class has at least l different values."""

    def holds(self, model: LDiversity, counts: ClassCounts) -> np.ndarray:
        return counts.distinct >= math.ceil(model.exact_l)

    def gaps(self, model: LDiversity, counts: ClassCounts) -> tuple[np.ndarray, float]:
        l = math.ceil(model.exact_l)  # noqa: E741
        return (l - counts.distinct).astype(float), l - 1

    def tally_rule(self, l: float) -> TallyRule:  # noqa: E741
        return TallyRule("distinct", l)

    def describe(self, model: LDiversity) -> str:
        return f"every class has at least {math.ceil(model.exact_l)} different values of {model.attribute!r}"

    describe_for_people = describe

    def refusal(self, model: LDiversity, whole: ClassCounts) -> str:
        best = int(whole.distinct.min())
        return (
            f"l = {readable(model.exact_l)} is impossible: {model.attribute!r} has {best} different values "
            f"in the whole table, so l can be at most {best}"
        )


class Entropy(Kind):
    """The entropy of the values in every class is at least log(l)."""

    of_people = "spread"

    def holds(self, model: LDiversity, counts: ClassCounts) -> np.ndarray:
        log_l = math.log(model.exact_l.numerator) - math.log(model.exact_l.denominator)
        margin = _entropies(counts) - log_l
        holds = margin > 0
        decided: dict[tuple[int, ...], bool] = {}
        for i in np.flatnonzero(np.abs(margin) < CLOSE):
            cells = _lowest_terms(counts.count[counts.starts[i] :][: counts.distinct[i]])
            if cells not in decided:
                decided[cells] = _entropy_reaches(cells, model.exact_l)
            holds[i] = decided[cells]
        return holds

    def reached(self, counts: ClassCounts) -> np.ndarray:
        return np.exp(_entropies(counts))

    def tally_rule(self, l: float) -> TallyRule:  # noqa: E741
        return TallyRule("entropy", math.log(l))

    def describe(self, model: LDiversity) -> str:
        bound = f"log({readable(model.exact_l)})"
        return f"in every class the entropy of {model.attribute!r} is at least {bound}"

    def refusal(self, model: LDiversity, whole: ClassCounts) -> str:
        best = rounded_down(Fraction(math.exp(_entropies(whole).min())))
        return (
            f"l = {readable(model.exact_l)} is impossible: with the entropy of {model.attribute!r} in the "
            f"whole table, l can be at most {best}"
        )


def _entropies(counts: ClassCounts) -> np.ndarray:
    """The entropy of each class: log n - sum of (c log c) / n."""
    count, sizes = counts.count.astype(float), counts.sizes.astype(float)
    weighted = np.add.reduceat(count * np.log(count), counts.starts)
    return np.log(sizes) - weighted / sizes


def _lowest_terms(count: np.ndarray) -> tuple[int, ...]:
    """The counts of a class in order, divided by the greatest number that divides all of them."""
    cells = sorted(count.tolist())
    shared = math.gcd(*cells)
    return tuple(cell // shared for cell in cells)


def _entropy_reaches(cells: Sequence[int], l: Fraction) -> bool:  # noqa: E741
    """Whether the entropy is at least log(l): n^n >= l^n * product of c^c."""
    n = sum(cells)
    values = [(count, -count * times) for count, times in Counter(cells).items()]
    return product_at_least_one([(n, n), (l.denominator, n), (l.numerator, -n), *values])


class Recursive(Kind):
    """The most frequent value is not too frequent against the rarer ones: recursive (c, l)-diversity."""

    of_people = "spread"

    def holds(self, model: LDiversity, counts: ClassCounts) -> np.ndarray:
        tails = _tails(counts, int(model.exact_l))
        return ~at_most(tails, model.asked.numerator, counts.largest, model.asked.denominator)

    def gaps(self, model: LDiversity, counts: ClassCounts) -> tuple[np.ndarray, float]:
        tails = _tails(counts, int(model.exact_l))
        return (1 - float(model.asked) * tails / counts.largest).astype(float), 1.0

    def describe(self, model: LDiversity) -> str:
        return (
            f"in every class the most frequent value of {model.attribute!r} occurs less than "
            f"{readable(model.asked)} times as often as all values but the {int(model.exact_l) - 1} most "
            "frequent together"
        )

    def refusal(self, model: LDiversity, whole: ClassCounts) -> str:
        tails = _tails(whole, int(model.exact_l))
        if not tails.all():
            return Distinct().refusal(model, whole)
        return (
            f"c = {readable(model.asked)} with l = {readable(model.exact_l)} is impossible: with the values "
            f"of {model.attribute!r} in the whole table, c must be above "
            f"{rounded_up(largest_ratio(whole.largest, tails))}"
        )


def _tails(counts: ClassCounts, l: int) -> np.ndarray:  # noqa: E741
    """The records of each class without those of its l - 1 most frequent values."""
    ranks = counts.count
    if ranks.dtype == object:  # Python's integers
        ranks = np.unique(ranks, return_inverse=True)[1]
    order = np.lexsort((-ranks, counts.class_of))
    rank = np.arange(len(order)) - np.repeat(counts.starts, counts.distinct)
    in_tail = np.where(rank >= l - 1, counts.count[order], 0)
    return np.add.reduceat(in_tail, counts.starts)


KINDS: dict[str, Kind] = {
    "frequency": Frequency(),
    "distinct": Distinct(),
    "entropy": Entropy(),
    "recursive": Recursive(),
}
