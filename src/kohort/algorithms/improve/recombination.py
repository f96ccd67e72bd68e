"""Make one assignment of two: region by region, the cheaper one, or the one that changed.

A region is a set of units such that no slot of the assignments has units inside and outside of it. So each
region can be assigned as in any of them, whatever is done elsewhere: every slot keeps all its records, or
both parts of it if two regions open it. Models survive unions, and all withheld records are in one region, so
no more are withheld than in one of the assignments.
"""

from __future__ import annotations

import numpy as np

from kohort.algorithms.improve.assignment_search import AssignedPieces
from kohort.algorithms.improve.kernels.shared_regions import regions_of_units


def recombined(
    one: AssignedPieces, other: AssignedPieces, cost: np.ndarray, n_units: int
) -> tuple[float, AssignedPieces]:
    """The least cost of a choice between two assignments of the same units by regions, and that assignment.

    cost  per slot: of one record
    """
    region = _regions(n_units, one, other)
    paid = _paid(region, one, cost, n_units), _paid(region, other, cost, n_units)
    return float(np.minimum(*paid).sum()), _chosen(one, other, (paid[1] < paid[0])[region])


def united(
    before: AssignedPieces, one: AssignedPieces, other: AssignedPieces, cost: np.ndarray, n_units: int
) -> AssignedPieces:
    """An assignment with the changes that two searches made to it, each in a copy of its own.

    Where both changed a region, the cheaper one counts.
    """
    region = _regions(n_units, before, one, other)
    changed = _changed(region, before, one, n_units), _changed(region, before, other, n_units)
    cheaper = _paid(region, other, cost, n_units) < _paid(region, one, cost, n_units)
    return _chosen(one, other, (changed[1] & (cheaper | ~changed[0]))[region])


def _regions(n_units: int, *assignments: AssignedPieces) -> np.ndarray:
    """The region of each unit, as the number of one of its units."""
    used, slot = np.unique(np.concatenate([each.slot for each in assignments]), return_inverse=True)
    of_piece = np.repeat(np.arange(len(assignments)), [len(each.slot) for each in assignments])
    region: np.ndarray = regions_of_units(
        n_units,
        len(assignments) * len(used),
        np.concatenate([each.unit for each in assignments]),
        slot + of_piece * len(used),
    )
    return region


def _paid(region: np.ndarray, pieces: AssignedPieces, cost: np.ndarray, n_units: int) -> np.ndarray:
    """What the records of each region cost."""
    return np.bincount(region[pieces.unit], pieces.copies * cost[pieces.slot], minlength=n_units)


def _changed(region: np.ndarray, before: AssignedPieces, after: AssignedPieces, n_units: int) -> np.ndarray:
    """For each region, whether two assignments differ there."""
    changed = np.zeros(n_units, dtype=bool)
    changed[region[before.changes_to(after).unit]] = True
    return changed


def _chosen(one: AssignedPieces, other: AssignedPieces, takes_other: np.ndarray) -> AssignedPieces:
    """The pieces of each unit from one assignment or the other."""
    parts = one.subset(~takes_other[one.unit]), other.subset(takes_other[other.unit])
    n_slots = int(max(part.slot.max(initial=0) for part in parts)) + 1
    key = np.concatenate([part.unit * n_slots + part.slot for part in parts])
    pieces, place = np.unique(key, return_inverse=True)
    copies = np.bincount(place, np.concatenate([part.copies for part in parts])).astype(np.int64)
    return AssignedPieces(pieces // n_slots, pieces % n_slots, copies)
