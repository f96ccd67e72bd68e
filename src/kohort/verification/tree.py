"""A hierarchy as a stranger reads it: from its labels and from which node lies above which, nothing else.

The leaf ranges, heights and unique labels that a hierarchy states about itself, and on which searches rely,
are not looked at: leaves are counted here once more, by climbing from each of them to the root.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InternalError

_COUNTED: WeakKeyDictionary[Hierarchy, Tree] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree of labels.

    label   per node, as it is written in the hierarchy
    parent  per node; -1 for the root
    first   per node the place of its first leaf, where the leaves of every node stand together
    width   per node how many leaves it has
    height  per node how many levels lie between it and its deepest leaf
    """

    label: tuple[str | None, ...]
    parent: np.ndarray
    first: np.ndarray
    width: np.ndarray
    height: np.ndarray

    @cached_property
    def leaf_nodes(self) -> np.ndarray:
        """The leaves in their places."""
        nodes = np.flatnonzero(_childless(self.parent))
        return nodes[np.argsort(self.first[nodes])]

    @cached_property
    def leaves(self) -> tuple[str | None, ...]:
        """The labels of the leaves in their places."""
        return tuple(self.label[node] for node in self.leaf_nodes)

    @cached_property
    def levels(self) -> int:
        """How many levels the tree has above its deepest leaf."""
        return int(self.height.max())

    @cached_property
    def nodes_called(self) -> dict[str | None, list[int]]:
        """The nodes that a published label may mean.

        First of all those that have this label. A label that occurs several times is published with that of
        the node above it, `other (A)`, and with a number where that is still not unique.
        """
        found: dict[str | None, list[int]] = {}
        for node, label in enumerate(self.label):
            found.setdefault(label, []).append(node)
        root = int(np.flatnonzero(self.parent < 0)[0])
        if len(found[self.label[root]]) > 1:
            found.setdefault(STAR, [root])
        uses, taken = Counter(self.label), {*found}
        for node in np.flatnonzero(~_childless(self.parent)).tolist():
            label = self.label[node]
            if uses[label] == 1 or node == root:
                continue
            name = f"{label} ({self.label[self.parent[node]]})"
            numbered = (f"{name} #{number}" for number in range(2, len(self.label) + 2))
            name = name if name not in taken else next(other for other in numbered if other not in taken)
            taken.add(name)
            found.setdefault(name, [node])
        return found

    def lowest_level(self, first: int, last: int) -> float:
        """The share of all levels at which the lowest node lies that has all leaves from first to last."""
        node = int(self.leaf_nodes[first])
        while self.first[node] + self.width[node] <= last:
            node = int(self.parent[node])
        return float(self.height[node] / max(self.levels, 1))


def tree_of(hierarchy: Hierarchy) -> Tree:
    """The tree of a hierarchy, counted once."""
    if hierarchy not in _COUNTED:
        _COUNTED[hierarchy] = _counted(hierarchy)
    return _COUNTED[hierarchy]


def compare_tree(hierarchy: Hierarchy) -> None:
    """Raise InternalError where a hierarchy states other leaves, levels or labels than are counted here.

    Items, proofs and distances between sensitive values are looked up in what it states.
    """
    tree = tree_of(hierarchy)
    counted = (tree.first, tree.first + tree.width - 1, tree.height, tree.leaf_nodes)
    stated = (hierarchy.lo, hierarchy.hi, hierarchy.level, hierarchy.leaf_node)
    same = all(np.array_equal(ours, theirs) for ours, theirs in zip(counted, stated))
    if not same or tree.nodes_called != hierarchy.nodes_of_label:
        raise InternalError(
            "A hierarchy does not have the leaves, levels or labels that it states. Please report this."
        )


def _counted(hierarchy: Hierarchy) -> Tree:
    """Count the leaves of a hierarchy from its parents alone. O(nodes * height)."""
    parent = np.asarray(hierarchy.parent, dtype=np.int64)
    n = len(parent)
    width, height = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    climbing, steps = np.flatnonzero(_childless(parent)), 0
    while len(climbing):
        width += np.bincount(climbing, minlength=n)
        height[climbing] = steps  # whoever arrives last comes from the deepest leaf
        climbing, steps = parent[climbing], steps + 1
        climbing = climbing[climbing >= 0]
    siblings = np.argsort(parent, kind="stable")
    before = np.cumsum(width[siblings]) - width[siblings]
    eldest = np.searchsorted(parent[siblings], parent[siblings])
    beside = np.empty(n, dtype=np.int64)  # leaves of the siblings that come before
    beside[siblings] = before - before[eldest]
    first, above = beside.copy(), parent.copy()
    while (above >= 0).any():
        first += np.where(above >= 0, beside[above], 0)
        above = np.where(above >= 0, parent[above], -1)
    return Tree(tuple(hierarchy.label), parent, first, width, height)


def _childless(parent: np.ndarray) -> np.ndarray:
    """Per node whether it is a leaf: no node's parent."""
    leaf = np.ones(len(parent), dtype=bool)
    leaf[parent[parent >= 0]] = False
    return leaf
