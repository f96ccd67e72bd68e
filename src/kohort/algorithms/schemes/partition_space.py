"""The partitions of ordered values that a scheme allows: each listed exactly once, and counted (Li and Li).

Corrects Fig. 6 of the paper, which lists some partitions twice: see `coarser`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np

Partition = tuple[int, ...]  # the block of each value, numbered in the order of their first values
Merging = Literal["all", "runs", "sets"]


@dataclass(frozen=True, eq=False)
class PartitionSpace:
    """All partitions of n values that a tree over them allows.

    children  the children of each inner node; values are the nodes 0 to n - 1, inner nodes come after,
              children before their parents, the root last. Every inner node has at least two children.
    merging   for each inner node, which of its children may become one block: only all of them, any run
              of neighbours, or any set. A node that shares a block with another is wholly in it.
    levels    if not empty, the only allowed partitions, from fine to coarse; the tree is not used then
    """

    n: int
    children: tuple[tuple[int, ...], ...] = ()
    merging: tuple[Merging, ...] = ()
    levels: tuple[Partition, ...] = ()

    @cached_property
    def ranges(self) -> list[tuple[int, int]]:
        """The first and the last value of each node."""
        found = [(value, value) for value in range(self.n)]
        for children in self.children:
            found.append((found[children[0]][0], found[children[-1]][1]))
        return found

    @property
    def finest(self) -> Partition:
        return tuple(range(self.n))

    @property
    def coarsest(self) -> Partition:
        return (0,) * self.n

    def inner(self) -> Iterator[tuple[int, tuple[int, ...], Merging]]:
        """Every inner node with its children and how they merge, parents before their children."""
        for number in reversed(range(len(self.children))):
            yield self.n + number, self.children[number], self.merging[number]

    def values(self, node: int) -> range:
        first, last = self.ranges[node]
        return range(first, last + 1)

    def coarser(self, partition: Partition) -> list[Partition]:
        """The children of a partition in the tree whose root is the finest one (Fig. 6, corrected).

        A block is made of children of one node. Take the last child off the last block that is no single
        value, down to single values: that is a partition's one parent. So a child merges single values,
        all those of a node, with a block of earlier siblings, and no larger block comes after that one.
        """
        if self.levels:
            return list(self.levels[self.levels.index(partition) :][1:2])
        blocks = blocks_of(partition)
        large = [block[0] for block in blocks if len(block) > 1]
        last = large[-1] if large else -1
        alone = [len(blocks[number]) == 1 for number in partition]
        found = []
        for node, children, merging in self.inner():
            if merging == "all":
                if self.ranges[node][0] > last and all(alone[value] for value in self.values(node)):
                    found.append(_merged(partition, self.values(node)))
                continue
            for place, child in enumerate(children):
                grown = [blocks[partition[self.ranges[child][0]]]]
                if not (grown[0][0] == self.ranges[child][0] >= last):
                    continue
                inside = self._children_in(grown[0], children[place:])
                if inside:
                    found += self._grown(partition, grown[0], children, place, inside, merging, alone)
        return found

    def _children_in(self, block: Sequence[int], children: Sequence[int]) -> list[int]:
        """Places of the children that make up a block; empty if it is not made of whole children."""
        members = set(block)
        places = [place for place, child in enumerate(children) if self.ranges[child][0] in members]
        whole = sum(len(self.values(children[place])) for place in places)
        return places if whole == len(block) else []

    def _grown(
        self,
        partition: Partition,
        block: Sequence[int],
        children: Sequence[int],
        place: int,
        inside: list[int],
        merging: Merging,
        alone: list[bool],
    ) -> list[Partition]:
        """The partitions in which one more child, of single values so far, joins the block."""
        after = children[place + inside[-1] + 1 :]
        joining = after[:1] if merging == "runs" else after
        return [
            _merged(partition, [*block, *self.values(child)])
            for child in joining
            if all(alone[value] for value in self.values(child))
        ]

    def finer(self, partition: Partition) -> Iterator[Partition]:
        """The children of a partition in the tree whose root is the coarsest one.

        A node is open if its values are in several blocks. Merge the last two blocks of the last open node
        (parents first, then from left to right): that is a partition's one parent. Children are made one by
        one, since sets of n values have 2^(n-1) of them.
        """
        if self.levels:
            place = self.levels.index(partition)
            yield from self.levels[max(place - 1, 0) : place]
            return
        for group, merging in self._divisible(partition):
            for leaving in _leaving(group, merging):
                yield self._divided(partition, leaving)

    def random_finer(self, partition: Partition, rng: np.random.Generator) -> Partition | None:
        """One of the partitions of `finer`, drawn at random; None if there is none."""
        if self.levels:
            return next(self.finer(partition), None)
        divisible = self._divisible(partition)
        if not divisible:
            return None
        ways = np.array([_n_leaving(group, merging) for group, merging in divisible])
        group, merging = divisible[int(rng.choice(len(ways), p=ways / ways.sum()))]
        return self._divided(partition, _drawn(group, merging, rng))

    def _divisible(self, partition: Partition) -> list[tuple[list[int], Merging]]:
        """Groups of children that share a block and may be divided in two, or (`all`) into single ones."""
        blocks = blocks_of(partition)
        order = self._preorder
        opened = [node for node in order if len({partition[value] for value in self.values(node)}) > 1]
        found: list[tuple[list[int], Merging]] = []
        if opened and self.merging[opened[-1] - self.n] != "all":
            groups = self._groups(partition, opened[-1])
            found.append((groups[-1], self.merging[opened[-1] - self.n]))
        for node in order[order.index(opened[-1]) + 1 :] if opened else order[:1]:
            if len(blocks[partition[self.ranges[node][0]]]) == len(self.values(node)):
                found.append((list(self.children[node - self.n]), self.merging[node - self.n]))
        return [(group, merging) for group, merging in found if len(group) > 1]

    @cached_property
    def _preorder(self) -> list[int]:
        """Inner nodes, each before those under it."""
        order, waiting = [], [self.n + len(self.children) - 1] if self.children else []
        while waiting:
            node = waiting.pop()
            order.append(node)
            waiting += [child for child in reversed(self.children[node - self.n]) if child >= self.n]
        return order

    def _groups(self, partition: Partition, node: int) -> list[list[int]]:
        """The children of an open node by their blocks, in the order of the first of each."""
        groups: dict[int, list[int]] = {}
        for child in self.children[node - self.n]:
            groups.setdefault(partition[self.ranges[child][0]], []).append(child)
        return list(groups.values())

    def _divided(self, partition: Partition, leaving: Sequence[Sequence[int]]) -> Partition:
        """The partition in which groups of children leave their block, each for a block of its own."""
        return _split(partition, [[v for child in some for v in self.values(child)] for some in leaving])


def _leaving(group: list[int], merging: Merging) -> Iterator[Sequence[Sequence[int]]]:
    """The ways to divide a group of children: who leaves the block, never the first (except for `all`)."""
    if merging == "all":
        yield [[child] for child in group]
    elif merging == "runs":
        yield from ([group[place:]] for place in range(1, len(group)))
    else:
        yield from ([some] for size in range(1, len(group)) for some in combinations(group[1:], size))


def _n_leaving(group: list[int], merging: Merging) -> float:
    """The number of ways to divide a group of children."""
    if merging == "all":
        return 1.0
    return len(group) - 1.0 if merging == "runs" else 2.0 ** min(len(group) - 1, 1000) - 1


def _drawn(group: list[int], merging: Merging, rng: np.random.Generator) -> Sequence[Sequence[int]]:
    """One of the ways to divide a group of children, each as likely as any other."""
    if merging == "all":
        return [[child] for child in group]
    if merging == "runs":
        return [group[int(rng.integers(1, len(group))) :]]
    leaves = rng.random(len(group) - 1) < 0.5
    while not leaves.any():
        leaves = rng.random(len(group) - 1) < 0.5
    return [[child for child, goes in zip(group[1:], leaves) if goes]]


def blocks_of(partition: Sequence[int]) -> list[list[int]]:
    """The values of each block."""
    blocks: list[list[int]] = [[] for _ in range(max(partition, default=-1) + 1)]
    for value, block in enumerate(partition):
        blocks[block].append(value)
    return blocks


def numbered(block_of: Sequence[int]) -> Partition:
    """The partition with its blocks numbered in the order of their first values."""
    number: dict[int, int] = {}
    return tuple(number.setdefault(block, len(number)) for block in block_of)


def _merged(partition: Partition, values: Sequence[int]) -> Partition:
    together = set(values)
    return numbered([-1 if value in together else block for value, block in enumerate(partition)])


def _split(partition: Partition, groups: Sequence[Sequence[int]]) -> Partition:
    block_of = list(partition)
    for number, group in enumerate(groups):
        for value in group:
            block_of[value] = len(partition) + number
    return numbered(block_of)
