"""Prices of rows and cuts: raised together and repaired where they are too high, in ever smaller steps."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.mining.closed_records import ClosedRecords
from kohort.algorithms.proofs.cuts import CutFinder, cut_prices, with_cuts, without_idle
from kohort.algorithms.proofs.kernels.dual_prices import (
    PricedRecords,
    cap_prices,
    cheapest_over,
    least_slacks,
    repair_prices,
)
from kohort.algorithms.run import Run
from kohort.kernels.threads import in_threads
from kohort.problem.problem import Problem
from kohort.problem.proof import OpeningCuts

_ALL = 10  # one round in 10 visits all closed records
FIRST_STEP, _LAST_STEP = (
    0.06,
    0.045,
)  # shares of the greatest cost there is; the last one is divided by the rounds
_FIRST_CUTS, _LAST_CUTS, _CUTS_EVERY = 0.25, 0.85, 0.05  # shares of the rounds after which cuts are searched
_EXACT = 0.01  # slacks up to this share of the greatest cost are computed exactly


class PriceLoop:
    """Prices that are raised in rounds. After any round they can be made feasible, and then raised further.

    Every tenth round visits all closed records; the others visit only those that are nearly violated. By how
    much the repairs of a closed record lower prices, in proportion to the steps, is by how much a fractional
    release opens it: where that is more than any release can, cuts are added.
    """

    def __init__(
        self, closed: ClosedRecords, priced: PricedRecords, *, scale: float, highest: float, seed: int
    ) -> None:
        """Start with the cost of the cheapest closed record over each row.

        scale    the greatest cost there is: steps are in proportion to it
        highest  no price is higher: so closed records that cost no less need not be known
        """
        self.closed, self.priced, self.k = closed, priced, priced.k
        self.scale = scale  # 0: prices stay 0; any other step would leave only its rounding errors
        self.highest = highest
        self.y = np.minimum(cheapest_over(priced), highest)
        self.level = priced.cost - FIRST_STEP * scale
        self.slack = np.zeros(len(priced.cost))
        self._near = 0.0  # slack up to which closed records are visited in every round
        self.rounds = 0
        self._length = np.diff(closed.start)
        self._rng = np.random.default_rng(seed)
        self._finder = CutFinder(closed, priced.copies, priced.k)
        self._known: set[bytes] = set()
        self._hold(OpeningCuts.none())

    @classmethod
    def of(
        cls, problem: Problem, closed: ClosedRecords, cost: np.ndarray, *, highest: float = np.inf
    ) -> PriceLoop:
        """The prices of all rows of a problem.

        cost     cost of one record published as each closed record
        """
        copies = problem.rows.counts.astype(np.int64)
        priced = PricedRecords(closed.start, closed.rows, cost, copies, problem.k)
        greatest = cost.max() if highest == np.inf else max(cost.max(), problem.coded.star_cost)
        return cls(closed, priced, scale=float(greatest), highest=highest, seed=problem.seed)

    def _hold(self, cuts: OpeningCuts) -> None:
        self._cuts = cuts
        self._cut_prices = cut_prices(cuts, len(self.slack), self.k)
        self._lowered, self._steps = np.zeros(len(self.slack)), 0.0

    def raise_prices(
        self, rounds: int, run: Run, *, first_step: float = FIRST_STEP, cuts: bool = True
    ) -> None:
        """A stage: raise prices in so many rounds, or fewer if the time is up.

        first_step  share of the greatest cost by which prices are raised in the first round
        cuts        whether cuts are searched
        """
        searched, shrunk = _FIRST_CUTS, _LAST_STEP / rounds / first_step
        for number in range(rounds):
            if run.out_of_time:
                return
            done = number / rounds
            run.report("proving a bound", done)
            if cuts and searched <= done <= _LAST_CUTS:
                searched += _CUTS_EVERY
                self._add_cuts()
            self._round(self.scale * first_step * shrunk**done, all_records=number % _ALL == 0)

    def _add_cuts(self) -> None:
        z = self._lowered / max(self._steps, 1e-300)
        self._hold(with_cuts(self._cuts, self._finder.find(z, self.slack, self._known)))

    def _round(self, step: float, *, all_records: bool) -> None:
        self.rounds += 1
        self._steps += step
        np.minimum(self.y + step, self.highest, out=self.y)
        prices = self._cut_prices
        np.maximum(prices.price - step * prices.weight * self._cuts.most, 0.0, out=prices.price)
        if all_records:
            order = np.flatnonzero(self.priced.cost < self.y.max())
            self.slack[:] = np.inf
        else:
            order = np.flatnonzero(self.slack <= self._near)
        self._near = step
        self._update_slacks(order, -np.inf)
        violated = order[self.slack[order] < 0.0]
        self._rng.shuffle(violated)
        repair_prices(self.priced, prices, self.y, self.level, violated, self._lowered)

    def _update_slacks(self, order: np.ndarray, exact_below: float) -> None:
        def work(part: slice) -> None:
            least_slacks(
                self.priced, self._cut_prices, self.y, self.level, order[part], exact_below, self.slack
            )

        if len(order):
            in_threads(work, self._length[order])

    def feasible(self) -> tuple[np.ndarray, np.ndarray, OpeningCuts]:
        """Feasible prices of rows, the slacks of closed records, and the cuts that have a price."""
        y = self.y.copy()
        cap_prices(self.priced, self._cut_prices, y, self.level)
        self.y, raised = y, self.y
        self._update_slacks(np.arange(len(self.slack)), _EXACT * self.scale)
        self.y = raised
        slack = self.slack.copy()
        y += min(float(slack.min()), 0.0)  # rounding may leave a closed record violated
        return y, slack, without_idle(self._cuts)
