"""Lower bounds on the cost of all recodings between two: all undecided choices cut, and all merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kohort.algorithms.kernels.class_tables import number_classes, sum_by_class
from kohort.algorithms.schemes.kernels.recoding_bounds import LOST, OPEN, class_costs, grouped
from kohort.algorithms.schemes.node_table import NodeTable
from kohort.algorithms.schemes.pricing import ClassSums, Pricing, Recoded
from kohort.algorithms.schemes.undecided_runs import UndecidedRuns
from kohort.algorithms.schemes.undecided_sets import UndecidedSets

State = Any  # of one attribute, as its side has it
States = tuple[State, ...]


@dataclass(frozen=True, eq=False)
class Node:
    """A node of the search: classes at its fine partitions, and a lower bound on the cost of each.

    least  per class: a lower bound on its cost
    state  per class: whether it is always, perhaps or never published
    room   per class that is perhaps published: how much more than `least` it costs to withhold it
    lost   how many records are withheld in any case
    """

    states: States
    fine: Recoded
    coarse: Recoded
    cells: ClassSums
    penalties: np.ndarray
    least: np.ndarray
    state: np.ndarray
    room: np.ndarray
    lost: int

    @property
    def bound(self) -> float:
        return float(self.least.sum())


class NodeBounds:
    """Lower bounds of nodes of the search; `withheld_cost` is infinite where no record may be withheld."""

    def __init__(self, pricing: Pricing) -> None:
        self.pricing = pricing
        problem = pricing.problem
        self.k, self.most_withheld = problem.k, problem.max_withheld
        self.withheld_cost = pricing.withheld_cost if self.most_withheld else np.inf
        self.sides: list[UndecidedRuns | UndecidedSets] = [
            (UndecidedRuns if space.ordered else UndecidedSets)(pricing, j)
            for j, space in enumerate(pricing.spaces)
        ]

    def node(self, states: States) -> Node:
        """A node with the least cost of its classes."""
        pricing = self.pricing
        fine = tuple(side.fine(state) for side, state in zip(self.sides, states))
        coarse = tuple(side.coarse(state) for side, state in zip(self.sides, states))
        cells = pricing.cells(fine)
        widest_of, widest_rows = pricing.classes(coarse, cells.first)
        widest = sum_by_class(widest_of, cells.sizes, len(widest_rows))[widest_of]
        penalties = pricing.penalties(cells, fine)
        least, state, lost = class_costs(cells.sizes, penalties, widest, self.k, self.withheld_cost)
        room = np.zeros(len(least))
        room[state == OPEN] = self.withheld_cost * cells.sizes[state == OPEN] - least[state == OPEN]
        return Node(states, fine, coarse, cells, penalties, least, state, room, int(lost))

    def parts(self, recoded: Recoded, cells: ClassSums, j: int) -> np.ndarray:
        """The part of each class in attribute j."""
        return np.array(recoded[j], dtype=np.int64)[self.pricing.values[cells.first, j]]

    def _groups(self, recoded: Recoded, cells: ClassSums, j: int) -> tuple[np.ndarray, int]:
        """The group of each cell, and the number of groups; a group is alike in all attributes but j."""
        mapped = np.concatenate([np.array(partition, dtype=np.int32) for partition in recoded])
        others = np.array([i for i in range(len(recoded)) if i != j], dtype=np.int64)
        values, starts, radix = self.pricing.values, self.pricing.starts, self.pricing.radix
        group_of, first = number_classes(values, cells.first, others, starts, mapped, radix)
        return group_of, len(first)

    def table(self, node: Node, j: int, limit: float = np.inf) -> NodeTable:
        """The table of a node for deciding attribute j."""
        pricing, cells = self.pricing, node.cells
        part_of, group_of, order, start = self._grouped(node, j)
        outer, n_outer = self._groups(node.coarse, cells, j)
        outer_of = np.zeros(len(start) - 1, dtype=np.int64)
        outer_of[group_of] = outer
        n_parts = max(node.fine[j]) + 1
        records = np.bincount(outer * n_parts + part_of, cells.sizes, minlength=n_outer * n_parts)
        own = cells.own[:, j]
        rest = np.zeros(len(own))
        if not pricing.discernible:
            rest = node.penalties - own * pricing.prices(j, node.fine[j])[pricing.values[cells.first, j]]
        return NodeTable(
            part_of=part_of,
            order=order,
            start=start,
            cells=np.array([cells.sizes, rest, own]),
            outer_of=outer_of,
            records=records.reshape(n_outer, n_parts),
            k=self.k,
            withheld_cost=self.withheld_cost,
            discernible=pricing.discernible,
            limit=limit,
        )

    def published(self, node: Node, j: int) -> NodeTable:
        """The table of a node for deciding attribute j, if only records that always are get withheld."""
        part_of, _, order, start = self._grouped(node, j)
        cells = np.zeros((3, len(part_of)))
        cells[0] = np.where(node.state == LOST, 0, node.cells.sizes)
        return NodeTable(
            part_of=part_of,
            order=order,
            start=start,
            cells=cells,
            outer_of=np.zeros(len(start) - 1, dtype=np.int64),
            records=np.full((1, max(node.fine[j]) + 1), float(self.k)),
            k=self.k,
            withheld_cost=np.inf,
            discernible=True,
            limit=np.inf,
        )

    def _grouped(self, node: Node, j: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The part and the group of each cell in attribute j, the cells by group, and where groups start."""
        part_of = self.parts(node.fine, node.cells, j)
        group_of, n_groups = self._groups(node.fine, node.cells, j)
        order, start = grouped(group_of, part_of, n_groups, max(node.fine[j]) + 1)
        return part_of, group_of, order, start
