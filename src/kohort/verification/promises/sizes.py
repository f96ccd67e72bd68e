"""Promises about the number of records of classes: k-anonymity, risk limits, differential privacy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import comb, exp, inf, lgamma, log, sqrt

import numpy as np

from kohort.errors import InternalError, UnsupportedError
from kohort.verification.promises.promise import (
    Counts,
    Judged,
    Measure,
    Promise,
    Values,
    at_most,
    greatest_share,
)


def k_anonymity(promise: Promise, counts: Counts, values: Values) -> Judged:
    """At least k records in every class."""
    k = int(promise.number("k"))
    return Judged(k, counts.sizes >= k, lambda chosen: int(counts.sizes[chosen].min()))


def differential_privacy(promise: Promise, counts: Counts, values: Values) -> Judged:
    """The chance delta that classes of these sizes leave for a breach of epsilon is low enough."""
    epsilon, delta = promise.number("epsilon"), promise.number("delta")
    large = _enough(counts.sizes, lambda size: Fraction(failure_chance(size, epsilon)) <= delta)
    return Judged(
        delta, large, lambda chosen: float(failure_chance(int(counts.sizes[chosen].min()), epsilon))
    )


def risk_limit(promise: Promise, counts: Counts, values: Values) -> Judged:
    """The chance that somebody is found is below a limit: for everybody, for most people, or on average."""
    limit, sizes = promise.number("limit"), counts.sizes
    strict = promise.parameters.get("strict", True)
    fraction = None
    if promise.parameters.get("against", "sample") == "population":
        fraction = promise.number("sampling_fraction")

    def fine(risk: Measure) -> bool:
        bound = limit if isinstance(risk, Fraction) else float(limit)
        return risk < bound if strict else risk <= bound

    def risk_of(size: int) -> Measure:
        return Fraction(1, size) if fraction is None else expected_risk(size, float(fraction))

    within = _enough(sizes, lambda size: fine(risk_of(size)))
    if "share" in promise.parameters:
        share = promise.number("share")

        def above(chosen: np.ndarray) -> Fraction:
            return Fraction(int(sizes[chosen & ~within].sum()), int(sizes[chosen].sum()))

        return Judged(share, within | _all(sizes, above, lambda found: found <= share), above)
    if promise.parameters.get("of", "maximum") == "maximum":
        return Judged(limit, within, lambda chosen: risk_of(int(sizes[chosen].min())))

    def average(chosen: np.ndarray) -> Measure:
        if fraction is None:  # the records of a class share a risk of 1 out of as many
            return Fraction(int(chosen.sum()), int(sizes[chosen].sum()))
        size, place = np.unique(sizes[chosen], return_inverse=True)
        risks = np.array([expected_risk(int(one), float(fraction)) for one in size])[place]
        return float((risks * sizes[chosen]).sum() / int(sizes[chosen].sum()))

    return Judged(limit, within | _all(sizes, average, fine), average)


def _enough(sizes: np.ndarray, fine: Callable[[int], bool]) -> np.ndarray:
    """Per class whether its size is enough, where every size above an enough one is, too.

    Small sizes are tried first: of large ones the answer may take long.
    """
    distinct = np.unique(sizes).tolist()
    below, enough = -1, 0
    while enough < len(distinct) and not fine(distinct[enough]):
        below, enough = enough, 2 * enough + 1
    enough = min(enough, len(distinct))
    while enough - below > 1:
        middle = (below + enough) // 2
        below, enough = (below, middle) if fine(distinct[middle]) else (middle, enough)
    return sizes >= distinct[enough] if enough < len(distinct) else np.zeros(len(sizes), dtype=bool)


def _all(
    sizes: np.ndarray, found: Callable[[np.ndarray], Measure], fine: Callable[[Measure], bool]
) -> np.ndarray:
    """Of a promise about all classes together: for every class whether it is kept."""
    everything = np.ones(len(sizes), dtype=bool)
    return np.full(len(sizes), bool(len(sizes)) and fine(found(everything)))


_DIGITS = 60


@lru_cache(maxsize=4096)
def expected_risk(size: int, fraction: float) -> float:
    """The expectation of 1 / F, where the F people of a class have so many of their records in a sample.

    F is negative binomial (Benedetti and Franconi, 1998). With p the fraction, f the size and q = 1 - p, it
    is I(f) = p / q (1 / (f - 1) - I(f - 1)) with I(1) = -p log(p) / q, and p times the sum over j of
    q^j j! / (f (f + 1) ... (f + j)), which is taken where the recursion would lose digits.
    """
    p, q = fraction, 1 - fraction
    if q == 0:
        return 1 / size
    if p <= q and size <= 200:
        found = p / q * -log(p)
        for f in range(2, size + 1):
            found = p / q * (1 / (f - 1) - found)
        return found
    total, term, j = 0.0, 1 / size, 0
    while total + term > total:
        total, j = total + term, j + 1
        term *= q * j / (size + j)
    return p * total


@lru_cache(maxsize=512)
def failure_chance(size: int, epsilon: Fraction) -> Decimal:
    """The delta of (epsilon, delta)-differential privacy where every class has at least so many records.

    Records are drawn with the chance b = 1 - e^-epsilon and recoded in a way that does not look at them (Li,
    Qardaji and Su, 2012): with c = (e^epsilon - 1 + b) / e^epsilon, delta is the greatest chance, over all n
    from size / c - 1 on, that more than c n of n records are drawn.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        grows = (Decimal(epsilon.numerator) / epsilon.denominator).exp()
        drawn = 1 - 1 / grows
        share = (grows - 1 + drawn) / grows
        n = first = max(int((size / share - 1).to_integral_value(ROUND_CEILING)), 0)
        # of n records, the chance is at most exp(-n rate) (Chernoff): from some n on, none can be greater
        rate = share * (share / drawn).ln() + (1 - share) * ((1 - share) / (1 - drawn)).ln()
        greatest = Decimal(0)
        while n == first or greatest < (-n * rate).exp():
            greatest = max(greatest, _more_than(share, n, drawn))
            n += 1
        return greatest


def _more_than(share: Decimal, n: int, drawn: Decimal) -> Decimal:
    """The chance that more than a share of n records are drawn."""
    least = int((share * n).to_integral_value(ROUND_FLOOR)) + 1
    total = Decimal(0)
    term = comb(n, least) * drawn**least * (1 - drawn) ** (n - least) if least <= n else Decimal(0)
    for number in range(least, n + 1):
        total += term
        term *= drawn / (1 - drawn) * (n - number) / (number + 1)
        if term * 10**40 < total:
            break
    return total


_MOST_COMBINATIONS = 100_000


@dataclass(frozen=True, eq=False)
class AllClasses:
    """All classes of a table with their labels, and the people of a population whom they fit.

    labels     per class and quasi-identifier the number of its label
    people     per class how many it fits; None where no population is given
    elsewhere  how many people fit no class
    apart      whether nobody fits two classes
    """

    labels: np.ndarray
    sizes: np.ndarray
    people: np.ndarray | None = None
    elsewhere: int = 0
    apart: bool = True

    @property
    def fitting(self) -> np.ndarray:
        if self.people is None:
            raise InternalError("The population that a promise compares with is needed.")
        return self.people


def known_columns(promise: Promise, table: AllClasses) -> Judged:
    """The labels of a record in any few columns are those of at least k records."""
    k, known = int(promise.number("k")), int(promise.number("known"))
    columns = [column for column in table.labels.T if len(np.unique(column)) > 1]  # others tell nothing
    size = min(known, len(columns))
    if comb(len(columns), size) > _MOST_COMBINATIONS:
        raise UnsupportedError(
            f"{known} known columns of {len(columns)} are {comb(len(columns), size):,} combinations; at most "
            f"{_MOST_COMBINATIONS:,} are possible. Ask for fewer known columns."
        )
    fewest = np.full(len(table.sizes), int(table.sizes.sum()), dtype=np.int64)

    def know(alike: np.ndarray, first: int, more: int) -> None:
        """Find the fewest records in groups of classes that are `alike`, told apart by `more` columns."""
        if not more:  # who knows fewer columns tells fewer records apart
            records = np.bincount(alike, weights=table.sizes).astype(np.int64)
            np.minimum(fewest, records[alike], out=fewest)
            return
        for place in range(first, len(columns) - more + 1):
            pairs = np.column_stack([alike, columns[place]])
            know(np.unique(pairs, axis=0, return_inverse=True)[1].ravel(), place + 1, more - 1)

    know(np.zeros(len(table.sizes), dtype=np.int64), 0, size)
    return Judged(k, fewest >= k, lambda chosen: int(fewest[chosen].min()))


def k_map(promise: Promise, table: AllClasses) -> Judged:
    """Every class fits at least k people of the population."""
    k, people = int(promise.number("k")), table.fitting
    return Judged(k, people >= k, lambda chosen: int(people[chosen].min()))


def delta_presence(promise: Promise, table: AllClasses) -> Judged:
    """The chance of everybody in the population to be in the table lies between two limits.

    It is the share of the people whom a class fits that are in it, and 0 for those whom none fits.
    """
    least, most = promise.number("at_least"), promise.number("at_most")
    people, sizes = table.fitting, table.sizes
    holds = at_most(sizes, people, most) & ~(at_most(sizes, people, least) & (sizes != least * people))
    if not table.apart or (least > 0 and table.elsewhere):
        holds[:] = False

    def worst(chosen: np.ndarray) -> Measure:
        if not table.apart:
            return inf
        return greatest_share(sizes[chosen], np.maximum(people[chosen], 1))

    return Judged(most, holds, worst)


def population_uniqueness(promise: Promise, table: AllClasses) -> Judged:
    """At most a share of the population is unique in it, by an estimate from the sizes of all classes."""
    share, fraction = promise.number("share"), promise.number("sampling_fraction")
    estimate = promise.parameters.get("estimate", "auto")
    found = _unique_share(table.sizes, float(fraction), estimate) if len(table.sizes) else 0.0
    holds = np.full(len(table.sizes), Fraction(found) <= share)
    return Judged(share, holds, lambda chosen: found)


_MOST_FOR_PITMAN = 0.1
_STEPS = 60  # of a golden section: it narrows an interval to a part of 1e-12


def _unique_share(sizes: np.ndarray, fraction: float, estimate: str) -> float:
    """The estimated share of a population that is unique in it, of which a fraction is the sample."""
    n = int(sizes.sum())
    population = max(round(n / fraction), n)
    times = dict(sorted(Counter(sizes.tolist()).items()))
    if population == n:
        return times.get(1, 0) / n
    if estimate == "auto":
        estimate = "pitman" if fraction <= _MOST_FOR_PITMAN else "zayatz"
    uniques = (_pitman if estimate == "pitman" else _zayatz)(times, n, population)
    return min(uniques / population, 1.0)


def _pitman(times: dict[int, int], n: int, population: int) -> float:
    """N times the chance that N - 1 others differ from somebody, with the likeliest theta and alpha.

    The likelihood of sizes is the product of (theta + i alpha) for new classes, over that of theta + i for
    all records, times (1 - alpha) (2 - alpha) ... (size - 1 - alpha) for each class; by logarithms of gamma.
    """
    classes = sum(times.values())

    def likelihood(theta: float, alpha: float) -> float:
        joining = sum(t * (lgamma(size - alpha) - lgamma(1 - alpha)) for size, t in times.items())
        opening = (classes - 1) * log(alpha) + lgamma(theta / alpha + classes) - lgamma(theta / alpha + 1)
        return opening + joining - lgamma(theta + n) + lgamma(theta + 1)

    def likeliest(alpha: float) -> float:
        return exp(_peak(lambda x: likelihood(exp(x) - alpha, alpha), -15.0, log(n) + 15.0)) - alpha

    alpha = _peak(lambda a: likelihood(likeliest(a), a), 1e-6, 1 - 1e-6)
    theta = likeliest(alpha)
    others = lgamma(theta + alpha + population - 1) - lgamma(theta + alpha)
    return population * exp(others + lgamma(theta + 1) - lgamma(theta + population))


def _zayatz(times: dict[int, int], n: int, population: int) -> float:
    """The uniques of the sample that are expected to be unique in the population, over the fraction.

    If the population had classes of the same sizes, a class of this size would show one member in the sample
    with a hypergeometric chance; by Bayes' rule follows how likely a class that shows one has no other.
    """

    def shows_one(size: int) -> float:
        rest = population - size
        if rest < n - 1:
            return 0.0
        return size * exp(
            lgamma(rest + 1)
            - lgamma(n)
            - lgamma(rest - n + 2)
            - lgamma(population + 1)
            + lgamma(n + 1)
            + lgamma(population - n + 1)
        )

    alone = times.get(1, 0)
    if not alone:
        return 0.0
    has_no_other = alone * n / population / sum(t * shows_one(size) for size, t in times.items())
    return alone * has_no_other * population / n


def _peak(height: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one hill is highest, by golden section."""
    golden = (sqrt(5) - 1) / 2
    inner = [high - golden * (high - low), low + golden * (high - low)]
    heights = [height(x) for x in inner]
    for _ in range(_STEPS):
        if heights[0] >= heights[1]:
            high = inner[1]
            inner = [high - golden * (high - low), inner[0]]
            heights = [height(inner[0]), heights[0]]
        else:
            low = inner[0]
            inner = [inner[1], low + golden * (high - low)]
            heights = [heights[1], height(inner[1])]
    return (low + high) / 2
