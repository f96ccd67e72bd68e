"""Costs of full-domain generalizations, and lower bounds on them before they are examined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from math import prod

import numpy as np

from kohort.algorithms.full_domain.generalized_table import ClassTable, GeneralizedTable, Levels
from kohort.data.domain import GeneralizedValues
from kohort.problem.attribute import Attribute
from kohort.problem.costs import Ambiguity, AverageClassSize, CellCost, Cost, Discernibility
from kohort.problem.problem import Problem


class LatticeCost:
    """A cost for every node of the lattice of levels, as it is measured on the release.

    With f records withheld, a node costs at least `least` + f * `per_withheld` at its place.

    least         per node: a lower bound on its cost with no record withheld
    per_withheld  per node: a lower bound on what a withheld record adds (it may be below 0)
    """

    least: np.ndarray
    per_withheld: np.ndarray

    def of(self, levels: Levels, classes: ClassTable, withheld: np.ndarray) -> float:
        """The cost at these levels if the classes marked in `withheld` are withheld."""
        raise NotImplementedError

    def least_above(self, classes: ClassTable) -> float:
        """A lower bound on the cost of these classes and all that generalize them, if better than `least`."""
        return -np.inf


def lattice_cost(problem: Problem, table: GeneralizedTable) -> LatticeCost:
    """The cost of the problem as a LatticeCost."""
    return _OF_CLASSES.get(type(problem.cost), _OfCells)(problem, table)


def has_lattice_cost(cost: Cost) -> bool:
    """Whether a cost can be minimised over full-domain generalizations."""
    return isinstance(cost, CellCost) or type(cost) in _OF_CLASSES


class _OfCells(LatticeCost):
    """A sum over cells: apart from withheld records, a level costs the same whatever the others are."""

    def __init__(self, problem: Problem, table: GeneralizedTable) -> None:
        cells, self._withheld = _cell_costs(problem, table.nodes)
        counts = [_leaf_masses(problem, attribute) for attribute in problem.attributes]
        self._cells, self._table = cells, table
        self._same_in_class = problem.cost.separable and problem.masses.even
        self._masses = problem.masses.totals(table.cells.of_record, table.cells.counts)
        self.least = _over_lattice(np.add, [cell @ count for cell, count in zip(cells, counts)])
        dearest = [cell[:, count > 0].max(axis=1) for cell, count in zip(cells, counts)]
        self.per_withheld = self._withheld - _over_lattice(np.add, dearest)
        if not problem.masses.even:  # of a record that weighs least, or most where that is less
            lightest, heaviest = problem.masses.each.min(), problem.masses.each.max()
            self.per_withheld *= np.where(self.per_withheld > 0, lightest, heaviest)

    def of(self, levels: Levels, classes: ClassTable, withheld: np.ndarray) -> float:
        if not withheld.any():
            return float(self.least[levels])
        rows, counts = classes.rows[withheld], classes.counts[withheld]
        if not self._same_in_class:
            everything = np.arange(len(self._table.cells.counts), dtype=np.int32)
            rows = everything[withheld[self._table.class_of(everything, classes, levels)]]
            counts = self._masses[rows]
        leaves = self._table.cells.leaves[rows]
        published = sum(cell[level][leaf] for cell, level, leaf in zip(self._cells, levels, leaves.T))
        return float(self.least[levels] + counts @ (self._withheld - published))


def _leaf_masses(problem: Problem, attribute: Attribute) -> np.ndarray:
    """How much the records with each leaf count in the cost: their number, unless they weigh."""
    if problem.masses.even:
        return attribute.leaf_counts
    return problem.masses.totals(attribute.leaves, attribute.leaf_counts)


def _cell_costs(problem: Problem, nodes: Sequence[np.ndarray]) -> tuple[list[np.ndarray], float]:
    """The cost of a record's cell for each attribute, level and leaf; and the cost of a withheld record."""
    cost = problem.cost
    assert isinstance(cost, CellCost)
    values = [_as_measured(attribute) for attribute in problem.attributes]
    heights = np.array([value.height for value in values])
    weights = cost.cell_weights(problem.weights, heights, problem.n_records)
    cells = [
        weight * cost.by_original(value, levels, attribute.leaf_counts)
        for attribute, weight, value, levels in zip(problem.attributes, weights, values, nodes)
    ]
    if cost.withheld_record is not None:
        return cells, cost.withheld_record
    stars = [attribute.star() for attribute in problem.attributes]
    return cells, float(sum(weight * cost.block(star)[0] for weight, star in zip(weights, stars)))


def _as_measured(attribute: Attribute) -> GeneralizedValues:
    """All nodes of an attribute as the release is measured: a node published as `*` covers everything."""
    nodes, star = attribute.nodes(), attribute.star()

    def measured(of_nodes: np.ndarray, of_star: np.ndarray) -> np.ndarray:
        return np.where(nodes.star, of_star, of_nodes)

    return replace(
        nodes,
        width=measured(nodes.width, star.width),
        mass=measured(nodes.mass, star.mass),
        mass_log=measured(nodes.mass_log, star.mass_log),
        level=measured(nodes.level, star.level),
    )


class _Ambiguity(LatticeCost):
    """The mean over records of a product: at least the exponential of the mean of its logarithm."""

    def __init__(self, problem: Problem, table: GeneralizedTable) -> None:
        self._n, self._table = problem.n_records, table
        values = [_as_measured(attribute) for attribute in problem.attributes]
        counts = [attribute.leaf_counts for attribute in problem.attributes]
        self._width = [value.width[levels].astype(float) for value, levels in zip(values, table.nodes)]
        self._star = float(prod(float(attribute.n_leaves) for attribute in problem.attributes))
        logs = [np.log(width) @ count / self._n for width, count in zip(self._width, counts)]
        self.least = np.exp(_over_lattice(np.add, logs))
        widest = [width[:, count > 0].max(axis=1) for width, count in zip(self._width, counts)]
        self.per_withheld = (self._star - _over_lattice(np.multiply, widest)) / self._n

    def of(self, levels: Levels, classes: ClassTable, withheld: np.ndarray) -> float:
        leaves = self._table.cells.leaves[classes.rows]
        product = np.ones(len(leaves))
        for width, level, leaf in zip(self._width, levels, leaves.T):
            product *= width[level][leaf]
        return float(classes.counts @ np.where(withheld, self._star, product) / self._n)


class _Discernibility(LatticeCost):
    """The squares of class sizes: m records in c classes of at least k cost at least m * max(k, m / c).

    With f of n withheld that is f * n + (n - f) * k or, by its tangent, n * n / c + f * (n - 2 * n / c).
    """

    def __init__(self, problem: Problem, table: GeneralizedTable) -> None:
        n, self._k = problem.n_records, problem.k
        self._n = n
        most = _most_classes(table)
        crowded = n / most >= self._k
        self.least = n * np.where(crowded, n / most, self._k)
        self.per_withheld = n - np.where(crowded, 2 * n / most, self._k)

    def of(self, levels: Levels, classes: ClassTable, withheld: np.ndarray) -> float:
        sizes = classes.counts
        return float(sizes @ np.where(withheld, self._n, sizes))

    def least_above(self, classes: ClassTable) -> float:
        return float(classes.counts @ np.maximum(classes.counts, self._k))


class _AverageClassSize(LatticeCost):
    """Published records over classes: at least k, and at least the fewest published over all classes."""

    def __init__(self, problem: Problem, table: GeneralizedTable) -> None:
        self._k, self._published = problem.k, problem.n_records - problem.max_withheld
        self.least = np.maximum(self._k, self._published / _most_classes(table))
        self.per_withheld = np.zeros(table.shape)

    def of(self, levels: Levels, classes: ClassTable, withheld: np.ndarray) -> float:
        return float(classes.counts[~withheld].mean())

    def least_above(self, classes: ClassTable) -> float:
        return max(self._k, self._published / len(classes.rows))


_OF_CLASSES: dict[type[Cost], Callable[[Problem, GeneralizedTable], LatticeCost]] = {
    Ambiguity: _Ambiguity,
    Discernibility: _Discernibility,
    AverageClassSize: _AverageClassSize,
}


def _most_classes(table: GeneralizedTable) -> np.ndarray:
    """An upper bound on the classes of each node: combinations of its nodes, or the number of cells."""
    combined = _over_lattice(
        np.multiply, [[len(np.unique(level)) for level in nodes] for nodes in table.nodes]
    )
    return np.minimum(combined, len(table.cells.counts))


def _over_lattice(combine: Callable, of_levels: Sequence) -> np.ndarray:
    """Combine values of the levels of each attribute into one value per node of the lattice."""
    return reduce(combine, np.ix_(*(np.asarray(values, dtype=float) for values in of_levels)))
