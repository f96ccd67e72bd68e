"""Dual prices that know a privacy model besides k: no group that satisfies both can pay them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kohort.algorithms.mining.closed_records import ClosedRecords
from kohort.algorithms.proofs.dual_bound import DualPrices, dual_bound
from kohort.algorithms.proofs.kernels.dual_prices import PricedRecords, cheapest_over
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.proofs.priced_rules import CloseRule, PricedRule, priced_rule
from kohort.algorithms.proofs.priced_units import Pricing, pricing_of
from kohort.algorithms.run import Run
from kohort.problem.problem import Problem
from kohort.problem.promises import Model
from kohort.problem.proof import PriceProof

_ROUNDS = 150
_ALL, _SLOWER = 10, 0.965  # one round in 10 visits all closed records; each step is 0.965 of the last one
_SHARE_FOR_CHECK = 0.25  # share of the time
_EXACT = 0.05  # slacks up to this share of the greatest cost are computed exactly
_ROUNDING = 1e-9
_NEAR = 4.0  # closed records whose slack is at most so many steps are visited in every round
_MOST_CHARGES = 100_000_000  # closed records times sensitive values


@dataclass(frozen=True, eq=False)
class ModelPrices(DualPrices):
    """Dual prices of units, the records of a row whose sensitive values are of the same class.

    of_row  the mean price of the records of each row
    level   for each closed record a guess at the lowest price in its best group
    """

    of_unit: np.ndarray = None  # type: ignore[assignment]
    unit_of_record: np.ndarray = None  # type: ignore[assignment]
    charge: np.ndarray | None = None
    model: Model = None  # type: ignore[assignment]

    def of_units(self, unit_of_record: np.ndarray, row_of_unit: np.ndarray) -> np.ndarray:
        price = np.empty(len(row_of_unit))
        price[unit_of_record] = self.of_unit[self.unit_of_record]
        return price

    def proof(self, problem: Problem, closed: ClosedRecords) -> PriceProof:
        charged = np.zeros(0, int) if self.charge is None else np.flatnonzero(self.charge.any(axis=1))
        charge = None if self.charge is None else self.charge[charged]
        nodes = closed.nodes[charged]
        return PriceProof(self.of_unit, self.unit_of_record, nodes, model=self.model, charge=charge)


def known_model_prices(
    problem: Problem, closed: ClosedRecords, cost: np.ndarray, run: Run, rounds: int | None
) -> ModelPrices | None:
    """Dual prices that know a privacy model of the problem; None where none can be priced."""
    rule = priced_rule(problem)
    if rule is None or (isinstance(rule, CloseRule) and len(cost) * rule.n_classes > _MOST_CHARGES):
        return None
    return model_prices(problem, rule, closed, cost, run, rounds)


def priced_bound(problem: Problem, prices: DualPrices, star: float) -> float | None:
    """A lower bound on the cost of any release, in the units of the chosen cost; None if it is not monotone.

    star  cost of a withheld record

    As in `dual_bound`, the records of highest price, as many as may be withheld, count as withheld ones.
    """
    if not isinstance(prices, ModelPrices) or not problem.cost.monotone:
        return dual_bound(problem, prices, star)
    of_record = np.sort(prices.of_unit[prices.unit_of_record])
    withheld = of_record[problem.n_records - problem.max_withheld :]
    total = float(of_record.sum() - np.maximum(withheld - star, 0.0).sum())
    return in_measured_units(problem, max(total * (1 - _ROUNDING), 0.0))


def model_prices(
    problem: Problem,
    rule: PricedRule | CloseRule,
    closed: ClosedRecords,
    cost: np.ndarray,
    run: Run,
    rounds: int | None,
) -> ModelPrices:
    """Feasible dual prices of units: raised together and repaired where too high, as `dual_prices` does.

    cost    cost of one record published as each closed record
    rounds  how many rounds; None: up to 150, and with little time the steps shrink sooner
    """
    scale = float(cost.max())
    step = (0.03 if problem.k >= 50 else 0.02) * scale
    pricing = pricing_of(problem, rule, closed, cost, step)
    price = _first_prices(pricing)
    number = _raise(pricing, price, step, np.random.default_rng(problem.seed), run, rounds)
    pricing.lower_until_feasible(price, np.flatnonzero(pricing.feasible & (cost < price.max())))
    slack = pricing.slacks(price, _EXACT * scale)
    price += min(float(slack.min()), 0.0)  # rounding may leave a closed record violated
    units, counts = pricing.units, problem.rows.counts
    of_row = np.bincount(units.row, units.copies * price, minlength=len(counts)) / counts
    return ModelPrices(
        of_row, slack, pricing.level, number, price, units.of_record, pricing.charge, rule.model
    )


def _first_prices(pricing: Pricing) -> np.ndarray:
    """For each unit the least cost of a closed record over it that may have a valid group."""
    units, closed = pricing.units, pricing.closed
    cost = np.where(pricing.feasible, pricing.cost, np.inf)
    copies = np.ones(len(units.start) - 1, dtype=np.int64)
    least: np.ndarray = cheapest_over(PricedRecords(closed.start, closed.rows, cost, copies, 1))
    return least[units.row]


def _raise(
    pricing: Pricing,
    price: np.ndarray,
    first_step: float,
    rng: np.random.Generator,
    run: Run,
    rounds: int | None,
) -> int:
    """Raise the prices together, and lower them where they are too high, in rounds; how many there were."""
    near = np.zeros(len(pricing.cost), dtype=bool)
    step, done, number = first_step, 0.0, 0
    raising = run.share_of_time(1 - _SHARE_FOR_CHECK)
    allowed = raising.seconds_left
    while done < 1 and not raising.out_of_time:
        run.report("proving a bound", done)
        price += step
        if number % _ALL == 0:
            order = np.flatnonzero(pricing.feasible & (pricing.cost < price.max()))
            near[:] = False
        else:
            order = np.flatnonzero(near)
        rng.shuffle(order)
        pricing.raise_prices(price, order, near, _NEAR * step)
        number += 1
        done = number / (rounds or _ROUNDS)
        if rounds is None and allowed:
            gone = 1 - (raising.seconds_left or 0.0) / allowed
            if gone > done:
                run.cut()
            done = max(done, gone)
        step = first_step * _SLOWER ** (_ROUNDS * done)
    return number
