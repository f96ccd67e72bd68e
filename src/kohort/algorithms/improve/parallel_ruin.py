"""Ruin and recreate on two cores: slots in two halves, each searched on its own, then joined."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from kohort.algorithms.improve.assignment_search import AssignedPieces, AssignmentSearch
from kohort.algorithms.improve.kernels.slot_ruin import NearRecords, most_under
from kohort.algorithms.run import Run

__all__ = ["ruin_in_halves"]

_LEAST_SLOTS = 40  # fewer are not halved
_AT_A_TIME = 2_000  # records, about, that are dissolved between two looks at the clock


def ruin_in_halves(
    search: AssignmentSearch, near: NearRecords, seed: int, rounds: int, run: Run, heat: float = 0.0
) -> None:
    """Ruin and recreate for `rounds` rounds over both halves, or fewer when the time is up.

    heat    what a round may add to the cost on average, as a share of the cost of `*`

    A record stays in its half, and a slot that both halves open becomes one slot in the end. Models survive
    unions, so it satisfies every model if both parts do. The result does not depend on the number of cores.
    """
    slots = search.open_slots
    if len(slots) < _LEAST_SLOTS:
        _ruin(search, near, seed, rounds, run, heat)
        return
    pieces, rng = search.pieces(), np.random.default_rng(seed)
    half = _halves(search, near, slots, pieces, rng)[pieces.slot]
    most_withheld = (search.offers.most_withheld, 0)  # withheld records belong to the first half
    halves = [search.with_only(pieces.subset(half == h), most_withheld[h]) for h in (0, 1)]
    centres = _centres(search, near, pieces, half)
    n_centres = [len(part.centre) for part in centres]
    shares = [rounds * n // sum(n_centres) for n in n_centres]
    with ThreadPoolExecutor(1) as pool, run.until_failure() as ruining:
        other = pool.submit(_ruin, halves[1], centres[1], seed + 1, shares[1], ruining, heat)
        _ruin(halves[0], centres[0], seed, shares[0], ruining, heat)
        other.result()
    search.hold(AssignedPieces(*(np.concatenate(both) for both in zip(*(half.pieces() for half in halves)))))


def _halves(
    search: AssignmentSearch,
    near: NearRecords,
    slots: np.ndarray,
    pieces: AssignedPieces,
    rng: np.random.Generator,
) -> np.ndarray:
    """The half of each slot: slots are sorted by nodes, attributes in random order, and the work is halved.

    The work of a slot is the number of near records over its rows, all of which are read when it is ruined.
    """
    nodes = search.closed.nodes[slots][:, rng.permutation(search.closed.nodes.shape[1])]
    order = slots[np.lexsort(nodes.T)]
    looks = np.diff(near.start)[search.offers.row_of_unit[pieces.unit]]
    work = np.bincount(pieces.slot, weights=looks, minlength=search.nowhere + 2)[order]
    half = np.zeros(search.nowhere + 2, dtype=np.int64)
    half[order[2 * (np.cumsum(work) - work) >= work.sum()]] = 1
    return half


def _centres(
    search: AssignmentSearch, near: NearRecords, pieces: AssignedPieces, half: np.ndarray
) -> list[NearRecords]:
    """For each half, the closed records that have most of their records in it, to ruin what is under them."""
    offers = search.offers
    copies = np.zeros((len(offers.unit_start) - 1, 2), dtype=np.int64)
    np.add.at(copies, (offers.row_of_unit[pieces.unit], half), pieces.copies)
    of_near = most_under(offers.start, offers.rows, near.centre, copies)
    of_wide = most_under(offers.start, offers.rows, near.wide, copies)
    return [near._replace(centre=near.centre[of_near == h], wide=near.wide[of_wide == h]) for h in (0, 1)]


def _ruin(search: AssignmentSearch, near: NearRecords, seed: int, rounds: int, run: Run, heat: float) -> None:
    at_a_time = max(1, _AT_A_TIME // search.problem.k // 8)
    for done in range(0, rounds, at_a_time):
        if run.out_of_time:
            return
        search.ruin_and_recreate(near, seed + 2 * done, min(at_a_time, rounds - done), heat)
