"""Lower bounds on the cost of all recodings between two: all undecided choices cut, and all merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kohort.algorithms.kernels.class_tables import number_classes, sum_by_class
from kohort.algorithms.schemes.kernels.recoding_bounds import (
    KEPT,
    LOST,
    OPEN,
    class_costs,
    grouped,
    merge_costs_of_cells,
    merge_costs_of_parts,
    raise_prices,
)
from kohort.algorithms.schemes.node_table import MergeEvents, NodeTable
from kohort.algorithms.schemes.pricing import ClassSums, Pricing, Recoded
from kohort.algorithms.schemes.undecided_runs import UndecidedRuns
from kohort.algorithms.schemes.undecided_sets import UndecidedSets

State = Any  # of one attribute, as its side has it
States = tuple[State, ...]
_ROUNDS = 6  # rounds in which merge costs are shared among cells


@dataclass(frozen=True, eq=False)
class Node:
    """A node of the search: classes at its fine partitions, a lower bound on the cost of each, and prices
    that are added to it."""

    states: States
    fine: Recoded
    coarse: Recoded
    cells: ClassSums
    penalties: np.ndarray
    least: np.ndarray
    state: np.ndarray
    events: list[MergeEvents]
    left: np.ndarray
    prices: np.ndarray
    room: np.ndarray
    bound: float


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
        self.starts = np.cumsum([0, *(side.n_variables for side in self.sides)])

    def node(self, states: States, *, dual_ascent: bool = True) -> Node | None:
        """A node with its bound; None if too many records are withheld."""
        node, least, lost = self.bare(states)
        if lost > self.most_withheld:
            return None
        if not dual_ascent:
            return replace(node, bound=float(least.sum()))
        events = [self._events(j, one, node.fine) for j, one in enumerate(states)]
        left = self._merge_costs(states, node.fine, node.cells, node.state)
        node = replace(node, events=events, left=left, prices=np.zeros(len(least)))
        self._raise(node, range(len(self.sides)), left, node.prices, _ROUNDS)
        return replace(node, bound=float(least.sum() + node.prices.sum()))

    def bare(self, states: States) -> tuple[Node, np.ndarray, int]:
        """A node without prices, the least cost of its cells, and how many records it always withholds."""
        pricing = self.pricing
        fine = tuple(side.fine(state) for side, state in zip(self.sides, states))
        coarse = tuple(side.coarse(state) for side, state in zip(self.sides, states))
        cells = pricing.cells(fine)
        widest_of, widest_rows = pricing.classes(coarse, cells.first)
        widest = sum_by_class(widest_of, cells.sizes, len(widest_rows))[widest_of]
        penalties = pricing.penalties(cells, fine)
        least, state, lost = class_costs(cells.sizes, penalties, widest, self.k, self.withheld_cost)
        room = np.zeros(len(least))  # until withholding is cheaper
        room[state == OPEN] = self.withheld_cost * cells.sizes[state == OPEN] - least[state == OPEN]
        nothing = np.zeros(0)
        node = Node(states, fine, coarse, cells, penalties, least, state, [], nothing, nothing, room, -np.inf)
        return node, least, int(lost)

    def _merge_costs(self, states: States, fine: Recoded, cells: ClassSums, state: np.ndarray) -> np.ndarray:
        """A lower bound on what merging each variable of all attributes adds to the cost of records."""
        left = np.zeros(self.starts[-1])
        for j, side in enumerate(self.sides):
            here = left[self.starts[j] : self.starts[j + 1]]
            variables = side.variables(states[j])
            part_of = self.parts(fine, cells, j)
            if self.pricing.discernible:
                groups = self._groups(fine, cells, j)
                order, start = grouped(groups[0], part_of, groups[1], len(variables))
                merge_costs_of_cells(order, start, part_of, cells.sizes, state, variables, self.k, here)
            else:
                kept = np.where(state == KEPT, cells.own[:, j], 0.0)
                kept = np.bincount(part_of, kept, minlength=len(variables))
                merge_costs_of_parts(kept, self._least_added(j, fine), variables, here)
        return left

    def _events(self, j: int, state: State, fine: Recoded) -> MergeEvents:
        """The merges that let the parts of an attribute grow, and what they add to the price of each part."""
        events = self.sides[j].events(state)
        if self.pricing.discernible or not len(events.variables):
            return replace(events, added=np.zeros(len(events.variables)))
        variables = self.sides[j].variables(state)
        both_ways = np.maximum(variables, variables.T)
        part = np.repeat(np.arange(len(events.start) - 1), np.diff(events.start))
        partners = both_ways[part] == events.variables[:, None]
        return replace(events, added=partners @ self._least_added(j, fine))

    def _least_added(self, j: int, fine: Recoded) -> np.ndarray:
        """A lower bound on what each part of an attribute adds to the price of another it is merged with."""
        space = self.pricing.spaces[j]
        counts = np.bincount(fine[j], space.counts)
        width = np.bincount(fine[j]).astype(float)
        return self.pricing.least_added(space.summed(width, counts, counts, space.leaf[:1], space.leaf[:1]))

    def parts(self, recoded: Recoded, cells: ClassSums, j: int) -> np.ndarray:
        return np.array(recoded[j], dtype=np.int64)[self.pricing.values[cells.first, j]]

    def _groups(self, recoded: Recoded, cells: ClassSums, j: int) -> tuple[np.ndarray, int]:
        """The group of each cell, and the number of groups; a group is alike in all attributes but j."""
        mapped = np.concatenate([np.array(partition, dtype=np.int32) for partition in recoded])
        others = np.array([i for i in range(len(recoded)) if i != j], dtype=np.int64)
        values, starts, radix = self.pricing.values, self.pricing.starts, self.pricing.radix
        group_of, first = number_classes(values, cells.first, others, starts, mapped, radix)
        return group_of, len(first)

    def _raise(
        self, node: Node, attributes: Sequence[int], left: np.ndarray, prices: np.ndarray, rounds: int
    ) -> None:
        """Raise the prices of open cells, in place, by what merging these attributes would add."""
        open_cells = np.flatnonzero(node.state == OPEN)
        found = [self._events_of_cells(node, j, open_cells) for j in attributes]
        owner, variables, own_costs = (np.concatenate(parts) for parts in zip(*found))
        order = np.argsort(owner, kind="stable")
        start = np.append(0, np.cumsum(np.bincount(owner, minlength=len(open_cells))))
        room = node.room[open_cells]
        raise_prices(open_cells, room, start, variables[order], own_costs[order], left, prices, rounds)

    def _events_of_cells(
        self, node: Node, j: int, cells: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The merges that let some cells grow in attribute j: place of the cell, variable and cost."""
        events = node.events[j]
        part = self.parts(node.fine, node.cells, j)[cells]
        n_events = np.diff(events.start)[part]
        owner = np.repeat(np.arange(len(cells)), n_events)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(n_events) - n_events, n_events)
        place = np.repeat(events.start[part], n_events) + within
        own_costs = events.added[place] * node.cells.own[cells[owner], j]
        return owner, events.variables[place] + self.starts[j], own_costs

    def table(self, node: Node, j: int, limit: float = np.inf) -> NodeTable:
        """The table of a node for deciding attribute j, whose own merges are not charged here."""
        pricing, cells = self.pricing, node.cells
        part_of = self.parts(node.fine, cells, j)
        n_parts = max(node.fine[j]) + 1
        group_of, n_groups = self._groups(node.fine, cells, j)
        outer, n_outer = self._groups(node.coarse, cells, j)
        order, start = grouped(group_of, part_of, n_groups, n_parts)
        outer_of = np.zeros(n_groups, dtype=np.int64)
        outer_of[group_of] = outer
        records = np.bincount(outer * n_parts + part_of, cells.sizes, minlength=n_outer * n_parts)
        own = cells.own[:, j]
        rest = np.zeros(len(own))
        if not pricing.discernible:
            rest = node.penalties - own * pricing.prices(j, node.fine[j])[pricing.values[cells.first, j]]
        return NodeTable(
            part_of=part_of,
            order=order,
            start=start,
            cells=np.array([cells.sizes, rest, own, self._prices_without(node, j)]),
            outer_of=outer_of,
            records=records.reshape(n_outer, n_parts),
            k=self.k,
            withheld_cost=self.withheld_cost,
            discernible=pricing.discernible,
            limit=limit,
        )

    def _prices_without(self, node: Node, j: int) -> np.ndarray:
        """The prices of cells that come from merging the other attributes."""
        if not node.events or len(self.sides) == 1:
            return np.zeros(len(node.cells.sizes))
        prices, left = node.prices.copy(), node.left.copy()
        self._raise(node, [i for i in range(len(self.sides)) if i != j], left, prices, 1)
        return prices

    def published(self, node: Node, j: int) -> NodeTable:
        """The table of a node for deciding attribute j, if only records that always are get withheld."""
        part_of = self.parts(node.fine, node.cells, j)
        n_parts = max(node.fine[j]) + 1
        group_of, n_groups = self._groups(node.fine, node.cells, j)
        order, start = grouped(group_of, part_of, n_groups, n_parts)
        cells = np.zeros((4, len(part_of)))
        cells[0] = np.where(node.state == LOST, 0, node.cells.sizes)
        return NodeTable(
            part_of=part_of,
            order=order,
            start=start,
            cells=cells,
            outer_of=np.zeros(n_groups, dtype=np.int64),
            records=np.full((1, n_parts), float(self.k)),
            k=self.k,
            withheld_cost=np.inf,
            discernible=True,
            limit=np.inf,
        )
