"""The long part of the search: ruin and recreate in turns, until nothing is won any more or time is up."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np

from kohort.algorithms.improve.assignment_search import AssignedPieces, AssignmentSearch
from kohort.algorithms.improve.exact_choice import MOST_CHOICES, settle
from kohort.algorithms.improve.group_search import regrouped
from kohort.algorithms.improve.heat import Heat
from kohort.algorithms.improve.kernels.slot_ruin import NearRecords
from kohort.algorithms.improve.recombination import recombined, united
from kohort.algorithms.proofs.dual_bound import DualPrices
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.run import Run, Standing
from kohort.recoding.groups import Groups

__all__ = ["WORTH_ANY_TIME", "WORTH_IT", "SearchTurns", "ruin_together"]

WORTH_IT, WORTH_ANY_TIME = 0.01, 0.00005  # worthwhile shares of the cost without a time limit, and with one
_PATIENCE = 2  # times the open slots: rounds in which the cost must fall by a worthwhile share to go on
_LEAST_ROUNDS = 500
_STRETCHES = 4  # stretches that these rounds are made in where slots are few
_MANY_SLOTS = 1000
_NEAR_ENOUGH = 0.001  # share of the bound: the search stops when the cost exceeds the bound by less
_SHARE_FOR_SETTLING = 0.25  # of the time that is left
_FEW_CHOICES, _FEW_NODES = 1_000, 20  # without a time limit: pairs of rows and closed records, and work
_ROUNDING = 1e-9
_HOT, _HOTTEST = 0.05, 0.25  # times the root of k, at most: what a round may add at first, in costs of `*`
_FEW_ROWS, _MOST_TIMES_HOTTER = 10_000_000, 8.0  # with fewer rows under closed records, it is more
_LONG = 600  # times the open slots: rounds until heat is 0, if the time is not up before
_HOT_SHARE = 0.85  # of the time that is left
_SECONDS_TO_ANNEAL, _ROWS_TO_ANNEAL = 15.0, 40_000_000  # with less time, in proportion to the rows under
# closed records where these are fewer, no round adds to the cost
_FRUITLESS = 2  # times in a row that heat may win nothing before the search ends
_WORTH_A_TURN = 0.0003  # worthwhile share for a turn without closed records
_SHARE_FOR_REGROUPING = 0.3  # of the time that is left


class SearchTurns:
    """Turns of ruin and recreate, numbered so that no two have the same seed."""

    def __init__(self, search: AssignmentSearch, prices: DualPrices, bound: float | None) -> None:
        self.search, self.problem, self.prices, self.bound = search, search.problem, prices, bound
        self.number = 0

    def reprice(self, prices: DualPrices, bound: float | None) -> None:
        """Go on with other prices, and the bound that they prove."""
        self.prices, self.bound = prices, bound
        self.search.reprice(prices)

    def go_on(self, run: Run, *, seconds: float | None) -> None:
        """Ruin and recreate until nothing is won any more or the time is up.

        seconds  the time limit that was asked for, or None

        Where few closed records can still be opened, the choice among them is settled, which ends the search.
        """
        self.ruin(run, WORTH_IT)
        if seconds is None:
            self._settle(run, most=_FEW_CHOICES, most_nodes=_FEW_NODES)
            return
        self._settle(run.share_of_time(_SHARE_FOR_SETTLING))
        hot, fruitless = self._can_anneal(seconds), 0
        while fruitless < (_FRUITLESS if hot else 1) and not self.is_done(run):
            before = self.search.total
            if hot:
                self._anneal(run.share_of_time(_HOT_SHARE))
            self._alternate(run)
            fruitless = 0 if self.search.total < before * (1 - WORTH_ANY_TIME) else fruitless + 1
        self._settle(run)

    def _can_anneal(self, seconds: float) -> bool:
        """Whether a time limit leaves enough time for rounds that add to the cost at first."""
        share = min(1.0, len(self.search.closed.rows) / _ROWS_TO_ANNEAL)
        return seconds >= _SECONDS_TO_ANNEAL * share

    def _settle(self, run: Run, *, most: int = MOST_CHOICES, most_nodes: int | None = None) -> None:
        if self.is_done(run, near_enough=_ROUNDING):
            return
        settled = settle(self.search, self.prices, run, most=most, most_nodes=most_nodes)
        bound = None if settled is None else in_measured_units(self.problem, settled)
        if bound is not None and bound > (self.bound or 0.0):
            self.bound = bound

    def _anneal(self, run: Run) -> None:
        """Rounds that may add to the cost, less and less as time passes. Keeps the best of every region."""
        search, slots = self.search, len(self.search.open_slots)
        rounds = max(_LEAST_ROUNDS, _PATIENCE * slots // _STRETCHES)
        hotter = min(max(_FEW_ROWS / len(search.closed.rows), 1.0), _MOST_TIMES_HOTTER)
        hot = min(_HOT * self.problem.k**0.5, _HOTTEST) * hotter
        heat = Heat(run, hot, n_stretches=max(1, _LONG * slots // rounds))
        near, best = search.near(), (search.total, search.pieces())
        while not heat.is_out and not self.is_done(run):
            run.report(self._standing(best[0]), run.gone)
            self._ruin(near, rounds, run, heat.now())
            heat.n_made += 1
            best = self._better(best[1])
        if best[0] < search.total:
            search.hold(best[1])

    def _better(self, best: AssignedPieces) -> tuple[float, AssignedPieces]:
        """The cheaper of an assignment and the present one in each region that both have; and its cost."""
        offers = self.search.offers
        total, pieces = recombined(best, self.search.pieces(), offers.cost, len(offers.copies))
        return total * self.search.scale, pieces

    def _alternate(self, run: Run) -> None:
        """Rounds that add nothing to the cost, with closed records and without, while these win enough."""
        search, before = self.search, np.inf
        while search.total < before * (1 - _WORTH_A_TURN) and not self.is_done(run):
            self.ruin(run, _WORTH_A_TURN)
            before = search.total
            if not search.offers.most_withheld and not self.is_done(run):
                self._regroup(run)

    def _ruin(self, near: NearRecords, rounds: int, run: Run, heat: float = 0.0) -> None:
        self.number += 1
        seed = self.problem.seed * 1_000_003 + 2 * self.number * rounds
        ruin_together(self.search, self._twin, near, seed, rounds, run, heat)

    @cached_property
    def _twin(self) -> AssignmentSearch:
        """A second search, for the other core."""
        return self.search.twin()

    def _regroup(self, run: Run) -> None:
        """A turn without closed records."""
        search, turn = self.search, run.share_of_time(_SHARE_FOR_REGROUPING).in_silence()
        groups = regrouped(self.problem, Groups(search.groups()), turn, WORTH_IT)
        if search.cost_of(groups) < search.total:
            search.start_from(groups)
            search.improve(run, far=False)

    def ruin(self, run: Run, worth: float) -> None:
        """Ruin and recreate until the time is up, the bound is near, or less than `worth` is won."""
        search = self.search
        near = search.near()
        patience = max(_LEAST_ROUNDS, _PATIENCE * len(search.open_slots))
        stretches = 1 if len(search.open_slots) >= _MANY_SLOTS else _STRETCHES
        before = [np.inf] * stretches  # the costs before the last stretches
        while search.total < before[0] * (1 - worth) and not self.is_done(run):
            before = [*before[1:], search.total]
            share = run.gone if worth < WORTH_IT else min(1.0, self.number / 4 / stretches)
            run.report(self._standing(search.total), share)
            self._ruin(near, patience // stretches, run)

    def is_done(self, run: Run, *, near_enough: float = _NEAR_ENOUGH) -> bool:
        """Whether the time is up, or the cost exceeds the bound by so small a share that it may end."""
        if run.out_of_time or self.search.total <= 0:
            return True
        reached = in_measured_units(self.problem, self.search.total)
        return self.bound is not None and reached is not None and reached <= self.bound * (1 + near_enough)

    def _standing(self, total: float) -> str:
        words, reached = "ruining and recreating", in_measured_units(self.problem, total)
        if reached is None:
            return words
        if not self.bound:
            return Standing(words, reached)
        known = f"{words}: {reached:.4f}, at least {self.bound:.4f}, gap {reached / self.bound - 1:.1%}"
        return Standing(known, reached, self.bound)


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
