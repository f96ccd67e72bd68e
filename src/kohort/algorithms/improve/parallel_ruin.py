"""Ruin and recreate on two cores: each changes a copy of the assignment, and both changes are united."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from kohort.algorithms.improve.assignment_search import AssignmentSearch
from kohort.algorithms.improve.kernels.slot_ruin import NearRecords
from kohort.algorithms.improve.recombination import united
from kohort.algorithms.run import Run

__all__ = ["ruin_together"]

_SLOTS_PER_ROUND, _FEWEST_ROUNDS = 5, 25  # rounds of each copy before both are united
_RECORDS_AT_A_TIME = 2_000  # about, that are dissolved between two looks at the clock


def ruin_together(
    search: AssignmentSearch,
    twin: AssignmentSearch,
    near: NearRecords,
    seed: int,
    rounds: int,
    run: Run,
    heat: float = 0.0,
) -> None:
    """Ruin and recreate for `rounds` rounds over both searches, or fewer when the time is up.

    twin    a search of the same problem; it follows the first one
    heat    what a round may add to the cost on average, as a share of the cost of `*`

    The rounds of a stretch change a tenth of the slots or so. What one search changed is taken over where the
    other one left everything as it was; where both changed something, the cheaper one counts. (Two halves of
    the slots, each with a search of its own, would need no copies. But with many columns nearly every slot
    has neighbours in the other half, and rounds without these win less: see docs/algorithms/improve.md.)
    The result does not depend on the number of cores.
    """
    twin.follow(search)
    offers = search.offers
    stretch = max(_FEWEST_ROUNDS, len(search.open_slots) // _SLOTS_PER_ROUND)
    with ThreadPoolExecutor(1) as pool, run.until_failure() as ruining:
        for done in range(0, rounds, 2 * stretch):
            if run.out_of_time:
                return
            before, each = search.pieces(), min(stretch, -(-(rounds - done) // 2))
            other = pool.submit(_ruin, twin, near, seed + 2 * done + 1, each, ruining, heat)
            _ruin(search, near, seed + 2 * done, each, ruining, heat)
            other.result()
            both = united(before, search.pieces(), twin.pieces(), offers.cost, len(offers.copies))
            search.become(both)
            twin.become(both)


def _ruin(search: AssignmentSearch, near: NearRecords, seed: int, rounds: int, run: Run, heat: float) -> None:
    at_a_time = max(1, _RECORDS_AT_A_TIME // search.problem.k // 8)
    for done in range(0, rounds, at_a_time):
        if run.out_of_time:
            return
        search.ruin_and_recreate(near, seed + 2 * done, min(at_a_time, rounds - done), heat)
