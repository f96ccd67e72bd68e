"""The lower bound that prices prove: everything together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from kohort_check.closed import Table, Tree, overpriced
from kohort_check.costs import UNIT, CellCosts, in_units
from kohort_check.cuts import Cut, allowances
from kohort_check.groups import (
    Capped,
    Close,
    Distinct,
    Refused,
    Rule,
    entropy_cases,
    least_close_size,
    share_cases,
)

KINDS = ("share", "entropy", "distinct", "close")


@dataclass(frozen=True)
class Promise:
    """What every class of a release keeps besides its size, about the labels of its records.

    kind    share: no limited label has a greater share than `number`; entropy: exp(entropy) of the labels is
            at least `number`; distinct: there are at least `number` labels; close: the shares of labels in
            the class exceed those in the table by at most `number` in all
    number  a fraction
    """

    kind: str
    number: Fraction

    def rules(
        self, k: int, table: Table, charges: Mapping[tuple[int, ...], np.ndarray]
    ) -> tuple[int, list[Rule]]:
        """The least size of a class, and rules that prices may use. Labels below 0 are not limited."""
        overall = np.bincount(table.label + 1, table.copies).astype(np.int64)
        unlimited, overall = int(overall[0]), overall[1:]
        if (
            self.number < 0
            or (self.kind == "share" and not self.number)
            or (self.kind != "share" and unlimited)
        ):
            raise Refused("the promise besides k cannot be used for prices")
        if self.kind == "share":
            return k, [Capped(share_cases(min(self.number, Fraction(1)), k))]
        if self.kind == "entropy":
            return k, [Capped(entropy_cases(self.number, int((overall > 0).sum()), k))]
        if self.kind == "distinct":
            least = math.ceil(self.number)
            return max(k, least), [Distinct(least, max(k, least))]
        if self.kind == "close":
            highest = max((int(charge.max()) for charge in charges.values()), default=0)
            if 4 * (highest + 1) * int(overall.sum()) >= 2**62:
                raise Refused("the charges are too large for exact arithmetic in 64 bits")
            size = least_close_size(overall, self.number, k)
            return size, [Close(self.number, overall, size, charges)]
        raise Refused(f"no promise is of kind {self.kind!r}")


@dataclass(frozen=True, eq=False)
class Prices:
    """A proof: prices of records, and what makes them valid.

    price    per record, in units
    cuts     with their prices
    promise  besides k, if prices make use of one
    charges  for `close`: numbers >= 0 per label, in units, by closed record
    order    in which columns are settled
    """

    price: np.ndarray
    cuts: Sequence[Cut] = ()
    promise: Promise | None = None
    charges: Mapping[tuple[int, ...], np.ndarray] = field(default_factory=dict)
    order: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class Column:
    """A quasi-identifier: its tree, the label that each node is published as, and its weight in the cost."""

    name: str
    tree: Tree
    labels: Sequence[str | None]
    weight: Fraction


@dataclass(frozen=True, eq=False)
class Claim:
    """What a bound is about: releases of these columns that keep the promises, and their cost.

    withheld  how many records may be published as `*` in all columns, whatever the promises
    """

    columns: Sequence[Column]
    cost: str
    k: int
    withheld: int

    def __post_init__(self) -> None:
        weights = [column.weight for column in self.columns]
        if self.k < 1 or self.withheld < 0 or min(weights, default=-1) < 0 or not sum(weights):
            raise Refused("there is no k of 1 or more, a negative number, or no column with a weight")
        if self.cost == "suppressions" and len({*weights}) > 1:
            raise Refused("suppressions are counted alike in all columns, whatever their weights")

    def weight(self, column: Column) -> Fraction:
        """The share of the cost that a column has."""
        return column.weight / sum((other.weight for other in self.columns), Fraction(0))

    def bound(self, cells: np.ndarray, label: np.ndarray, prices: Prices) -> Fraction:
        """The lower bound on the cost of any release that the prices prove; Refused if they do not.

        cells  records by columns: the node of each value
        label  per record its sensitive value, as the promise of the prices knows it
        """
        n_records = len(cells)
        if not n_records == len(prices.price) == len(label) or not n_records:
            raise Refused("there is not one price for each of the records")
        costs, star = [], 0
        for column, values in zip(self.columns, cells.T):
            counts = np.bincount(values, minlength=len(column.tree.parent))
            of_cells = CellCosts(self.cost, column.tree, column.labels, counts)
            costs.append(in_units(of_cells.of_nodes(), self.weight(column)))
            star += int(in_units([of_cells.of_star()], self.weight(column))[0])
        table = Table.of_records(cells, prices.price, label, [column.tree for column in self.columns], costs)
        total = Fraction(max(proven_total(table, self.k, prices, self.withheld, star), 0), UNIT)
        return total * len(self.columns) if self.cost == "suppressions" else total / n_records


def proven_total(table: Table, k: int, prices: Prices, withheld: int, star: int) -> int:
    """A lower bound on the cost of all records in units; Refused if the prices prove none.

    withheld  how many records may be published as `*` in all columns, whatever the promises
    star      what such a record pays

    **Lemma 14.** Records that are withheld are in no class: the bound counts `star` for them. Whichever they
    are, that lowers the sum of prices by at most the sum of those of prices minus `star` that are above 0,
    over the dearest records. Cuts hold all the same.
    """
    size, rules = k, list[Rule]()
    if prices.promise is not None:
        if prices.cuts or (prices.promise.kind == "close" and withheld):
            raise Refused("cuts are for k alone, and t-closeness for releases that withhold no record")
        size, rules = prices.promise.rules(k, table, prices.charges)
    allowed = allowances(table, prices.cuts, k)
    for nodes, excess in overpriced(table, size, rules, prices.order or range(len(table.trees))):
        for record, above in zip(nodes.tolist(), excess.tolist()):
            if above > allowed.get(tuple(record), 0):
                raise Refused("records under some closed record are priced above its cost")
    total = sum(int(copies) * int(price) for copies, price in zip(table.copies, table.price))
    return total - _lost_to_withheld(table, withheld, star) - sum(cut.price * cut.most for cut in prices.cuts)


def _lost_to_withheld(table: Table, withheld: int, star: int) -> int:
    lost = 0
    for copies, price in zip(table.copies.tolist(), table.price.tolist()):  # the dearest first
        if withheld <= 0 or price <= star:
            break
        lost += min(copies, withheld) * (price - star)
        withheld -= copies
    return lost
