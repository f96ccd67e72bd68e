"""The units of a problem whose prices know a privacy model, and what such prices are computed with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kohort.algorithms.mining.closed_records import ClosedRecords
from kohort.algorithms.proofs.kernels.closeness_prices import (
    CloseUnits,
    close_records,
    close_slacks,
    lower_close_prices,
    raise_close_prices,
)
from kohort.algorithms.proofs.kernels.model_prices import (
    PricedUnits,
    feasible_records,
    lower_unit_prices,
    raise_unit_prices,
    unit_slacks,
)
from kohort.algorithms.proofs.priced_rules import CloseRule, PricedRule
from kohort.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class RecordUnits:
    """Records of the same row whose sensitive values are of the same class."""

    of_record: np.ndarray
    row: np.ndarray
    value: np.ndarray  # the class
    copies: np.ndarray
    start: np.ndarray  # per row and one more: its units

    @classmethod
    def of(cls, problem: Problem, class_of_record: np.ndarray, n_classes: int) -> RecordUnits:
        key = problem.rows.of_record.astype(np.int64) * n_classes + class_of_record
        keys, of_record, copies = np.unique(key, return_inverse=True, return_counts=True)
        row = keys // n_classes
        start = np.searchsorted(row, np.arange(len(problem.rows.counts) + 1))
        return cls(of_record, row, keys % n_classes, copies.astype(np.int64), start)


class Pricing(ABC):
    """Closed records, the units under them, and how prices of units are lowered for a kind of rule.

    cost    cost of one record published as each closed record
    charge  what is charged per closed record and value, for rules that need it
    """

    charge: np.ndarray | None = None

    def __init__(self, units: RecordUnits, closed: ClosedRecords, cost: np.ndarray, step: float) -> None:
        self.units, self.closed, self.cost = units, closed, cost
        self.level = cost - 2 * step

    @cached_property
    @abstractmethod
    def feasible(self) -> np.ndarray:
        """For each closed record whether a group under it may satisfy the rule."""

    @abstractmethod
    def raise_prices(self, price: np.ndarray, order: np.ndarray, near: np.ndarray, step: float) -> None:
        """Visit closed records and lower prices where they are too high; fill `near`: slack below `step`."""

    @abstractmethod
    def lower_until_feasible(self, price: np.ndarray, order: np.ndarray) -> None:
        """Lower prices until no valid group under these closed records can pay them."""

    @abstractmethod
    def slacks(self, price: np.ndarray, exact_below: float) -> np.ndarray:
        """Lower bounds on cost minus mean price of the dearest valid group, exact where they are small."""


class _ByCases(Pricing):
    """Rules about shares and distinct values."""

    def __init__(
        self, units: RecordUnits, closed: ClosedRecords, cost: np.ndarray, step: float, rule: PricedRule
    ) -> None:
        super().__init__(units, closed, cost, step)
        self.priced = PricedUnits(
            start=closed.start,
            rows=closed.rows,
            cost=cost,
            unit_start=units.start,
            row=units.row,
            copies=units.copies,
            value=units.value,
            n_values=rule.n_classes,
            caps=rule.caps.astype(np.int64),
            sizes=rule.sizes.astype(np.int64),
            least_distinct=rule.least_distinct,
        )

    @cached_property
    def feasible(self) -> np.ndarray:
        return feasible_records(self.priced)

    def raise_prices(self, price: np.ndarray, order: np.ndarray, near: np.ndarray, step: float) -> None:
        raise_unit_prices(self.priced, price, self.level, order, near, step)

    def lower_until_feasible(self, price: np.ndarray, order: np.ndarray) -> None:
        lower_unit_prices(self.priced, price, self.level, order)

    def slacks(self, price: np.ndarray, exact_below: float) -> np.ndarray:
        return unit_slacks(self.priced, price, self.level, self.feasible, exact_below)


class _ByCharges(Pricing):
    """t-closeness with the equal distance."""

    def __init__(
        self, units: RecordUnits, closed: ClosedRecords, cost: np.ndarray, step: float, rule: CloseRule
    ) -> None:
        super().__init__(units, closed, cost, step)
        self.charge = np.zeros((len(cost), len(rule.share)), dtype=np.float64)
        self.priced = CloseUnits(
            start=closed.start,
            rows=closed.rows,
            cost=cost,
            unit_start=units.start,
            copies=units.copies,
            value=units.value,
            share=rule.share,
            t=rule.t,
            size=rule.size,
            charge=self.charge,
            level=self.level,
        )

    @cached_property
    def feasible(self) -> np.ndarray:
        return close_records(self.priced)

    def raise_prices(self, price: np.ndarray, order: np.ndarray, near: np.ndarray, step: float) -> None:
        raise_close_prices(self.priced, price, order, near, step)

    def lower_until_feasible(self, price: np.ndarray, order: np.ndarray) -> None:
        lower_close_prices(self.priced, price, order)

    def slacks(self, price: np.ndarray, exact_below: float) -> np.ndarray:
        return close_slacks(self.priced, price, self.feasible, exact_below)


def pricing_of(
    problem: Problem, rule: PricedRule | CloseRule, closed: ClosedRecords, cost: np.ndarray, step: float
) -> Pricing:
    """What prices that know a rule are computed with."""
    units = RecordUnits.of(problem, rule.class_of_record, rule.n_classes)
    if isinstance(rule, CloseRule):
        return _ByCharges(units, closed, cost, step, rule)
    return _ByCases(units, closed, cost, step, rule)
