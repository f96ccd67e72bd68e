"""A lower bound on the least cost of any release, from the prices of the linear program's dual."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kohort.algorithms.mining.closed_records import ClosedRecords
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.proofs.price_loop import PriceLoop
from kohort.algorithms.run import Run
from kohort.problem.problem import Problem
from kohort.problem.proof import OpeningCuts, PriceProof

ROUNDS = 150
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class DualPrices:
    """Dual prices of rows: the prices of any group of k or more exceed its cost by no more than cuts allow.

    slack   for each closed record: by how much less each of k records pays than its cost and the cuts allow
    level   for each closed record a guess at the k-th highest price under it
    rounds  how often the prices were raised
    """

    of_row: np.ndarray
    slack: np.ndarray
    level: np.ndarray
    rounds: int = ROUNDS
    cuts: OpeningCuts = field(default_factory=OpeningCuts.none, kw_only=True)

    def of_units(self, unit_of_record: np.ndarray, row_of_unit: np.ndarray) -> np.ndarray:
        """The price of each unit: a row, or the records of a row with the same sensitive values."""
        return self.of_row[row_of_unit]

    def proof(self, problem: Problem, closed: ClosedRecords) -> PriceProof:
        """The proof that these prices are feasible, which can be checked without the search."""
        cuts, nodes = self.cuts.among(closed.nodes)
        return PriceProof(self.of_row, problem.rows.of_record, nodes, cuts)


def dual_prices(
    problem: Problem, closed: ClosedRecords, cost: np.ndarray, run: Run, *, rounds: int = ROUNDS
) -> DualPrices:
    """Feasible dual prices, raised in so many rounds, or fewer if the time is up.

    cost    cost of one record published as each closed record
    """
    loop = PriceLoop.of(problem, closed, cost)
    loop.raise_prices(rounds, run)
    return feasible_prices(loop)


def feasible_prices(loop: PriceLoop) -> DualPrices:
    """The prices of a loop, lowered where that is needed. O(rows under closed records)."""
    prices, slack, cuts = loop.feasible()
    return DualPrices(prices, slack, loop.level.copy(), loop.rounds, cuts=cuts)


def dual_bound(problem: Problem, prices: DualPrices, star: float) -> float | None:
    """A lower bound on the cost of any release, in the units of the chosen cost; None if it is not monotone.

    star  cost of a withheld record
    """
    if not problem.cost.monotone:
        return None
    return in_measured_units(problem, total_bound(problem, prices, star))


def total_bound(problem: Problem, prices: DualPrices, star: float) -> float:
    """A lower bound on the total cost of all records, for a monotone cost.

    Withheld records need no group: the bound counts the records of highest price, as many as may be withheld,
    at the cost of a withheld record. Cuts hold all the same: fewer records are left for groups.
    """
    copies = problem.rows.counts
    total = float(np.dot(copies, prices.of_row)) - prices.cuts.total
    if problem.max_withheld:
        excess = np.repeat(np.maximum(prices.of_row - star, 0.0), copies)
        total -= float(np.sort(excess)[-problem.max_withheld :].sum())
    return max(total * (1 - _ROUNDING), 0.0)
