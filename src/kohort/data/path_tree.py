"""Trees over values as paths from the leaf to the root, also given as pairs of child and parent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kohort.data.domain import STAR

Label = str | None
Ancestors = tuple[Label, ...]


class PathTree:
    """A tree grown from paths, the leaf first; what does not fit is noted, never raised.

    Nodes are distinguished by their whole path. Repeated ancestors are one node, and an inner node whose
    only child is a leaf of the same name is that leaf: both are how files write unbalanced trees.

    root           the root's label: the common last label, else `*`
    rootless       how many paths do not end in it
    repeated       how often a leaf was listed again with the same ancestors
    contradicting  leaves that were listed again with other ancestors (the first ones count)
    """

    def __init__(self, paths: Iterable[Sequence[Label]]) -> None:
        branch_of: dict[Ancestors, int] = {}  # the distinct lists of ancestors: most leaves share theirs
        rows = [(path[0], branch_of.setdefault(tuple(path[1:]), len(branch_of))) for path in paths]
        branches = list(branch_of)
        tops = {branch[-1] if branch else None for branch in branches}
        self.root = tops.pop() if len(tops) == 1 and None not in tops else STAR
        without_root = [not branch or branch[-1] != self.root for branch in branches]
        self.rootless = sum(without_root[branch] for _, branch in rows)
        self.repeated = 0
        self.contradicting: dict[Label, None] = {}
        self._inner_label: list[Label] = [self.root]
        self._inner_child: dict[tuple[int, Label], int] = {}
        self._below: list[list[int]] = [[]]  # children of inner nodes in the order met; ~leaf for a leaf
        self._leaf_parent: dict[Label, int] = {}
        node_of_branch: dict[int, int] = {}
        for leaf, branch in rows:
            above = node_of_branch.get(branch)
            if above is None:
                above = node_of_branch[branch] = self._inner_node(branches[branch])
            if leaf not in self._leaf_parent:
                self._below[above].append(~len(self._leaf_parent))
                self._leaf_parent[leaf] = above
            elif self._leaf_parent[leaf] == above:
                self.repeated += 1
            else:
                self.contradicting[leaf] = None

    @property
    def leaves(self) -> tuple[Label, ...]:
        """The leaves, each once, in the order met."""
        return tuple(self._leaf_parent)

    @property
    def inner_labels(self) -> set[Label]:
        """Labels of the inner nodes, without those that only repeat their single leaf."""
        leaves, labels = self.leaves, enumerate(self._inner_label)
        return {label for node, label in labels if self._only_leaf(node, leaves) is None}

    def depth_first(self) -> tuple[list[Label], np.ndarray, np.ndarray]:
        """Labels, parents and leaf nodes, with nodes numbered from the root in depth-first order."""
        leaves = self.leaves
        label: list[Label] = []
        parent: list[int] = []
        leaf_node: list[int] = []
        stack = [(0, -1)]  # an inner node, or ~leaf, and its parent's number
        while stack:
            node, above = stack.pop()
            if node >= 0:
                only = self._only_leaf(node, leaves)
                node = node if only is None else ~only
            number = len(label)
            parent.append(above)
            if node < 0:
                label.append(leaves[~node])
                leaf_node.append(number)
            else:
                label.append(self._inner_label[node])
                stack.extend([(child, number) for child in reversed(self._below[node])])
        return label, np.array(parent, dtype=np.int32), np.array(leaf_node, dtype=np.int32)

    def _inner_node(self, branch: Ancestors) -> int:
        node = 0
        for label in reversed(branch):
            if label == self._inner_label[node]:
                continue
            child = self._inner_child.setdefault((node, label), len(self._below))
            if child == len(self._below):
                self._below[node].append(child)
                self._below.append([])
                self._inner_label.append(label)
            node = child
        return node

    def _only_leaf(self, node: int, leaves: Sequence[Label]) -> int | None:
        """The leaf that an inner node only repeats, if it does."""
        below = self._below[node]
        if node == 0 or len(below) != 1 or below[0] >= 0:
            return None
        return ~below[0] if leaves[~below[0]] == self._inner_label[node] else None


@dataclass(frozen=True)
class Pairs:
    """One path per leaf, and what keeps the pairs from being a tree.

    A child without a parent, or its own parent, is a root. Several roots are fine: they meet in `*`.
    """

    paths: list[tuple[Label, ...]]
    repeated: int
    cycles: tuple[Label, ...]
    two_parents: tuple[Label, ...]

    @classmethod
    def of(cls, pairs: Iterable[tuple[Label, Label]]) -> Pairs:
        parent: dict[Label, Label] = {}
        repeated, two_parents = 0, dict[Label, None]()
        for child, above in pairs:
            above = None if above == child else above
            if child not in parent:
                parent[child] = above
            elif parent[child] == above:
                repeated += 1
            else:
                two_parents[child] = None
        cycles = _cycles(parent)
        inner = {above for above in parent.values() if above is not None}
        paths = [_path(leaf, parent, set(cycles)) for leaf in parent if leaf not in inner]
        return cls(paths, repeated, tuple(cycles), tuple(two_parents))


def _cycles(parent: dict[Label, Label]) -> list[Label]:
    """The labels that are among their own ancestors. O(labels): each is passed once."""
    found: list[Label] = []
    done: set[Label] = set()
    for start in parent:
        trail: dict[Label, None] = {}
        node: Label = start
        while node in parent and node not in done and node not in trail:
            trail[node] = None
            node = parent[node]
        if node in trail:
            labels = list(trail)
            found += labels[labels.index(node) :]
        done.update(trail)
    return found


def _path(leaf: Label, parent: dict[Label, Label], cycles: set[Label]) -> tuple[Label, ...]:
    path = [leaf]
    above = parent[leaf]
    while above is not None and above not in cycles:
        path.append(above)
        above = parent.get(above)
    return tuple(path)
