"""All closed records that some group is priced above: enumerated here, taken from nobody.

A *closed record* is a node of each column's tree such that the records under all of its nodes, its support,
are under no lower node of any column. A group of records is published, at best, as the lowest nodes that
cover it.

**Lemma 8.** These lowest nodes are a closed record, and the group is in its support. *Proof.* All records of
the group are under them. A lower node of some column over the whole support would be one over the group.

**Lemma 9.** If costs never fall from a node to its parent, every release in which a record costs no less than
the nodes that cover its class costs at least the sum of all prices, where no class has an excess above 0
under its closed record. *Proof.* Add up size times cost >= the sum of prices over all classes.

Closed records are settled column by column: after some columns, a set has all records under the nodes settled
so far. **Lemma 10.** What a rule excludes for a set and the cost settled so far, it excludes for every closed
record that begins with these nodes. *Proof.* The support is no larger and the cost no less, so no excess is
greater. Nor is anything lost where fewer than k records are left, or where a settled node is not the lowest
one over a set: the records under a closed record that begins with these nodes would not be closed in that
column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kohort_check.groups import Refused, Rule, Size, Supports

_UNITS, _PAIRS = 300_000, 4_000_000  # units in a portion; sets times nodes: bounds on memory, nothing else


@dataclass(frozen=True, eq=False)
class Tree:
    """What the values of a column may be published as: nodes numbered from the root, 0, parents first.

    parent  per node; -1 for the root
    hidden  per node: whether it is a value that is only ever published as the root
    """

    parent: np.ndarray
    hidden: np.ndarray

    def __post_init__(self) -> None:
        above = self.parent[1:]
        if len(self.parent) == 0 or self.parent[0] != -1 or (above < 0).any():
            raise Refused("a tree has no root, or several")
        if (above >= np.arange(1, len(self.parent))).any() or self.hidden[above].any():
            raise Refused("a tree has a node before its parent, or below a hidden value")

    @cached_property
    def depth(self) -> np.ndarray:
        """Per node: how many nodes are above it."""
        depth = np.zeros(len(self.parent), dtype=np.int64)
        for node in range(1, len(depth)):
            depth[node] = depth[self.parent[node]] + 1
        return depth

    @cached_property
    def path(self) -> np.ndarray:
        """Per node: the nodes from the root down to it, then -1. A hidden value is under the root alone."""
        path = np.full((len(self.parent), int(self.depth.max()) + 2), -1, dtype=np.int64)
        path[:, 0] = 0
        for node in range(1, len(path)):
            if not self.hidden[node]:
                path[node] = path[self.parent[node]]
                path[node, self.depth[node]] = node
        return path


@dataclass(frozen=True, eq=False)
class Table:
    """The records in units: records with the same values, and one price.

    cells   units by columns: the node of each value
    copies  per unit: how many records it has
    price   per unit; the dearest come first
    label   per unit: its sensitive value, as a rule knows it
    trees   per column
    costs   per column and node: what a record pays for a cell published as it, never more than for its parent
    """

    cells: np.ndarray
    copies: np.ndarray
    price: np.ndarray
    label: np.ndarray
    trees: Sequence[Tree]
    costs: Sequence[np.ndarray]

    def __post_init__(self) -> None:
        for column, (tree, cost) in enumerate(zip(self.trees, self.costs)):
            cells = self.cells[:, column]
            if len(cost) != len(tree.parent) or (cost[1:] > cost[tree.parent[1:]]).any() or cost.min() < 0:
                raise Refused("a node costs more than its parent, or less than nothing")
            if len(cells) and not 0 <= cells.min() <= cells.max() < len(cost):
                raise Refused("a value is not in the tree of its column")
        highest = max(int(np.abs(self.price).max(initial=0)), sum(int(cost.max()) for cost in self.costs))
        if 2 * (highest + 1) * int(self.copies.sum()) >= 2**62:
            raise Refused("the numbers are too large for exact arithmetic in 64 bits")

    @classmethod
    def of_records(
        cls,
        cells: np.ndarray,
        price: np.ndarray,
        label: np.ndarray,
        trees: Sequence[Tree],
        costs: Sequence[np.ndarray],
    ) -> Table:
        """The units of some records, given by the node of each value, their prices and sensitive values."""
        keys = np.column_stack([-price.astype(np.int64), cells, label]).astype(np.int64)
        units, copies = np.unique(keys, axis=0, return_counts=True)  # sorted: the dearest first
        return cls(units[:, 1:-1], copies.astype(np.int64), -units[:, 0], units[:, -1], trees, costs)


def overpriced(
    table: Table, size: int, rules: Sequence[Rule], order: Sequence[int]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The closed records with a group of at least a size whose excess is above 0 and that no rule excludes.

    order  in which columns are settled; any order proves the same, some are faster

    Yields their nodes by columns, and the greatest excess that the last rule leaves.
    """
    if sorted(order) != list(range(len(table.trees))):
        raise Refused("the order of the columns does not name each of them once")
    everything = np.arange(len(table.price))
    nothing = np.zeros((1, len(order)), dtype=np.int64)
    waiting = [(0, _supports(table, nothing, np.zeros(1, np.int64), np.zeros_like(everything), everything))]
    while waiting:
        settled, sets = waiting.pop()
        for portion in _portions(sets, len(table.trees[order[settled]].parent)):
            further, excess = _settle(table, portion, order[settled], size), np.zeros(0)
            for rule in (Size(size), *rules):
                if len(further.cost):
                    excess = rule.excess(further)
                    further, excess = further.chosen(excess > 0), excess[excess > 0]
            for column in order[:settled]:
                if len(further.cost):
                    lowest = _is_lowest(table, further, column)
                    further, excess = further.chosen(lowest), excess[lowest]
            if len(further.cost) and settled + 1 < len(order):
                waiting.append((settled + 1, further))
            elif len(further.cost):
                yield further.nodes, excess


def _supports(
    table: Table, nodes: np.ndarray, cost: np.ndarray, owner: np.ndarray, unit: np.ndarray
) -> Supports:
    first = np.searchsorted(owner, np.arange(len(cost)))
    return Supports(nodes, cost, first, owner, unit, table.price[unit], table.copies[unit], table.label[unit])


def _portions(sets: Supports, n_nodes: int) -> Iterator[Supports]:
    """The sets in portions that take little memory."""
    number = np.arange(len(sets.cost))
    place = sets.first // _UNITS + number // max(_PAIRS // n_nodes, 1)
    for begin in np.flatnonzero(np.diff(place, prepend=-1)).tolist():
        yield sets.chosen(place == place[begin])


def _settle(table: Table, sets: Supports, column: int, size: int) -> Supports:
    """Part sets by the nodes of one more column; what Lemma 10 leaves out is left out."""
    tree, n_nodes = table.trees[column], len(table.trees[column].parent)
    cells = table.cells[:, column]
    value, base = cells[sets.unit], sets.owner * n_nodes
    records = np.bincount(base + value, sets.copies, len(sets.cost) * n_nodes).astype(np.int64)
    records = records.reshape(-1, n_nodes)
    for node in range(n_nodes - 1, 0, -1):
        records[:, tree.parent[node] * (not tree.hidden[node])] += records[:, node]
        if tree.hidden[node]:
            records[:, node] = 0
    wanted = records >= size
    below = np.arange(1, n_nodes)
    for node in below[(records[:, 1:] == records[:, tree.parent[1:]]).any(axis=0)].tolist():
        wanted[:, tree.parent[node]] &= records[:, node] < records[:, tree.parent[node]]
    cost = sets.cost[:, None] + table.costs[column]
    wanted &= cost < sets.price[sets.first][:, None]  # the dearest record comes first
    place = np.where(wanted.ravel(), np.cumsum(wanted) - 1, -1)
    owners, units = [], []
    for depth in range(tree.path.shape[1] - 1):
        node = tree.path[value, depth]
        owner = np.where(node < 0, -1, place[base + node])
        units.append(np.flatnonzero(owner >= 0))
        owners.append(owner[units[-1]])
    owner, unit = np.concatenate(owners), sets.unit[np.concatenate(units)]
    in_order = np.argsort(owner, kind="stable")
    found = np.flatnonzero(wanted)
    nodes = sets.nodes[found // n_nodes]
    nodes[:, column] = found % n_nodes
    return _supports(table, nodes, cost.ravel()[found], owner[in_order], unit[in_order])


def _is_lowest(table: Table, sets: Supports, column: int) -> np.ndarray:
    """Per set: whether its node of a settled column is the lowest one over all of its records."""
    tree = table.trees[column]
    below = tree.path[table.cells[sets.unit, column], tree.depth[sets.nodes[:, column]][sets.owner] + 1]
    of_first = below[sets.first]
    differs = np.bincount(sets.owner, below != of_first[sets.owner], len(sets.cost)) > 0
    return differs | (of_first < 0)
