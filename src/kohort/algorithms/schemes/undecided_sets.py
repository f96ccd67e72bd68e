"""An attribute whose values are parted into sets, some pairs of them still undecided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kohort.algorithms.schemes.kernels.blocks import best_sets, set_costs
from kohort.algorithms.schemes.node_table import Blocks, ChoiceBounds, NodeTable
from kohort.algorithms.schemes.partition_space import Partition, blocks_of, numbered
from kohort.algorithms.schemes.pricing import Pricing

TOGETHER, APART = 1, 2
MOST_SIBLINGS = 16  # children of a node: the search examines every set of them


@dataclass(frozen=True, eq=False)
class PairState:
    """The choices made so far for an attribute that is parted into sets.

    pairs   per pair of values: whether they are together, apart or undecided, as a symmetric table
    blocks  per node of the tree: the sets of its children, as bits, that may still be blocks
    """

    pairs: np.ndarray
    blocks: dict[int, np.ndarray]


@dataclass(frozen=True, eq=False)
class _Units:
    """The units of a node: its children, where those in one part of the fine partition count as one.

    values      the values of each unit; the first represents it
    inner       the node that a unit is, if it is not all in one part
    sets        the sets of units that may be blocks, as bits; `of_children` has them as sets of children
    """

    node: int
    values: list[list[int]]
    inner: list[int]
    merging: str
    sets: np.ndarray
    of_children: np.ndarray


@dataclass(frozen=True, eq=False)
class _Layout:
    """The fine partition, the units of the tree's nodes, and where the sets of each begin."""

    partition: Partition
    nodes: list[_Units]
    starts: np.ndarray


class UndecidedSets:
    """The schemes gsps and sps. A state is whether each pair of values is together, and which sets may be
    blocks.

    Being together is transitive; values of different children of a node are together only if all of these
    children are, and nothing under a node is apart that shares a block.
    """

    def __init__(self, pricing: Pricing, j: int) -> None:
        self.pricing, self.j = pricing, j
        self.space = pricing.spaces[j]
        self.tree, self.n = self.space.space, self.space.n
        self.above = np.zeros((self.n, self.n), dtype=np.int64)  # the lowest node above two values
        self.child = np.zeros((len(self.tree.ranges), self.n), dtype=np.int64)  # of a node, with a value
        for node, children, _ in self.tree.inner():
            values = self.tree.values(node)
            self.above[np.ix_(values, values)] = node
            for child in children:
                self.child[node, list(self.tree.values(child))] = child

    # -- states ------------------------------------------------------------------------------------

    @cached_property
    def start(self) -> PairState:
        """The state in which nothing is decided."""
        pairs = np.zeros((self.n, self.n), dtype=np.int8)
        np.fill_diagonal(pairs, TOGETHER)
        return PairState(pairs, self._all_blocks)

    @cached_property
    def _all_blocks(self) -> dict[int, np.ndarray]:
        found = {}
        for node, children, merging in self.tree.inner():
            full = (1 << len(children)) - 1
            if merging == "all":
                found[node] = np.array([*(1 << place for place in range(len(children))), full])
            else:
                found[node] = np.arange(1, full + 1)
        return found

    def fixed(self, partition: Partition) -> PairState:
        """The state in which everything is decided as in a partition."""
        blocks = np.array(partition)
        pairs = np.where(blocks[:, None] == blocks[None, :], TOGETHER, APART).astype(np.int8)
        return PairState(pairs, self._all_blocks)

    def is_decided(self, state: PairState) -> bool:
        return bool((state.pairs != 0).all())

    def is_open(self, state: PairState, pair: tuple[int, int]) -> bool:
        """Whether a pair of values is still undecided."""
        return bool(state.pairs[pair] == 0)

    def fine(self, state: PairState) -> Partition:
        return numbered(np.argmax(state.pairs == TOGETHER, axis=1).tolist())

    def coarse(self, state: PairState) -> Partition:
        """The coarsest partition: values connected by a chain of pairs that are not apart share a block."""
        reach = state.pairs != APART
        while True:
            further = (reach.astype(np.int64) @ reach) > 0
            if (further == reach).all():
                return numbered(np.argmax(reach, axis=1).tolist())
            reach = further

    def with_choice(self, state: PairState, pair: tuple[int, int], merged: bool) -> PairState:
        """The state with one more pair decided, and all pairs that follow from it."""
        pairs = state.pairs.copy()
        if merged:
            self._join(pairs, *pair)
        else:
            self._part(pairs, *pair)
        return replace(state, pairs=pairs)

    def _join(self, pairs: np.ndarray, one: int, other: int) -> None:
        node = self.above[one, other]
        if self.tree.merging[node - self.n] == "all":
            values = list(self.tree.values(node))
        else:
            children = {int(self.child[node, one]), int(self.child[node, other])}
            values = [value for child in children for value in self.tree.values(child)]
        members = np.flatnonzero((pairs[values] == TOGETHER).any(axis=0))
        away = np.flatnonzero((pairs[members] == APART).any(axis=0))
        pairs[np.ix_(members, members)] = TOGETHER
        pairs[np.ix_(members, away)] = APART
        pairs[np.ix_(away, members)] = APART

    def _part(self, pairs: np.ndarray, one: int, other: int) -> None:
        node = int(self.above[one, other])
        if self.tree.merging[node - self.n] == "all":  # none of the children shares a block with another
            children = list(self.tree.children[node - self.n])
        else:
            children = [int(self.child[node, one]), int(self.child[node, other])]
        for place, child in enumerate(children):
            for sibling in children[place + 1 :]:
                self._set_apart(pairs, list(self.tree.values(child)), list(self.tree.values(sibling)))
        while node != len(self.tree.ranges) - 1:  # a node that is apart shares no block
            values = list(self.tree.values(node))
            node = next(up for up, children, _ in self.tree.inner() if node in children)
            outside = [value for value in self.tree.values(node) if value not in values]
            self._set_apart(pairs, values, outside)

    def _set_apart(self, pairs: np.ndarray, some: list[int], others: list[int]) -> None:
        some = np.flatnonzero((pairs[some] == TOGETHER).any(axis=0)).tolist()
        others = np.flatnonzero((pairs[others] == TOGETHER).any(axis=0)).tolist()
        pairs[np.ix_(some, others)] = APART
        pairs[np.ix_(others, some)] = APART

    def _first(self, node: int, block: list[int]) -> int:
        """The first value of the set that a merge under a node takes in: a block, or the child it is in."""
        values = self.tree.values(int(self.child[node, block[0]]))
        return block[0] if len(block) >= len(values) else values[0]

    # -- bounds ------------------------------------------------------------------------------------

    def bound(self, state: PairState, table: NodeTable) -> ChoiceBounds:
        """The least cost over all partitions of this attribute, and with each pair decided either way."""
        blocks = self.blocks(state)
        return self.decide(blocks, self.costs(blocks, table), table.limit)

    def blocks(self, state: PairState) -> Blocks:
        """The sets that are still allowed, node by node, children first."""
        partition = self.fine(state)
        blocks = blocks_of(partition)
        if len(blocks) == 1:
            one = np.ones(1, np.int64)
            nodes = [_Units(0, [blocks[0]], [-1], "sets", one, one)]
            prices = [self.pricing.prices(self.j, partition)[:1]]
        else:
            units = (
                self._units(node, blocks, partition, state) for node in range(self.n, len(self.tree.ranges))
            )
            nodes = [found for found in units if found is not None]
            prices = [self._prices(one, partition)[one.sets] for one in nodes]
        bits = [[sum(1 << value for value in values) for values in one.values] for one in nodes]
        masks = [_over_sets(of_units, np.add, 0)[one.sets] for of_units, one in zip(bits, nodes)]
        starts = np.cumsum([0, *(len(one.sets) for one in nodes)])
        return Blocks(np.concatenate(masks), np.concatenate(prices), _Layout(partition, nodes, starts))

    def costs(self, blocks: Blocks, table: NodeTable) -> np.ndarray:
        """A lower bound on the cost of each set as a block."""
        layout: _Layout = blocks.layout
        found = []
        for units, start in zip(layout.nodes, layout.starts):
            price = blocks.prices[start : start + len(units.sets)]
            unit_of_part = self._unit_of_part(units, layout.partition)
            found.append(set_costs(table, unit_of_part, len(units.values), units.sets, price))
        return np.concatenate(found)

    def decide(self, blocks: Blocks, costs: np.ndarray, limit: float = np.inf) -> ChoiceBounds:
        """The bounds of all choices, given the cost of each set; costs not below `limit` become infinite."""
        layout: _Layout = blocks.layout
        if len(layout.nodes[-1].values) == 1:
            return ChoiceBounds(float(costs[0]), layout.partition, [], np.zeros(0), np.zeros(0))
        solved: dict[int, tuple[_Units, tuple]] = {}
        for units, start in zip(layout.nodes, layout.starts):
            of_sets = costs[start : start + len(units.sets)].copy()
            for place, inner in enumerate(units.inner):
                if inner >= 0:
                    of_sets[units.sets == 1 << place] = solved[inner][1][0]
            below = limit if units.node == len(self.tree.ranges) - 1 else np.inf
            solved[units.node] = (units, best_sets(units.sets, of_sets, len(units.values), below))
        return self._decided(solved)

    def distances(self, state: PairState, decided: ChoiceBounds) -> np.ndarray:
        """How much more it costs to have two parts of the fine partition in one block, for all pairs."""
        blocks = blocks_of(self.fine(state))
        cost_of = dict(zip(decided.choices, (decided.merged - decided.least).tolist()))
        found = np.full((len(blocks), len(blocks)), np.inf)
        for a, one in enumerate(blocks):
            for b, other in enumerate(blocks[:a]):
                node = int(self.above[one[0], other[0]])
                first, second = sorted((self._first(node, one), self._first(node, other)))
                found[a, b] = found[b, a] = cost_of.get((first, second), np.inf)
        return found

    def narrowed(self, state: PairState, found: ChoiceBounds, limit: float) -> PairState:
        """The state without the blocks with which everything costs too much."""
        blocks = {node: sets[costs < limit] for node, (sets, costs) in found.with_block.items()}
        return replace(state, blocks=state.blocks | blocks)

    def _units(
        self, node: int, blocks: list[list[int]], partition: Partition, state: PairState
    ) -> _Units | None:
        """The units of a node; None if all its values are in one part, alone or with others."""
        values: dict[int, list[int]] = {}
        bits: dict[int, int] = {}
        inner = []
        for place, child in enumerate(self.tree.children[node - self.n]):
            inside = self.tree.values(child)
            block = blocks[partition[inside[0]]]
            whole = len(block) >= len(inside)
            first = block[0] if whole else inside[0]
            if first not in values:
                values[first] = block if whole else list(inside)
                inner.append(-1 if whole else child)
            bits[first] = bits.get(first, 0) | 1 << place
        if len(values) < 2:
            return None
        sets, of_children = self._sets(state, list(values), list(bits.values()), state.blocks[node])
        merging = self.tree.merging[node - self.n]
        return _Units(node, list(values.values()), inner, merging, sets, of_children)

    def _sets(
        self, state: PairState, firsts: list[int], bits: list[int], blocks: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The sets of units that may be blocks, and the same as sets of children."""
        sets = np.zeros(len(blocks), dtype=np.int64)
        allowed = np.ones(len(blocks), dtype=bool)
        for place, unit in enumerate(bits):
            taken = blocks & unit
            allowed &= (taken == 0) | (taken == unit)
            sets |= (taken == unit).astype(np.int64) << place
        for a, b in zip(*np.nonzero(np.triu(state.pairs[np.ix_(firsts, firsts)] == APART))):
            both = (1 << int(a)) | (1 << int(b))
            allowed &= (sets & both) != both
        return sets[allowed], blocks[allowed]

    def _unit_of_part(self, units: _Units, partition: Partition) -> np.ndarray:
        """The unit of each part of the fine partition, or -1."""
        found = np.full(max(partition) + 1, -1, dtype=np.int64)
        for place, values in enumerate(units.values):
            found[[partition[value] for value in values]] = place
        return found

    def _prices(self, units: _Units, partition: Partition) -> np.ndarray:
        """The price of the block that each set of units makes."""
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
        leaves = self.space.covered([self.space.joined[child] for child in children])
        counts = self.space.attribute.leaf_counts[leaves]
        logs = float((counts * np.log2(np.maximum(counts, 1))).sum())
        return len(leaves), int(counts.sum()), logs, int(leaves.min()), int(leaves.max())

    def _decided(self, solved: dict[int, tuple[_Units, tuple]]) -> ChoiceBounds:
        """The least cost with each pair together or apart, and the best partition, from the top down."""
        choices, merged, cut, with_block = [], [], [], {}
        block_of = list(range(self.n))
        top = max(solved)
        outside, shared, taken = {top: 0.0}, {top: np.inf}, {top}
        for node in sorted(solved, reverse=True):
            if node not in outside:
                continue  # it is in one part with others
            units, (least, block, with_set, together, apart) = solved[node]
            with_block[node] = (units.of_children, with_set + outside[node])
            for a in range(len(units.values)):
                for b in range(a + 1, len(units.values)):
                    choices.append((units.values[a][0], units.values[b][0]))
                    merged.append(min(together[a, b] + outside[node], shared[node]))
                    cut.append(apart[a, b] + outside[node])
                inner = units.inner[a]
                if inner >= 0:
                    in_company = min(together[a].min(), together[:, a].min()) + outside[node]
                    alone = with_set[units.sets == 1 << a].min(initial=np.inf)
                    inside = solved[inner][1][0]
                    outside[inner] = outside[node] + alone - inside if alone < np.inf else np.inf
                    shared[inner] = min(in_company, shared[node])
            if node in taken and least < np.inf:
                taken |= _take_blocks(units, block, block_of)
        least = float(solved[top][1][0])
        if least == np.inf:  # nothing is allowed: the coarsest comes nearest
            block_of = [0] * self.n
        return ChoiceBounds(least, numbered(block_of), choices, np.array(merged), np.array(cut), with_block)


def _take_blocks(units: _Units, block: np.ndarray, block_of: list[int]) -> set[int]:
    """Write the best blocks of a node's units into `block_of`; return the inner nodes still to be parted.

    block  per set of remaining units, as bits: the block to take next
    """
    inner_nodes = set()
    left = (1 << len(units.values)) - 1
    while left:
        members = [place for place in range(len(units.values)) if (int(block[left]) >> place) & 1]
        if len(members) == 1 and units.inner[members[0]] >= 0:
            inner_nodes.add(units.inner[members[0]])
        else:
            values = [value for place in members for value in units.values[place]]
            for value in values:
                block_of[value] = values[0]
        left ^= int(block[left])
    return inner_nodes


def _over_sets(parts: list, combine: np.ufunc, nothing: int) -> np.ndarray:
    """A sum, minimum or maximum over every set of parts."""
    found = np.full(1 << len(parts), nothing, dtype=np.array(parts).dtype)
    for place, part in enumerate(parts):
        size = 1 << place
        found[size : 2 * size] = combine(found[:size], part)
    return found
