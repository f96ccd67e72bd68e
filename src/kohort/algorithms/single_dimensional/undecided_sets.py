"""An attribute whose values are parted into sets, some pairs of them still undecided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kohort.algorithms.single_dimensional.node_table import Deciding, Events, NodeTable
from kohort.algorithms.single_dimensional.pricing import Pricing
from kohort.algorithms.single_dimensional.spaces import Partition, blocks_of, numbered
from kohort.kernels.part_costs import best_sets, set_costs

__all__ = ["MOST_SIBLINGS", "UndecidedSets"]

MOST_SIBLINGS = 16  # sets of so many siblings are all looked at
TOGETHER, APART = 1, 2


@dataclass(frozen=True, eq=False)
class _Units:
    """What the children of a node are for the moment: those in one part of the fine partition are one.

    values      of each unit; the first stands for it
    inner       the node that a unit is, where it is not all in one part
    """

    node: int
    values: list[list[int]]
    inner: list[int]
    merging: str


class UndecidedSets:
    """gsps and sps: a state says of each pair of values whether they are together, as a symmetric table.

    Pairs follow from others: being together is transitive; values of different children of a node are
    together only if all of these children are, and nothing under a node is apart that shares a block.
    """

    def __init__(self, pricing: Pricing, j: int) -> None:
        self.pricing, self.j = pricing, j
        self.space, self.n = pricing.spaces[j], pricing.spaces[j].n
        self.tree = self.space.space
        self.n_variables = self.n * self.n + len(self.tree.ranges)
        self.above = np.zeros((self.n, self.n), dtype=np.int64)  # the lowest node above two values
        self.child = np.zeros((len(self.tree.ranges), self.n), dtype=np.int64)  # of a node, with a value
        for node, children, _ in self.tree.inner():
            values = self.tree.values(node)
            self.above[np.ix_(values, values)] = node
            for child in children:
                self.child[node, list(self.tree.values(child))] = child

    # -- states ------------------------------------------------------------------------------------

    @property
    def start(self) -> np.ndarray:
        state = np.zeros((self.n, self.n), dtype=np.int8)
        np.fill_diagonal(state, TOGETHER)
        return state

    def fixed(self, partition: Partition) -> np.ndarray:
        blocks = np.array(partition)
        return np.where(blocks[:, None] == blocks[None, :], TOGETHER, APART).astype(np.int8)

    def is_decided(self, state: np.ndarray) -> bool:
        return bool((state != 0).all())

    def fine(self, state: np.ndarray) -> Partition:
        return numbered(np.argmax(state == TOGETHER, axis=1).tolist())

    def coarse(self, state: np.ndarray) -> Partition:
        """Values that a chain of pairs which are not apart connects."""
        reach = state != APART
        while True:
            further = (reach.astype(np.int64) @ reach) > 0
            if (further == reach).all():
                return numbered(np.argmax(reach, axis=1).tolist())
            reach = further

    def with_choice(self, state: np.ndarray, pair: tuple[int, int], merged: bool) -> np.ndarray:
        """The state with one more pair decided, and all that follows."""
        changed = state.copy()
        if merged:
            self._join(changed, *pair)
        else:
            self._part(changed, *pair)
        return changed

    def _join(self, state: np.ndarray, one: int, other: int) -> None:
        node = self.above[one, other]
        if self.tree.merging[node - self.n] == "all":
            values = list(self.tree.values(node))
        else:
            children = {int(self.child[node, one]), int(self.child[node, other])}
            values = [value for child in children for value in self.tree.values(child)]
        members = np.flatnonzero((state[values] == TOGETHER).any(axis=0))
        away = np.flatnonzero((state[members] == APART).any(axis=0))
        state[np.ix_(members, members)] = TOGETHER
        state[np.ix_(members, away)] = APART
        state[np.ix_(away, members)] = APART

    def _part(self, state: np.ndarray, one: int, other: int) -> None:
        node = int(self.above[one, other])
        if self.tree.merging[node - self.n] == "all":  # none of the children shares a block with another
            children = list(self.tree.children[node - self.n])
        else:
            children = [int(self.child[node, one]), int(self.child[node, other])]
        for place, child in enumerate(children):
            for sibling in children[place + 1 :]:
                self._set_apart(state, list(self.tree.values(child)), list(self.tree.values(sibling)))
        while node != len(self.tree.ranges) - 1:  # a node that is apart shares no block
            values = list(self.tree.values(node))
            node = next(up for up, children, _ in self.tree.inner() if node in children)
            outside = [value for value in self.tree.values(node) if value not in values]
            self._set_apart(state, values, outside)

    def _set_apart(self, state: np.ndarray, some: list[int], others: list[int]) -> None:
        some = np.flatnonzero((state[some] == TOGETHER).any(axis=0)).tolist()
        others = np.flatnonzero((state[others] == TOGETHER).any(axis=0)).tolist()
        state[np.ix_(some, others)] = APART
        state[np.ix_(others, some)] = APART

    # -- bounds ------------------------------------------------------------------------------------

    def variables(self, state: np.ndarray) -> np.ndarray:
        """For parts a < b of the fine partition the variable that merges them."""
        blocks = blocks_of(self.fine(state))
        found = np.full((len(blocks), len(blocks)), -1, dtype=np.int64)
        for a, one in enumerate(blocks):
            for b in range(a + 1, len(blocks)):
                found[a, b] = self._variable(one, blocks[b])
        return found

    def _variable(self, one: list[int], other: list[int]) -> int:
        node = int(self.above[one[0], other[0]])
        if self.tree.merging[node - self.n] == "all":
            return self.n * self.n + node
        first, second = sorted((self._first(node, one), self._first(node, other)))
        return first * self.n + second

    def _first(self, node: int, block: list[int]) -> int:
        """The first value of what a merge under a node takes in: a block, or all of the child it is in."""
        values = self.tree.values(int(self.child[node, block[0]]))
        return block[0] if len(block) >= len(values) else values[0]

    def events(self, state: np.ndarray) -> Events:
        blocks = blocks_of(self.fine(state))
        start, found = [0], []
        for block in blocks:
            found += sorted(self._partners(state, block))
            start.append(len(found))
        return Events(np.array(start), np.array(found, dtype=np.int64))

    def _partners(self, state: np.ndarray, block: list[int]) -> set[int]:
        """The variables of which one must be merged for a block to grow."""
        members = set(block)
        for node, children, merging in reversed(list(self.tree.inner())):  # the lowest first
            values = self.tree.values(node)
            if block[0] in values and len(values) > len(block):
                others = [child for child in children if self.tree.ranges[child][0] not in members]
                first = [self.tree.ranges[child][0] for child in others]
                if merging == "all":
                    return (
                        {self.n * self.n + node} if all(state[block[0], f] != APART for f in first) else set()
                    )
                return {
                    self._variable(block, self._whole(state, f, child))
                    for f, child in zip(first, others)
                    if state[block[0], f] != APART
                }
        return set()

    def _whole(self, state: np.ndarray, first: int, child: int) -> list[int]:
        """The part with a value, if it has all of the child that it is in; else the child."""
        part = np.flatnonzero(state[first] == TOGETHER).tolist()
        values = list(self.tree.values(child))
        return part if len(part) >= len(values) else values

    def bound(self, state: np.ndarray, table: NodeTable) -> Deciding:
        """The least cost of all ways to decide this attribute, and of each way to decide a pair."""
        partition = self.fine(state)
        blocks = blocks_of(partition)
        if len(blocks) == 1:
            cost = set_costs(*self._arguments(table, np.zeros(1, np.int64), 1, self._alone(partition)))[1]
            return Deciding(float(cost), partition, [], np.zeros(0), np.zeros(0))
        solved: dict[int, tuple[_Units, tuple]] = {}
        least: dict[int, float] = {}
        for node in range(self.n, len(self.tree.ranges)):  # children first
            units = self._units(node, blocks, partition)
            if units is None:
                continue
            costs = self._unit_costs(units, state, partition, table)
            for place, inner in enumerate(units.inner):
                if inner >= 0:
                    costs[1 << place] = least[inner]
            solved[node] = (units, best_sets(costs, len(units.values), units.merging == "all"))
            least[node] = float(solved[node][1][0][-1])
        return self._decided(solved)

    def _units(self, node: int, blocks: list[list[int]], partition: Partition) -> _Units | None:
        """The units of a node; None where all under it is in one part, or in a part with others."""
        values: dict[int, list[int]] = {}
        inner = []
        for child in self.tree.children[node - self.n]:
            inside = self.tree.values(child)
            block = blocks[partition[inside[0]]]
            whole = len(block) >= len(inside)
            first = block[0] if whole else inside[0]
            if first not in values:
                values[first] = block if whole else list(inside)
                inner.append(-1 if whole else child)
        if len(values) < 2:
            return None
        return _Units(node, list(values.values()), inner, self.tree.merging[node - self.n])

    def _unit_costs(
        self, units: _Units, state: np.ndarray, partition: Partition, table: NodeTable
    ) -> np.ndarray:
        """Per set of units what it costs as a block; infinite where two are apart."""
        n_units = len(units.values)
        unit_of_part = np.full(max(partition) + 1, -1, dtype=np.int64)
        for place, values in enumerate(units.values):
            unit_of_part[[partition[value] for value in values]] = place
        price = self._prices(units, partition)
        costs = set_costs(*self._arguments(table, unit_of_part, n_units, price))
        firsts = [values[0] for values in units.values]
        for a in range(n_units):
            for b in range(a + 1, n_units):
                if state[firsts[a], firsts[b]] == APART:
                    both = (1 << a) | (1 << b)
                    costs[(np.arange(len(costs)) & both) == both] = np.inf
        return costs

    def _arguments(
        self, table: NodeTable, unit_of_part: np.ndarray, n_units: int, price: np.ndarray
    ) -> tuple:
        records = np.zeros((len(table.records), n_units))
        for part, unit in enumerate(unit_of_part.tolist()):
            if unit >= 0:
                records[:, unit] += table.records[:, part]
        return (
            table.order,
            table.start,
            unit_of_part[table.part_of],
            table.cells,
            table.outer_of,
            records,
            price,
            table.k,
            table.withheld_cost,
            table.discernible,
        )

    def _alone(self, partition: Partition) -> np.ndarray:
        return np.array([0.0, self.pricing.prices(self.j, partition)[0]])

    def _prices(self, units: _Units, partition: Partition) -> np.ndarray:
        """Per set of units the price of the block that they make."""
        n_units = len(units.values)
        price = np.zeros(1 << n_units)
        if self.pricing.discernible:
            return price
        joined = [self._joined(units.node, values) for values in units.values]
        sums = [_over_sets([part[row] for part in joined], np.add, 0) for row in range(3)]
        lo = _over_sets([part[3] for part in joined], np.minimum, np.iinfo(np.int64).max)
        hi = _over_sets([part[4] for part in joined], np.maximum, 0)
        lo[0] = 0
        if units.merging == "all":  # with missing values: together they are everything
            lo[-1], hi[-1] = self.space.alone[units.node]
            whole = self.space.generalized([np.arange(lo[-1], hi[-1] + 1)])
            for total, of_all in zip(sums, (whole.width, whole.mass, whole.mass_log)):
                total[-1] = of_all[0]
        width, mass, logs = sums
        price = self.pricing.cell_costs(self.space.summed(width, mass, logs, lo, hi))
        fine = self.pricing.prices(self.j, partition)
        for place, values in enumerate(units.values):
            if units.inner[place] < 0:
                price[1 << place] = fine[values[0]]
        return price

    def _joined(self, node: int, values: list[int]) -> tuple[int, int, float, int, int]:
        """Leaves, records, logarithms, first and last leaf of a unit that shares a block with others."""
        children = sorted({int(self.child[node, value]) for value in values})
        counts = self.space.attribute.leaf_counts
        ranges = [self.space.joined[child] for child in children]
        inside = np.concatenate([counts[first : last + 1] for first, last in ranges])
        logs = float((inside * np.log2(np.maximum(inside, 1))).sum())
        return (
            len(inside),
            int(inside.sum()),
            logs,
            int(min(r[0] for r in ranges)),
            int(max(r[1] for r in ranges)),
        )

    def _decided(self, solved: dict[int, tuple[_Units, tuple]]) -> Deciding:
        """From the top down: what everything costs with a pair together or apart, and the best of all."""
        choices, merged, cut = [], [], []
        block_of = list(range(self.n))
        top = max(solved)
        outside, shared, taken = {top: 0.0}, {top: np.inf}, {top}
        for node in sorted(solved, reverse=True):
            if node not in outside:
                continue  # it is in one part with others
            units, (best, block, together, apart, alone) = solved[node]
            full = len(best) - 1
            for a in range(len(units.values)):
                for b in range(a + 1, len(units.values)):
                    choices.append((units.values[a][0], units.values[b][0]))
                    merged.append(min(together[a, b] + outside[node], shared[node]))
                    cut.append(apart[a, b] + outside[node])
                if units.inner[a] >= 0:
                    in_company = np.delete(together[a], a).min() + outside[node]
                    outside[units.inner[a]] = outside[node] + alone[a]
                    shared[units.inner[a]] = min(in_company, shared[node])
            if node in taken and best[full] < np.inf:
                left = full
                while left:
                    members = [place for place in range(len(units.values)) if (int(block[left]) >> place) & 1]
                    if len(members) == 1 and units.inner[members[0]] >= 0:
                        taken.add(units.inner[members[0]])
                    else:
                        values = [value for place in members for value in units.values[place]]
                        for value in values:
                            block_of[value] = values[0]
                    left ^= int(block[left])
        least = float(solved[top][1][0][-1])
        if least == np.inf:  # nothing is allowed: the coarsest comes nearest
            block_of = [0] * self.n
        return Deciding(least, numbered(block_of), choices, np.array(merged), np.array(cut))


def _over_sets(parts: list, combine: np.ufunc, nothing: int) -> np.ndarray:
    """A sum, minimum or maximum over every set of parts."""
    found = np.full(1 << len(parts), nothing, dtype=np.array(parts).dtype)
    for place, part in enumerate(parts):
        size = 1 << place
        found[size : 2 * size] = combine(found[:size], part)
    return found
