"""Pairs of values that are together, apart or undecided, and the rules by which one decides others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kohort.algorithms.schemes.node_table import MergeEvents
from kohort.algorithms.schemes.partition_space import Partition, PartitionSpace, blocks_of, numbered

__all__ = ["APART", "PairRules", "PairState"]

TOGETHER, APART = 1, 2
MOST_KNOWN = 10_000


@dataclass(frozen=True, eq=False)
class PairState:
    """The choices made so far for an attribute that is parted into sets.

    pairs   per pair of values: whether they are together, apart or undecided, as a symmetric table
    blocks  per node of the tree: the sets of its children, as bits, that may still be blocks
    """

    pairs: np.ndarray
    blocks: dict[int, np.ndarray]


class PairRules:
    """The rules by which a decided pair of values decides others under a tree.

    Being together is transitive; values of different children of a node are together only if all of these
    children are, and nothing under a node is apart that shares a block.
    """

    def __init__(self, tree: PartitionSpace) -> None:
        self.tree, self.n = tree, tree.n
        self._known: dict[bytes, tuple[np.ndarray, MergeEvents]] = {}
        self.n_variables = self.n * self.n + len(self.tree.ranges)
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

    # -- merges ------------------------------------------------------------------------------------

    def variables(self, state: PairState) -> np.ndarray:
        """The variable that merges parts a < b of the fine partition, as a table."""
        return self._merges(state)[0]

    def events(self, state: PairState) -> MergeEvents:
        """For each part of the fine partition, the variables one of which must be merged for it to grow."""
        return self._merges(state)[1]

    def _merges(self, state: PairState) -> tuple[np.ndarray, MergeEvents]:
        """The variables and the events of a state, cached by its pairs, which many nodes have in common."""
        key = state.pairs.tobytes()
        if key not in self._known:
            if len(self._known) > MOST_KNOWN:
                self._known.clear()
            self._known[key] = self._find_variables(state), self._find_events(state)
        return self._known[key]

    def _find_variables(self, state: PairState) -> np.ndarray:
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
        """The first value of the set that a merge under a node takes in: a block, or the child it is in."""
        values = self.tree.values(int(self.child[node, block[0]]))
        return block[0] if len(block) >= len(values) else values[0]

    def _find_events(self, state: PairState) -> MergeEvents:
        blocks = blocks_of(self.fine(state))
        start, found = [0], []
        for block in blocks:
            found += sorted(self._partners(state, block))
            start.append(len(found))
        return MergeEvents(np.array(start), np.array(found, dtype=np.int64))

    def _partners(self, state: PairState, block: list[int]) -> set[int]:
        """The variables one of which must be merged for a block to grow."""
        members = set(block)
        for node, children, merging in reversed(list(self.tree.inner())):  # the lowest first
            values = self.tree.values(node)
            if block[0] in values and len(values) > len(block):
                others = [child for child in children if self.tree.ranges[child][0] not in members]
                first = [self.tree.ranges[child][0] for child in others]
                if merging == "all":
                    return (
                        {self.n * self.n + node}
                        if all(state.pairs[block[0], f] != APART for f in first)
                        else set()
                    )
                return {
                    self._variable(block, self._whole(state, f, child))
                    for f, child in zip(first, others)
                    if state.pairs[block[0], f] != APART
                }
        return set()

    def _whole(self, state: PairState, first: int, child: int) -> list[int]:
        """The part that holds a value if it covers the whole child that the value is in; else the child."""
        part = np.flatnonzero(state.pairs[first] == TOGETHER).tolist()
        values = list(self.tree.values(child))
        return part if len(part) >= len(values) else values
