"""Recombine two assignments: the cheaper one of both in every region that they assign to slots of its own."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.improve.assignment_search import AssignedPieces
from kohort.algorithms.improve.kernels.shared_regions import regions_of_units

__all__ = ["recombined"]


def recombined(
    one: AssignedPieces, other: AssignedPieces, cost: np.ndarray, n_units: int
) -> tuple[float, AssignedPieces]:
    """The least cost of a choice between two assignments of the same units by regions, and that assignment.

    cost  per slot: of one record

    A region is a set of units such that no slot of either assignment has units inside and outside of it. So
    each region can be assigned as in one or the other, whatever is done elsewhere: every slot keeps all its
    records, or both parts of it if two regions open it. Models survive unions, and all withheld records are
    in one region, so no more are withheld than in one of both.
    """
    n_slots = len(cost)
    region = regions_of_units(
        n_units,
        2 * n_slots,
        np.concatenate([one.unit, other.unit]),
        np.concatenate([one.slot, other.slot + n_slots]),
    )
    paid = [np.bincount(region[p.unit], p.copies * cost[p.slot], minlength=n_units) for p in (one, other)]
    better = paid[1] < paid[0]
    parts = one.subset(~better[region[one.unit]]), other.subset(better[region[other.unit]])
    key = np.concatenate([part.unit * n_slots + part.slot for part in parts])
    pieces, place = np.unique(key, return_inverse=True)
    copies = np.bincount(place, np.concatenate([part.copies for part in parts])).astype(np.int64)
    total = float(np.minimum(*paid).sum())
    return total, AssignedPieces(pieces // n_slots, pieces % n_slots, copies)
