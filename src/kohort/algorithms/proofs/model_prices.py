"""Dual prices that know a privacy model besides k: no group that satisfies both can pay them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kohort.algorithms.mining.closed_records import ClosedRecords
from kohort.algorithms.proofs.dual_bound import DualPrices, dual_bound, dual_prices
from kohort.algorithms.proofs.kernels.model_prices import (
    PricedUnits,
    cheapest_over_units,
    feasible_records,
    lower_unit_prices,
    raise_unit_prices,
    unit_slacks,
)
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.proofs.priced_rules import PricedRule, priced_rule
from kohort.algorithms.run import Run
from kohort.problem.problem import Problem
from kohort.recoding.proof import DualProof, ModelProof

__all__ = ["ModelPrices", "model_prices", "priced_bound", "prices_of"]

_ROUNDS = 150
_ALL, _SLOWER = 10, 0.965  # one round in 10 visits all closed records; each step is 0.965 of the last one
_SHARE_FOR_CHECK = 0.25  # share of the time
_EXACT = 0.05  # slacks up to this share of the greatest cost are computed exactly
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class ModelPrices(DualPrices):
    """Dual prices of units, the records of a row whose sensitive values are of the same class.

    of_row  the mean price of the records of each row
    level   for each closed record a guess at the lowest price in its best group
    """

    of_unit: np.ndarray = None  # type: ignore[assignment]
    unit_of_record: np.ndarray = None  # type: ignore[assignment]

    def proof(self, closed: ClosedRecords) -> DualProof:
        return ModelProof(
            self.of_unit, closed.nodes, closed.start, closed.rows, self.level, self.unit_of_record
        )


def prices_of(
    problem: Problem, closed: ClosedRecords, cost: np.ndarray, run: Run, rounds: int | None
) -> DualPrices:
    """Dual prices that know a privacy model of the problem where one can be priced, else k alone."""
    rule = priced_rule(problem)
    if rule is None:
        return dual_prices(problem, closed, cost, run, rounds=rounds)
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
    problem: Problem, rule: PricedRule, closed: ClosedRecords, cost: np.ndarray, run: Run, rounds: int | None
) -> ModelPrices:
    """Feasible dual prices of units: raised together and repaired where too high, as `dual_prices` does.

    cost    cost of one record published as each closed record
    rounds  how many rounds; None: up to 150, and with little time the steps shrink sooner
    """
    unit_of_record, units = _units(problem, rule, closed, cost)
    feasible = feasible_records(units)
    price = cheapest_over_units(units, feasible)
    scale = float(cost.max())
    step = first_step = (0.03 if problem.k >= 50 else 0.02) * scale
    floor = cost - 2 * step
    near = np.zeros(len(cost), dtype=bool)
    rng = np.random.default_rng(problem.seed)
    done, number = 0.0, 0
    raising = run.share_of_time(1 - _SHARE_FOR_CHECK)
    allowed = raising.seconds_left
    while done < 1 and not raising.out_of_time:
        run.report("proving a bound", done)
        price += step
        if number % _ALL == 0:
            order = np.flatnonzero(feasible & (cost < price.max()))
            near[:] = False
        else:
            order = np.flatnonzero(near)
        rng.shuffle(order)
        raise_unit_prices(units, price, floor, order, near, step)
        number += 1
        done = number / (rounds or _ROUNDS)
        if rounds is None and allowed:
            gone = 1 - (raising.seconds_left or 0.0) / allowed
            if gone > done:
                run.cut()
            done = max(done, gone)
        step = first_step * _SLOWER ** (_ROUNDS * done)
    lower_unit_prices(units, price, floor, np.flatnonzero(feasible & (cost < price.max())))
    slack = unit_slacks(units, price, floor, feasible, _EXACT * scale)
    price += min(float(slack.min()), 0.0)  # rounding may leave a closed record violated
    weights = np.bincount(units.row, units.copies * price, minlength=len(problem.rows.counts))
    return ModelPrices(weights / problem.rows.counts, slack, floor, number, price, unit_of_record)


def _units(
    problem: Problem, rule: PricedRule, closed: ClosedRecords, cost: np.ndarray
) -> tuple[np.ndarray, PricedUnits]:
    """The unit of each record, and the units with the closed records over them."""
    key = problem.rows.of_record.astype(np.int64) * rule.n_classes + rule.class_of_record
    keys, unit_of_record, copies = np.unique(key, return_inverse=True, return_counts=True)
    row, value = keys // rule.n_classes, keys % rule.n_classes
    units = PricedUnits(
        start=closed.start,
        rows=closed.rows,
        cost=cost,
        unit_start=np.searchsorted(row, np.arange(len(problem.rows.counts) + 1)),
        row=row,
        copies=copies.astype(np.int64),
        value=value,
        n_values=rule.n_classes,
        caps=rule.caps.astype(np.int64),
        sizes=rule.sizes.astype(np.int64),
        least_distinct=rule.least_distinct,
    )
    return unit_of_record, units
