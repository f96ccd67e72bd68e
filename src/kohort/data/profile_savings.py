"""What many quasi-identifiers cost, and what each of the costliest would save: an estimate in a second.

Classes are halved at the median of their widest column until they would fall below k (as in Mondrian,
LeFevre et al., 2006). The search that makes the release does better, but a column that costs much here costs
much there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kohort.data.column import Column
from kohort.data.profile_uniqueness import sampled_rows, share

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
        Saving(names[c], float(_loss_of_columns(rest, k).mean()), _unique_share(rest))
        for c in costly
        for rest in [np.delete(places, c, axis=1)]
    ]
    without.sort(key=lambda saving: saving.loss)
    return Savings(_K, float(each.mean()), _unique_share(places), tuple(without))


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


def _unique_share(places: np.ndarray) -> float:
    counts = np.unique(places, axis=0, return_counts=True)[1]
    return share(np.count_nonzero(counts == 1), len(places))
