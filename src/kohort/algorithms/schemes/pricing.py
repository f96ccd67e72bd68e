"""The cost of a recoding: the table in values of the spaces, and the price of every block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kohort.algorithms.kernels.class_tables import number_classes
from kohort.algorithms.schemes.kernels.recoding_bounds import class_costs, sum_cells
from kohort.algorithms.schemes.partition_space import Partition, blocks_of
from kohort.algorithms.schemes.scheme_spaces import SchemeSpace
from kohort.data.domain import GeneralizedValues
from kohort.problem.costs import CellCost
from kohort.problem.problem import Problem

Recoded = tuple[Partition, ...]  # one partition per attribute


@dataclass(frozen=True, eq=False)
class ClassSums:
    """The equivalence classes of a recoding, with sums over their records.

    of_row   per distinct row: its class
    first    per class: one of its rows
    sizes    per class: its number of records; `own` and `offset` are sums over them
    """

    of_row: np.ndarray
    first: np.ndarray
    sizes: np.ndarray
    own: np.ndarray
    offset: np.ndarray


@dataclass(frozen=True)
class Evaluation:
    """The cost of a recoding, and how many records it withholds."""

    cost: float
    withheld: int


@dataclass(frozen=True, eq=False)
class Pricing:
    """The costs of Li and Li, section 4: discernibility, or a sum over cells of a table.

    A published record costs, per attribute, its `own` factor times the price of its block, less its `offset`.
    So (N_e - N_v) / (N - N_v) is the price N_e times the factor 1 / (N - N_v), less N_v / (N - N_v).
    """

    problem: Problem
    spaces: Sequence[SchemeSpace]
    _known: dict[tuple[int, Partition], np.ndarray] = field(default_factory=dict)

    @property
    def discernible(self) -> bool:
        """Whether the cost is the size of a record's class."""
        return self.problem.cost.counts_classmates

    @cached_property
    def values(self) -> np.ndarray:
        """The number of each value in its space: distinct rows by attributes."""
        columns = zip(self.spaces, self.problem.rows.leaves.T)
        found = [space.value_of_leaf[leaves] for space, leaves in columns]
        return np.column_stack(found).astype(np.int32)

    @cached_property
    def starts(self) -> np.ndarray:
        """The first number of each attribute's values when all attributes share one numbering."""
        return np.cumsum([0, *(space.n for space in self.spaces)])[:-1]

    @cached_property
    def radix(self) -> np.ndarray:
        """The most blocks that each attribute can have."""
        return np.array([space.n for space in self.spaces], dtype=np.int64)

    @cached_property
    def own(self) -> np.ndarray:
        """The factors of the prices of blocks, summed over each row's records: rows by attributes."""
        return np.zeros(self.values.shape) if self.discernible else self._by_row(self.cost.factors)

    @cached_property
    def offset(self) -> np.ndarray:
        """The amount subtracted from the prices of each row's blocks, summed over its records."""
        if self.discernible:
            return np.zeros(len(self.values))
        return self._by_row(self.cost.offsets).sum(axis=1)

    @property
    def cost(self) -> CellCost:
        """The cost of the problem, if it is a cost of cells."""
        assert isinstance(self.problem.cost, CellCost)
        return self.problem.cost

    def _by_row(self, of_values: Callable[[np.ndarray, int, float], np.ndarray]) -> np.ndarray:
        columns = [
            of_values(space.counts, self.problem.n_records, weight)[column]
            for space, weight, column in zip(self.spaces, self.problem.weights, self.values.T)
        ]
        return np.column_stack(columns) * self.problem.rows.counts[:, None]

    @cached_property
    def withheld_cost(self) -> float:
        """The cost of a withheld record."""
        if self.discernible:
            return float(self.problem.n_records)
        if self.cost.withheld_record is not None:
            return self.cost.withheld_record
        stars = [space.generalized([np.arange(space.attribute.n_leaves)]) for space in self.spaces]
        return float(np.dot(self.problem.weights, [self.cell_costs(star)[0] for star in stars]))

    def cell_costs(self, blocks: GeneralizedValues) -> np.ndarray:
        """The price of blocks of one attribute."""
        return np.zeros(len(blocks.width)) if self.discernible else self.cost.block(blocks)

    def prices(self, j: int, partition: Partition) -> np.ndarray:
        """The price of the block of each value of attribute j."""
        key = (j, partition)
        if key not in self._known:
            if len(self._known) > 100_000:
                self._known.clear()
            space = self.spaces[j]
            sets = [space.leaves(block, partition) for block in blocks_of(partition)]
            self._known[key] = self.cell_costs(space.generalized(sets))[np.array(partition)]
        return self._known[key]

    def classes(self, recoded: Recoded, rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The class of each row (or of the given rows), and one row of each class."""
        mapped = np.concatenate([np.array(partition, dtype=np.int32) for partition in recoded])
        rows = self._all_rows if rows is None else rows
        columns = np.arange(len(self.spaces))
        class_of, first = number_classes(self.values, rows, columns, self.starts, mapped, self.radix)
        return class_of, rows[first]

    @cached_property
    def _all_rows(self) -> np.ndarray:
        return np.arange(len(self.values), dtype=np.int32)

    def cells(self, recoded: Recoded) -> ClassSums:
        class_of, first = self.classes(recoded)
        counts = self.problem.rows.counts
        return ClassSums(class_of, first, *sum_cells(class_of, len(first), counts, self.own, self.offset))

    def penalties(self, cells: ClassSums, recoded: Recoded) -> np.ndarray:
        """The cost of each class if it is published; empty for discernibility."""
        if self.discernible:
            return np.zeros(0)
        total = -cells.offset
        for j, partition in enumerate(recoded):
            total += cells.own[:, j] * self.prices(j, partition)[self.values[cells.first, j]]
        return total

    def evaluate(self, recoded: Recoded) -> Evaluation:
        """The cost of a recoding, and how many records it withholds. O(rows * attributes)."""
        cells = self.cells(recoded)
        least, _, withheld = class_costs(
            cells.sizes, self.penalties(cells, recoded), cells.sizes, self.problem.k, self.withheld_cost
        )
        return Evaluation(float(least.sum()), int(withheld))

    @property
    def coarsest(self) -> Recoded:
        """The recoding with all records in one class, which is always allowed."""
        return tuple(s.space.levels[-1] if s.space.levels else s.space.coarsest for s in self.spaces)

    @property
    def finest(self) -> Recoded:
        return tuple(s.space.levels[0] if s.space.levels else s.space.finest for s in self.spaces)

    def measured(self, total: float) -> float:
        """A sum of costs over records in the units in which the cost is reported."""
        measure = self.problem.cost.measure_of_sum(total, self.problem.n_records, self.problem.weights)
        assert measure is not None
        return measure


TIES = 1e-9  # costs nearer than this share of the best one are the same


@dataclass(frozen=True, eq=False)
class BestRecoding:
    """The best recoding found so far.

    bound  a lower bound on the cost of any recoding of the schemes
    nodes  how many nodes of the search were examined
    """

    recoded: Recoded
    cost: float
    withheld: int
    bound: float
    nodes: int

    @property
    def limit(self) -> float:
        """The cost that a recoding must be below to be an improvement."""
        return self.cost - TIES * max(abs(self.cost), 1e-3)
