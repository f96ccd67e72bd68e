"""Closed records and prices that prove a bound: rough ones soon, refined in a second stage."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kohort.algorithms.mining.closed_records import (
    ClosedRecords,
    MinedRows,
    costs_of_nodes,
    mine,
    record_costs,
)
from kohort.algorithms.proofs.dual_bound import DualPrices, feasible_prices
from kohort.algorithms.proofs.model_prices import known_model_prices, priced_bound
from kohort.algorithms.proofs.price_loop import PriceLoop
from kohort.algorithms.run import Run
from kohort.data.process import give_memory_back
from kohort.problem.problem import Problem

_MOST_RECORDS, _MOST_SUPPORT_ROWS = 6_000_000, 400_000_000
_MOST_ROWS_OF_LARGE = 150_000_000  # under closed records; 4 bytes and more each
_SHARE_FOR_MINING, _SHARE_FOR_PRICES = 0.35, 0.35  # of the time that is left
_SHARE_BESIDE = 0.6  # of the time: for mining, where something else is done meanwhile
_FIRST_SECONDS, _SHARE_FOR_ROUNDS = 15.0, 0.25  # of the first seconds of the time limit, at the speed below
_LATER_SHARE = 0.5  # of the other seconds, in which more rounds win more than a longer search
_ROWS_PER_SECOND = 1.4e9  # rows under closed records times rounds; few records are visited in most rounds
_FIRST_ROUNDS, _FEWEST_ROUNDS = 30, 12
_ROUNDS_OF_MODEL = 100  # of prices that know a privacy model, without a time limit
_SECOND_ROUNDS, _MOST_ROUNDS = 60, 1_500  # without a time limit, and with any


@dataclass(frozen=True, eq=False)
class StagedPrices:
    """Closed records, the cost of a record under each, and prices.

    How many rounds a stage has follows from the time limit and the size of the table, never from the clock;
    on a slow machine the clock may cut a stage off.
    """

    problem: Problem
    closed: ClosedRecords
    cost: np.ndarray
    loop: PriceLoop | None
    prices: DualPrices

    @property
    def star(self) -> float:
        """Cost of a withheld record."""
        return self.problem.coded.star_cost

    @property
    def bound(self) -> float | None:
        """The lower bound that the prices prove, in the units of the chosen cost."""
        return priced_bound(self.problem, self.prices, self.star)

    def refined(self, run: Run, seconds: float | None) -> StagedPrices:
        """Prices after a second stage, with cuts; the same ones if there is no time for it.

        seconds  the time limit that was asked for, or None

        Prices that know a privacy model have one stage.
        """
        if self.loop is None:
            return self
        rounds = _SECOND_ROUNDS
        if seconds is not None:
            rounds = min(_rounds_in(seconds, self.closed) - self.loop.rounds, _MOST_ROUNDS)
        if rounds < _SECOND_ROUNDS:
            return self
        self.loop.raise_prices(rounds, run)
        refined = replace(self, prices=feasible_prices(self.loop))
        return refined if (refined.bound or 0.0) >= (self.bound or 0.0) else self


def first_prices(
    problem: Problem, run: Run, seconds: float | None, *, beside: bool = False
) -> StagedPrices | None:
    """Mine the closed records and find first prices; None if they are too many, or take too long to mine.

    seconds  the time limit that was asked for, or None
    beside   whether a search without closed records runs meanwhile, so that no time is lost by mining
    """
    mining = run.share_of_time(_SHARE_BESIDE if beside else _SHARE_FOR_MINING)
    closed = mine(
        MinedRows.of(problem),
        problem.k,
        max_records=_MOST_RECORDS,
        max_support_rows=_MOST_SUPPORT_ROWS,
        run=mining,
    )
    return _priced(problem, closed, run, seconds, np.inf)


def low_prices(
    problem: Problem, mining: Run, run: Run, seconds: float | None, share: float
) -> StagedPrices | None:
    """Prices of a large table, none higher than a share of what `*` costs; None if that takes too long.

    mining   the part of the run in which closed records are mined
    seconds  the time limit that was asked for, or None
    share    the highest price, as a share of the cost of `*`

    Closed records that cost no less cannot be violated by such prices. They have most of the rows under
    them, and are not kept.
    """
    highest = share * problem.coded.star_cost

    def is_cheap(nodes: np.ndarray) -> np.ndarray:
        cheap: np.ndarray = costs_of_nodes(problem, nodes) < highest
        return cheap

    closed = mine(
        MinedRows.of(problem),
        problem.k,
        max_records=_MOST_RECORDS,
        max_support_rows=_MOST_ROWS_OF_LARGE,
        wanted=is_cheap,
        run=mining,
    )
    give_memory_back()  # mining needs much for a moment; prices and their check need other pieces
    return _priced(problem, closed, run, seconds, highest)


def _priced(
    problem: Problem, closed: ClosedRecords, run: Run, seconds: float | None, highest: float
) -> StagedPrices | None:
    if not (closed.complete and closed.has_supports):
        return None
    cost = record_costs(problem, closed)
    pricing = run.share_of_time(_SHARE_FOR_PRICES)
    if highest == np.inf:
        rounds_of_model = _ROUNDS_OF_MODEL if seconds is None else None
        known = known_model_prices(problem, closed, cost, pricing, rounds_of_model)
        if known is not None:
            return StagedPrices(problem, closed, cost, None, known)
    loop = PriceLoop.of(problem, closed, cost, highest=highest)
    rounds = _FIRST_ROUNDS
    if seconds is not None:
        rounds = int(np.clip(_rounds_in(seconds, closed), _FEWEST_ROUNDS, _FIRST_ROUNDS))
    loop.raise_prices(rounds, pricing, cuts=False)
    return StagedPrices(problem, closed, cost, loop, feasible_prices(loop))


def _rounds_in(seconds: float, closed: ClosedRecords) -> int:
    later = max(seconds - _FIRST_SECONDS, 0.0)
    for_rounds = _SHARE_FOR_ROUNDS * (seconds - later) + _LATER_SHARE * later
    return int(for_rounds * _ROWS_PER_SECOND / max(len(closed.rows), 1))
