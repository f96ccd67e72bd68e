"""(epsilon, delta)-differential privacy by sampling and a fixed recoding (SafePub: Bild and others, 2018).

Li, Qardaji and Su (2012), as SafePub uses it: draw every record with the
chance beta, recode in a way that does not depend on the data, and leave out classes of fewer than k
records. For epsilon >= -ln(1 - beta) this is (epsilon, delta)-differentially private with

    delta = max over n >= n_m of P(X > gamma n),  X binomial with n trials and chance beta,
    gamma = (e^epsilon - 1 + beta) / e^epsilon,   n_m = ceil(k / gamma - 1).

Decimals of 50 digits: their error is far below any digit that is shown or compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Annotated, Any

import numpy as np

from kohort.errors import InputError
from kohort.parameters import Within, fits, shown
from kohort.problem.promises.counts import ClassCounts
from kohort.problem.promises.exact import Exact, Number, Read, readable
from kohort.problem.promises.promise import NO_CONTEXT, Model, ValueContext

_EPSILON = Exact("a number from 0.001 to 5", lambda number: Fraction(1, 1000) <= number <= 5)
"""Below, hardly a record is drawn, and above it is no protection; the arithmetic would take long."""


def _levels(model: str, name: str, levels: Any) -> tuple[tuple[str, int], ...]:
    """Levels by column as pairs, sorted."""
    try:
        by_column = {} if isinstance(levels, str) else dict(levels)
        if isinstance(levels, str) or not fits(by_column, Mapping[str, Annotated[int, Within(0)]]):
            raise ValueError
    except (TypeError, ValueError):
        raise InputError(
            f"The {name!r} parameter of {model} must give whole numbers by column, such as {{age: 2}}. "
            f"Got {shown(levels)}."
        ) from None
    return tuple(sorted(by_column.items()))


@dataclass(frozen=True)
class DifferentialPrivacy(Model):
    """Whether somebody is in the table changes the odds of any release by at most e^epsilon, but for delta.

    Every record is drawn with the chance 1 - e^-epsilon. Columns are published at levels of their hierarchies
    that do not depend on the data, and classes with too few of the drawn records for delta are left out.

    levels : per quasi-identifier the level at which it is published; by default half the height, rounded up

    >>> DifferentialPrivacy(1, 1e-6).k
    74
    """

    name = "differential-privacy"
    spec_key = "differential"
    by_sampling = True
    stops = "learning whether anybody is in the table, whatever else is known about them"
    leaves = "what is true of people in general; a second release of the same people adds up"
    typical = "epsilon: 1, delta: 1e-6"
    limited_by = "delta"
    attribute = ""
    epsilon: Annotated[Number, _EPSILON]
    delta: Annotated[Number, Exact("a number > 0 and < 1", lambda number: 0 < number < 1)]
    levels: Annotated[Any, Read(_levels)] = None

    @property
    def k(self) -> int:
        """The least number of drawn records that a published class must have."""
        return least_class(Fraction(self.epsilon), self.asked)

    @property
    def chance(self) -> float:
        """The chance with which a record is drawn."""
        return float(sampling_rate(Fraction(self.epsilon)))

    def holds(self, counts: ClassCounts, context: ValueContext = NO_CONTEXT) -> np.ndarray:
        return counts.sizes >= self.k

    def describe(self) -> str:
        return (
            f"({readable(Fraction(self.epsilon))}, {readable(self.asked)})-differential privacy: records are "
            f"drawn with the chance {self.chance:.3g}, and every class has at least {self.k} of them"
        )

    def _refusal(self, whole_table: ClassCounts, context: ValueContext) -> str:
        n = int(whole_table.sizes.sum())
        return (
            f"delta = {readable(self.asked)} is impossible: it needs classes of {self.k} drawn records, and "
            f"the table has {n}. A table of this size attains a delta of "
            f"{float(attained_delta(n, Fraction(self.epsilon))):.2g} at best"
        )


_EXACT = Context(prec=50, Emin=-999_999, Emax=999_999)
_NEGLIGIBLE = Decimal("1e-40")  # of a sum: less than the digits that count
MOST_RECORDS = 100_000  # of a class


def sampling_rate(epsilon: Fraction) -> Decimal:
    """The chance with which a record is drawn: 1 - e^-epsilon, the largest that epsilon allows."""
    return _EXACT.subtract(Decimal(1), _EXACT.exp(-_decimal(epsilon)))


@lru_cache(maxsize=512)
def attained_delta(k: int, epsilon: Fraction) -> Decimal:
    """The delta that classes of at least k records attain, with the sampling rate that epsilon allows."""
    beta = sampling_rate(epsilon)
    power = _EXACT.exp(_decimal(epsilon))
    gamma = _EXACT.divide(power - 1 + beta, power)
    first = max(int((Decimal(k) / gamma - 1).to_integral_value("ROUND_CEILING", _EXACT)), 0)
    most, n = Decimal(0), first
    while n == first or most < _chernoff(n, beta, gamma):  # the bound falls with n, so none beyond is larger
        most = max(most, _tail(n, beta, gamma))
        n += 1
    return most


@lru_cache(maxsize=64)
def least_class(epsilon: Fraction, delta: Fraction) -> int:
    """The least k whose classes attain delta: found by doubling, then by halving, as delta falls with k."""
    wanted = _decimal(delta)
    high = 1
    while attained_delta(high, epsilon) > wanted:
        high *= 2
        if high > MOST_RECORDS:
            return high
    low = high // 2  # attains too little
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if attained_delta(middle, epsilon) > wanted else (low, middle)
    return high


def _chernoff(n: int, beta: Decimal, gamma: Decimal) -> Decimal:
    """A bound on the tail that falls with n: e to the power -n times the divergence of gamma from beta."""
    rate = gamma * _EXACT.ln(gamma / beta) + (1 - gamma) * _EXACT.ln((1 - gamma) / (1 - beta))
    return _EXACT.exp(-Decimal(n) * rate)


@lru_cache(maxsize=65536)
def _tail(n: int, beta: Decimal, gamma: Decimal) -> Decimal:
    """P(X > gamma n) of a binomial with n trials and chance beta."""
    first = int((gamma * n).to_integral_value("ROUND_FLOOR", _EXACT)) + 1
    if first > n:
        return Decimal(0)
    other = 1 - beta
    term = _EXACT.multiply(
        Decimal(comb(n, first)), _EXACT.multiply(_EXACT.power(beta, first), _EXACT.power(other, n - first))
    )
    total, odds = term, _EXACT.divide(beta, other)
    for j in range(first, n):
        term = _EXACT.multiply(term, _EXACT.divide(odds * (n - j), Decimal(j + 1)))
        total = _EXACT.add(total, term)
        if term < total * _NEGLIGIBLE:
            break
    return total


def _decimal(number: Fraction) -> Decimal:
    return _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
