"""A lower bound on the least cost of any release, from the prices of the linear program's dual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kohort.algorithms.mining.closed_records import ClosedRecords
from kohort.algorithms.proofs.kernels.dual_prices import (
    PricedRecords,
    cheapest_over,
    lower_until_feasible,
    raise_prices,
    slacks,
)
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.run import Run
from kohort.problem.problem import Problem
from kohort.recoding.proof import DualProof

__all__ = ["DualPrices", "dual_bound", "dual_prices"]

ROUNDS = 150
_ALL, _SLOWER = 10, 0.965  # one round in 10 visits all closed records; each step is 0.965 of the last one
_ROUNDING = 1e-9
_SHARE_FOR_CHECK = 0.25  # share of the time
_EXACT = 0.01  # slacks up to this share of the greatest cost are computed exactly


@dataclass(frozen=True, eq=False)
class DualPrices:
    """Dual prices of rows: no group of k or more costs less than the sum of its prices. And the slack of each
    closed record: how much its cost exceeds the prices under it.

    level   for each closed record a guess at the k-th highest price under it
    rounds  how often the prices were raised
    """

    of_row: np.ndarray
    slack: np.ndarray
    level: np.ndarray
    rounds: int = ROUNDS

    def of_units(self, unit_of_record: np.ndarray, row_of_unit: np.ndarray) -> np.ndarray:
        """The price of each unit: a row, or the records of a row with the same sensitive values."""
        return self.of_row[row_of_unit]

    def proof(self, closed: ClosedRecords) -> DualProof:
        """The proof that these prices are feasible, which can be checked without the search."""
        return DualProof(self.of_row, closed.nodes, closed.start, closed.rows, self.level)


def dual_prices(
    problem: Problem, closed: ClosedRecords, cost: np.ndarray, run: Run, *, rounds: int | None = ROUNDS
) -> DualPrices:
    """Feasible dual prices: raised together and repaired where too high, in smaller and smaller steps.

    cost    cost of one record published as each closed record
    rounds  how many rounds; None: up to 150, and with little time the steps shrink sooner

    Every tenth round visits all closed records; the others visit only those that are nearly violated. At the
    end, or when the time is up, all are visited: prices are capped where they are too high, and checked.
    O(rounds * rows under near records).
    """
    copies, k = problem.rows.counts.astype(np.int64), problem.k
    scale = float(cost.max())  # 0: the prices stay 0; any other step would leave only its rounding errors
    step = (0.03 if k >= 50 else 0.02) * scale
    priced = PricedRecords(closed.start, closed.rows, cost, copies, k)
    y = cheapest_over(priced)
    level = cost - step
    near = np.zeros(len(cost), dtype=bool)
    rng = np.random.default_rng(problem.seed)
    first_step, done, number = step, 0.0, 0
    raising = run.share_of_time(1 - _SHARE_FOR_CHECK)
    allowed = raising.seconds_left
    while done < 1 and not raising.out_of_time:
        run.report("proving a bound", done)
        y += step
        if number % _ALL == 0:
            order = np.flatnonzero(cost < y.max())
            near[:] = False
        else:
            order = np.flatnonzero(near)
        rng.shuffle(order)
        raise_prices(priced, y, level, order, near, step)
        number += 1
        done = number / (rounds or ROUNDS)
        if rounds is None and allowed:
            gone = 1 - (raising.seconds_left or 0.0) / allowed
            if gone > done:
                run.cut()
            done = max(done, gone)
        step = first_step * _SLOWER ** (ROUNDS * done)
    lower_until_feasible(priced, y, level)
    slack = slacks(priced, y, level, _EXACT * scale)
    y += min(float(slack.min()), 0.0)  # rounding may leave a closed record violated
    return DualPrices(y, slack, level, number)


def dual_bound(problem: Problem, prices: DualPrices, star: float) -> float | None:
    """A lower bound on the cost of any release, in the units of the chosen cost; None if it is not monotone.

    star  cost of a withheld record

    Withheld records need no group: the bound counts the records of highest price, as many as may be withheld,
    at the cost of a withheld record.
    """
    if not problem.cost.monotone:
        return None
    copies = problem.rows.counts
    total = float(np.dot(copies, prices.of_row))
    excess = np.repeat(np.maximum(prices.of_row - star, 0.0), copies)
    if problem.max_withheld:
        total -= float(np.sort(excess)[-problem.max_withheld :].sum())
    return in_measured_units(problem, max(total * (1 - _ROUNDING), 0.0))
