"""How many records are unique: on some columns together, and on which columns most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from kohort.data.column import Column
from kohort.data.counting import count_nearly_sorted, row_keys

_MOST_COMBINATIONS = 250
_KEPT_PER_SIZE = 10
_LEAST_ORDERS = 8  # in which columns are added, to find what each contributes
_STEPS = 1_200  # after which no further order is begun
_RECORDS_OF_ORDERS = 2_000


@dataclass(frozen=True)
class Combination:
    """Some columns, and the share of records that are unique on them together."""

    columns: tuple[str, ...]
    unique_share: float


@dataclass(frozen=True)
class Combinations:
    """The combinations of quasi-identifiers that single out most people, worst first.

    Of each size only the worst are listed. `records` are the records looked at; where they are
    a sample of the table (`sampled`), the shares are too high, as more records mean more look-alikes.
    `columns` were combined, the ones with most distinct values if there are too many to combine.
    """

    worst: tuple[Combination, ...]
    columns: tuple[str, ...]
    counted: int
    records: int
    sampled: bool


def class_sizes(columns: Sequence[np.ndarray], records: int) -> np.ndarray:
    """How many records share each combination of codes."""
    if not columns or not records:
        return np.full(min(records, 1), records, dtype=np.int64)
    key = row_keys(columns)
    if int(key.max()) < 2 * records:
        counts = np.bincount(key)
        return counts[counts > 0]
    return count_nearly_sorted(key)[1]


def combine(quasi: dict[str, np.ndarray], records: int, largest: int, sample: int, seed: int) -> Combinations:
    """Count the records that are unique on each combination of up to `largest` columns."""
    rows = sampled_rows(records, sample, seed)
    looked_at = min(records, sample)
    names = _worth_combining(quasi, largest)
    codes = {name: quasi[name][rows] for name in names}

    def unique(chosen: tuple[str, ...]) -> float:
        sizes = class_sizes([codes[name] for name in chosen], looked_at)
        return share(np.count_nonzero(sizes == 1), looked_at)

    sizes = range(1, min(largest, len(names)) + 1)
    found = [Combination(chosen, unique(chosen)) for size in sizes for chosen in combinations(names, size)]
    return Combinations(_worst(found), names, len(found), looked_at, sampled=records > sample)


def sampled_rows(records: int, sample: int, seed: int) -> slice | np.ndarray:
    """All records or, where there are more than `sample`, that many of them drawn at random."""
    if records <= sample:
        return slice(None)
    return np.sort(np.random.default_rng(seed).choice(records, sample, replace=False))


def contributions(columns: dict[str, np.ndarray], records: int, seed: int) -> dict[str, float]:
    """For each column, the share of the records that it makes unique, given others.

    The mean over random orders in which somebody may learn the columns: what a column adds depends on those
    before it. The shares sum to the share of records that are unique on all columns. Counted on up to 2,000
    records, in as many orders as 1,200 steps allow, but at least 8.
    """
    rows = sampled_rows(records, _RECORDS_OF_ORDERS, seed)
    codes = {name: column[rows] for name, column in columns.items()}
    looked_at = min(records, _RECORDS_OF_ORDERS)
    classes = len(class_sizes(list(codes.values()), looked_at))
    names, added = list(columns), dict.fromkeys(columns, 0)
    rng = np.random.default_rng(seed)
    orders = steps = 0
    while columns and (orders < _LEAST_ORDERS or steps < _STEPS):
        order = [names[place] for place in rng.permutation(len(names))]
        for name, unique in _added(codes, order, looked_at, classes):
            added[name] += unique
            steps += 1
        orders += 1
    return {name: share(unique, looked_at * orders) for name, unique in added.items()}


def _added(
    codes: dict[str, np.ndarray], order: list[str], records: int, classes: int
) -> Iterator[tuple[str, int]]:
    """The columns of an order and how many records each makes unique, until nothing is left to tell apart."""
    key, unique = np.zeros(records, dtype=np.int64), 0
    for name in order:
        joined = key * (int(codes[name].max(initial=0)) + 1) + codes[name]
        key, sizes = np.unique(joined, return_inverse=True, return_counts=True)[1:]
        now = int((sizes == 1).sum())
        yield name, now - unique
        unique = now
        if len(sizes) == classes:
            return


def _worth_combining(quasi: dict[str, np.ndarray], largest: int) -> tuple[str, ...]:
    """As many columns as can be combined in reasonable time, those with most distinct values."""
    by_distinct = sorted(quasi, key=lambda name: -int(quasi[name].max(initial=0)))
    n = len(by_distinct)
    while n > 1 and sum(comb(n, size) for size in range(1, largest + 1)) > _MOST_COMBINATIONS:
        n -= 1
    chosen = set(by_distinct[:n])
    return tuple(name for name in quasi if name in chosen)


def _worst(counted: list[Combination]) -> tuple[Combination, ...]:
    kept: Counter[int] = Counter()
    worst = []
    for combination in sorted(counted, key=lambda c: (-c.unique_share, len(c.columns))):
        kept[len(combination.columns)] += 1
        if kept[len(combination.columns)] <= _KEPT_PER_SIZE:
            worst.append(combination)
    return tuple(worst)


def share(part: int | np.integer, whole: int) -> float:
    return float(part / whole) if whole else 0.0


# What many quasi-identifiers cost, and what each of the costliest would save: an estimate in a second.
#
# Classes are halved at the median of their widest column until they would fall below k (as in Mondrian,
# LeFevre et al., 2006). The search that makes the release does better, but a column that costs much here
# costs much there.
_K = 10
_LOOKED_AT = 2_000
_NAMED = 5


@dataclass(frozen=True)
class Saving:
    """A quasi-identifier, and the estimated loss and the share of unique records without it."""

    column: str
    loss: float
    unique_share: float


@dataclass(frozen=True)
class Savings:
    """The estimated loss with all quasi-identifiers at `k`, and without each of the costliest."""

    k: int
    loss: float
    unique_share: float
    without: tuple[Saving, ...]

    def sentence(self, quasi_identifiers: int) -> str:
        """A warning with the figures: what so many quasi-identifiers cost, and what to do."""
        figures = "; ".join(
            f"without {saving.column!r} {saving.loss:.2f}, and {saving.unique_share:.0%} unique"
            for saving in self.without
        )
        return (
            f"{quasi_identifiers} quasi-identifiers are many: of the information in them about "
            f"{self.loss:.2f} would be lost at k = {self.k}, and {self.unique_share:.0%} of the records are "
            f"unique; {figures}. "
            "Drop columns that nobody needs, and make those sensitive that nobody outside can know."
        )


def estimate_savings(quasi: Mapping[str, Column], records: int, seed: int) -> Savings:
    """Estimate the mean loss of a cell, and what it would be without single columns.

    Of larger tables 2,000 records are looked at, with a smaller k, so that there are as many classes.
    """
    rows = sampled_rows(records, _LOOKED_AT, seed)
    spreads = [_places(column)[rows] for column in quasi.values()]
    places = np.column_stack(spreads)
    k = max(2, round(_K * len(places) / records))
    each = _loss_of_columns(places, k)
    costly = np.argsort(-each, kind="stable")[:_NAMED]
    names = list(quasi)
    without = [
        Saving(names[c], float(_loss_of_columns(rest, k).mean()), _share_without(rest))
        for c in costly
        for rest in [np.delete(places, c, axis=1)]
    ]
    without.sort(key=lambda saving: saving.loss)
    return Savings(_K, float(each.mean()), _share_without(places), tuple(without))


def _places(column: Column) -> np.ndarray:
    """Each record's place in its column, from 0 to 1 where values have an order, else numbers from 0 on."""
    if column.ordered:
        return column.codes / max(len(column.texts) - 1, 1)
    return column.codes.astype(float)


def _loss_of_columns(places: np.ndarray, k: int) -> np.ndarray:
    """The mean loss of a cell of each column, once classes are halved as often as k allows."""
    lost = np.zeros(places.shape[1])
    groups = [np.arange(len(places))]
    while groups:
        group = groups.pop()
        values = places[group]
        spread = np.minimum(np.ptp(values, axis=0), 1.0)
        halves = _halves(values, spread, k)
        if halves is None:
            lost += len(group) * spread
        else:
            groups += [group[halves], group[~halves]]
    return lost / len(places)


def _halves(values: np.ndarray, spread: np.ndarray, k: int) -> np.ndarray | None:
    """Which records go to the lower half, in the widest column that can be cut; None if none can be."""
    if len(values) < 2 * k:
        return None
    for column in np.argsort(-spread, kind="stable"):
        if spread[column] == 0:
            return None
        middle = np.median(values[:, column])
        for lower in (values[:, column] <= middle, values[:, column] < middle):
            if k <= lower.sum() <= len(values) - k:
                return lower
    return None


def _share_without(places: np.ndarray) -> float:
    counts = np.unique(places, axis=0, return_counts=True)[1]
    return share(np.count_nonzero(counts == 1), len(places))
