"""Whether records can be published alike for what they are priced at: rules, each with the lemma behind it.

Prices and costs are whole numbers of units (see `costs`). A group is a set of records that a release may
publish alike. Its *excess* is the sum of its prices minus its size times the cost of a record. Every rule is
asked about some supports, sets of records that may contain a group, each with the cost of a record; it
answers with a number that is above 0 wherever a valid group within the support has an excess above 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np


class Refused(Exception):
    """The proof does not prove what it says."""


@dataclass(frozen=True, eq=False)
class Supports:
    """Some sets of records with the cost of publishing a record as what covers all of its set.

    nodes   sets by columns that are settled so far: a node of each one's tree
    cost    per set
    first   per set: where its units begin; a unit is a number of records that are alike and have one price
    owner   per unit: its set
    unit    per unit: its number; within a set, the dearest comes first
    price, copies, label  per unit: its price, how many records it has, and their sensitive value
    """

    nodes: np.ndarray
    cost: np.ndarray
    first: np.ndarray
    owner: np.ndarray
    unit: np.ndarray
    price: np.ndarray
    copies: np.ndarray
    label: np.ndarray

    def chosen(self, kept: np.ndarray) -> Supports:
        """Those of the sets that are kept."""
        units = kept[self.owner]
        owner = (np.cumsum(kept) - 1)[self.owner[units]]
        first = np.searchsorted(owner, np.arange(int(kept.sum())))
        of_units = (values[units] for values in (self.unit, self.price, self.copies, self.label))
        return Supports(self.nodes[kept], self.cost[kept], first, owner, *of_units)


class Rule(Protocol):
    """A promise about every class of a release, as far as prices may make use of it."""

    def excess(self, supports: Supports) -> np.ndarray:
        """Per set a number; not above 0 only where no valid group in it has an excess above 0."""
        ...


class Size(NamedTuple):
    """At least k records. The excess is exact.

    **Lemma 1.** The greatest excess of k or more records of a set is that of all records priced above the
    cost together with, where these are fewer than k, the dearest others up to k. *Proof.* A record adds its
    price minus the cost, which is above 0 for the former alone; and any k records add at most what the k
    dearest add.
    """

    k: int

    def excess(self, supports: Supports) -> np.ndarray:
        gain = supports.price - supports.cost[supports.owner]
        wanted = np.clip(
            self.k - _before(supports.first, supports.owner, supports.copies), 0, supports.copies
        )
        return np.add.reduceat(np.where(gain > 0, supports.copies, wanted) * gain, supports.first)


class Case(NamedTuple):
    """Groups of at least `size` records, of which at most `cap` have the same limited value."""

    cap: int
    size: int


class Capped(NamedTuple):
    """At least k records that satisfy one of some cases. Values below 0 are not limited.

    **Lemma 2.** If the `size` dearest records of a set, at most `cap` of each limited value, have an excess
    of 0 or less, so has every group of the case. *Proof.* The `size` dearest records of such a group have no
    more, so the cheapest of them is priced no higher than the cost; and no other record of the group is
    dearer than that one.
    """

    cases: Sequence[Case]

    def excess(self, supports: Supports) -> np.ndarray:
        order = np.lexsort(
            (supports.unit, supports.label, supports.owner)
        )  # stable: the dearest of a value first
        label, owner, copies = supports.label[order], supports.owner[order], supports.copies[order]
        new = np.append(True, (label[1:] != label[:-1]) | (owner[1:] != owner[:-1]))
        earlier = np.empty_like(copies)
        earlier[order] = _before(np.flatnonzero(new), np.cumsum(new) - 1, copies)
        worst = np.full(len(supports.cost), -1, dtype=np.int64)
        for cap, size in self.cases:
            room = np.where(supports.label < 0, supports.copies, np.clip(cap - earlier, 0, supports.copies))
            taken = np.clip(size - _before(supports.first, supports.owner, room), 0, room)
            enough = np.add.reduceat(taken, supports.first) == size
            gain = taken * (supports.price - supports.cost[supports.owner])
            worst = np.maximum(worst, np.where(enough, np.add.reduceat(gain, supports.first), -1))
        return worst


def share_cases(share: Fraction, k: int) -> list[Case]:
    """The cases of: each limited value makes up at most a share of k or more records.

    **Lemma 3.** Let the share be a / b in lowest terms, m1 = a * ceil(k / b), and m2 = ceil(share * k). It is
    enough to look at the cases of cap m and size max(k, ceil(m / share)) for m from floor(share * k) to m1 +
    m2 - 1. *Proof.* A valid group is one of the case of m = the greatest count of a limited value, or
    floor(share * k) if that is more. If m >= m1 + m2, it has s >= m / share records, c of a value. As min(c,
    m1) >= c * m1 / m, the sum of min(c, m1) over all values, all of c for those without a limit, is at least
    s * m1 / m >= m1 / share, a whole number, K1 >= k. Likewise the sum of min(c, m - m1) is at least K2 =
    ceil((m - m1) / share) >= k, and K1 + K2 = ceil(m / share) <= s. So some s1 from K1 to s - K2 is at most
    the former sum and at least s minus the latter: s1 records can be chosen with at most m1 of a value that
    leave at most m - m1 of each. Both parts are of cases with lower m. If no group of those has an excess
    above 0, neither has the whole, by induction.
    """
    most = share.numerator * -(-k // share.denominator) + math.ceil(share * k)
    caps = range(math.floor(share * k), max(most, math.floor(share * k) + 1))
    return [Case(cap, max(k, math.ceil(cap / share))) for cap in caps]


def entropy_cases(least: Fraction, n_values: int, k: int) -> list[Case]:
    """The cases of: the entropy of the values of k or more records is at least log(least).

    **Lemma 4.** Where c of s records have one value, the entropy is highest if the others are spread evenly
    over all other values; so c is at most the greatest number for which that entropy is log(least) or more.
    Groups of six times k, or of six times `least`, and more are one case, of any records of that number. Of
    sizes with no higher cap than a smaller one, the case of that one is enough.
    """
    beyond, cases = 6 * max(k, math.ceil(least)), list[Case]()
    for size in range(k, beyond):
        cap = next((c for c in range(size, 0, -1) if _reaches(c, size, n_values, least)), 0)
        if cap > max((case.cap for case in cases), default=0):
            cases.append(Case(cap, size))
    return [*cases, Case(beyond, beyond)]


def _reaches(alike: int, size: int, n_values: int, least: Fraction) -> bool:
    """Whether exp(entropy) can be at least `least`, in whole numbers: s^s >= least^s * product of c^c."""
    if n_values == 1:
        return alike == size and least <= 1
    each, more = divmod(size - alike, n_values - 1)
    product = alike**alike * (each**each) ** (n_values - 1 - more) * ((each + 1) ** (each + 1)) ** more
    return size**size * least.denominator**size >= least.numerator**size * product


class Distinct(NamedTuple):
    """At least k records with at least l different values. The excess is exact.

    **Lemma 5.** Take the dearest record of each value, and of these the l dearest: the leaders. A greatest
    excess is that of the leaders, with all other records priced above the cost, and the dearest others up to
    k. *Proof.* Take a valid group of the greatest excess that lacks a leader. If it has another record of
    that leader's value, exchange that for the leader. Else one of its l values or more is that of no leader:
    exchange its dearest record of this value for the leader. Both times l values remain, nothing is lost, and
    there is one more leader. So some best group has all leaders, and the rest is Lemma 1.
    """

    least: int
    k: int

    def excess(self, supports: Supports) -> np.ndarray:
        n = len(supports.cost)
        key = supports.owner * (int(supports.label.max(initial=0)) + 1) + supports.label
        leads = np.zeros(len(key), dtype=np.int64)
        leads[np.unique(key, return_index=True)[1]] = 1  # the first of its value is the dearest
        leads *= _before(supports.first, supports.owner, leads) < self.least
        gain, rest = supports.price - supports.cost[supports.owner], supports.copies - leads
        wanted = np.clip(self.k - self.least - _before(supports.first, supports.owner, rest), 0, rest)
        taken = leads + np.where(gain > 0, rest, wanted)
        enough = np.bincount(supports.owner, leads, n) == self.least
        return np.where(enough, np.add.reduceat(taken * gain, supports.first), -1)


@dataclass(frozen=True, eq=False)
class Close:
    """The shares of values in a group of at least `size` records are within t of those in the table, in all.

    **Lemma 6.** Let u be a number >= 0 for each value, and let a record of value v be charged t * max(u) +
    sum(q * u) - u_v besides its price, where q are the shares in the table. The charges of a valid group add
    up to 0 or more. *Proof.* With shares p in the group, sum((p - q) * u) <= max(u) * the sum of all p - q
    above 0, which is at most t. So Lemma 2 without caps, on prices with charges rounded up, shows that no
    valid group has an excess above 0. And a group needs records of each value: s records, where n_v of the
    set have value v, lack at least the sum of q_v * s - n_v where that is above 0, which must not be above t
    * s; per record this grows with s.

    charges  u by closed record (a tuple of nodes); for others, and for sets that are not settled in all
             columns, 0
    """

    t: Fraction
    overall: np.ndarray
    size: int
    charges: Mapping[tuple[int, ...], np.ndarray]

    def excess(self, supports: Supports) -> np.ndarray:
        n, n_values, total = len(supports.cost), len(self.overall), int(self.overall.sum())
        having = np.bincount(supports.owner * n_values + supports.label, supports.copies, n * n_values)
        having = having.astype(np.int64).reshape(n, n_values)
        lacking = np.maximum(self.overall * self.size - having * total, 0).sum(axis=1)
        possible = lacking * self.t.denominator <= self.t.numerator * self.size * total
        possible &= having.sum(axis=1) >= self.size
        excess = np.where(possible, Size(self.size).excess(supports), -1)
        for number in np.flatnonzero(excess > 0).tolist():
            charge = self.charges.get(tuple(supports.nodes[number].tolist()))
            if charge is None:
                continue
            own = slice(*np.searchsorted(supports.owner, (number, number + 1)))
            price = supports.price[own] + self._extra(charge)[supports.label[own]]
            order = np.argsort(-price, kind="stable")
            copies, gain = supports.copies[own][order], price[order] - supports.cost[number]
            taken = np.clip(self.size - (np.cumsum(copies) - copies), 0, copies)
            excess[number] = int((taken * gain).sum())
        return excess

    def _extra(self, charge: np.ndarray) -> np.ndarray:
        total = int(self.overall.sum())
        u = [max(int(x), 0) for x in charge]
        shared = self.t * max(u) + Fraction(sum(x * int(q) for x, q in zip(u, self.overall)), total)
        return np.array([math.ceil(shared - x) for x in u], dtype=np.int64)


def least_close_size(overall: np.ndarray, t: Fraction, k: int) -> int:
    """The least size, k or more, of a group that whole numbers of records can bring within t of the table.

    **Lemma 7.** Records above the shares q_v * s are fewest if each value has floor(q_v * s), and those with
    the greatest rests one more.
    """
    total = int(overall.sum())
    for size in range(k, total):
        parts = [divmod(int(n) * size, total) for n in overall]
        missing = size - sum(whole for whole, _ in parts)
        above = sum(total - rest for rest in sorted((rest for _, rest in parts), reverse=True)[:missing])
        if above <= t * size * total:
            return size
    return max(total, k)


def _before(first: np.ndarray, owner: np.ndarray, amount: np.ndarray) -> np.ndarray:
    """For each unit the sum of the amounts of those that come before it in its set."""
    before = np.cumsum(amount) - amount
    return before - before[first][owner]
