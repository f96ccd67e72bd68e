"""What a record pays for a published cell, as whole numbers of units that are never above the true cost.

A unit is 2^-40 of a cost of 1 in every column. Costs are fractions, rounded down here; so the sum of such
numbers over the cells of a release is a lower bound on its cost, and a bound on the one is a bound on the
other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from kohort_check.closed import Tree
from kohort_check.groups import Refused

UNIT = 2**40
COSTS = ("loss", "ncp", "tree", "suppressions", "entropy", "monotone-entropy")
_DIGITS, _ERROR = Context(prec=60), Decimal(10) ** -30  # logarithms are rounded in the 60th digit


class CellCosts:
    """The cost of a cell of one column.

    name    the name of the cost, one of COSTS
    labels  per node the label that is published
    counts  per node how many records have it as their value
    """

    def __init__(self, name: str, tree: Tree, labels: Sequence[str | None], counts: np.ndarray) -> None:
        if name not in COSTS:
            raise Refused(f"no cost is called {name!r}")
        self.name, self.tree, self.labels, self.counts = name, tree, labels, counts
        n = len(tree.parent)
        is_leaf = np.ones(n, dtype=bool)
        is_leaf[tree.parent[1:]] = False
        self.width, self.mass, self.level = (
            is_leaf.astype(np.int64),
            counts.astype(np.int64),
            np.zeros(n, int),
        )
        for node in range(n - 1, 0, -1):
            above = tree.parent[node]
            self.width[above] += self.width[node]
            self.mass[above] += self.mass[node]
            self.level[above] = max(self.level[above], self.level[node] + 1)

    def of_nodes(self) -> list[Fraction]:
        """Per node the cost of a cell published as it, or a little less where that is no fraction.

        Never above that of its parent: where it would be, the parent's is taken, which is less.
        """
        costs = (
            self._entropies() if "entropy" in self.name else [self._cost(n) for n in range(len(self.width))]
        )
        for node in range(1, len(costs)):
            costs[node] = min(costs[node], costs[self.tree.parent[node]])
        return costs

    def of_star(self) -> Fraction:
        """The cost of a cell published as `*`, whatever the root is called."""
        if "entropy" in self.name:
            return self.of_nodes()[0]
        return Fraction(int(self.width[0] > 1 or self.name in ("tree", "suppressions")))

    def _cost(self, node: int) -> Fraction:
        width, leaves, level = int(self.width[node]), int(self.width[0]), int(self.level[node])
        if self.name == "loss":  # the share of the other leaves that it covers
            return Fraction(width - 1, max(leaves - 1, 1))
        if self.name == "ncp":  # the share of all leaves that it covers; an exact value costs nothing
            return Fraction(width if width > 1 else 0, leaves)
        if self.name == "tree":  # the share of all levels that it is above its deepest leaf
            return Fraction(level, max(int(self.level[0]), 1))
        return Fraction(int(self.labels[node] == "*" and level > 0))

    def _entropies(self) -> list[Fraction]:
        """Bits that are missing to know the value, times the share of the records for monotone-entropy.

        With m records under the node, c of each value: (m * log m - sum of c * log c) / m, rounded down.
        """
        of_value, total = [self._log(int(c)) for c in self.counts], max(int(self.mass[0]), 1)
        inside = list(of_value)
        for node in range(len(inside) - 1, 0, -1):
            inside[self.tree.parent[node]] += inside[node]
        found = []
        for mass, below in zip(self.mass.tolist(), inside):
            bits = Fraction(max(self._log(mass) - below - _ERROR, Decimal(0)))
            found.append(bits / (total if self.name == "monotone-entropy" else max(mass, 1)))
        return found

    @staticmethod
    def _log(count: int) -> Decimal:
        """count * log2(count), to 30 decimals or more."""
        of_two = _DIGITS.ln(Decimal(2))
        return _DIGITS.multiply(Decimal(count), _DIGITS.divide(_DIGITS.ln(Decimal(max(count, 1))), of_two))


def in_units(costs: Sequence[Fraction], weight: Fraction) -> np.ndarray:
    """Costs times the weight of their column, whose weights add up to 1, in units, rounded down."""
    return np.array([math.floor(cost * weight * UNIT) for cost in costs], dtype=np.int64)
