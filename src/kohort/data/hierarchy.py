"""A taxonomy: leaves numbered in tree order, so that every node is a contiguous range of leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kohort.data.domain import STAR
from kohort.data.path_tree import PathTree
from kohort.errors import InputError, counted


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A tree over the values of an attribute. Make one with `from_paths`.

    Nodes are numbered from the root (0) in depth-first order.

    label      per node, as written; the label of a missing value's leaf is None
    parent     per node, -1 for the root
    lo, hi     per node, its first and last leaf
    level      per node, its height above its deepest leaf
    leaf_node  per leaf, its node
    hidden     per leaf: a value that is only ever published as `*`
    """

    label: tuple[str | None, ...]
    parent: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    level: np.ndarray
    leaf_node: np.ndarray
    hidden: np.ndarray

    @classmethod
    def from_paths(
        cls, paths: Iterable[Sequence[str | None]], *, hidden: Iterable[str | None] = ()
    ) -> Hierarchy:
        """A hierarchy from one path per leaf: the leaf first, then its ancestors up to the root.

        Nodes are distinguished by their whole path, so a label may occur on several branches. Repeated
        ancestors are one node; a path that does not end in the common root gets the root `*`; an
        inner node whose only child is a leaf of the same name is that leaf. Leaves keep the order of
        first appearance. O(nodes).

        >>> h = Hierarchy.from_paths([("cat", "pet", "*"), ("dog", "pet", "*"), ("cow", "farm", "*")])
        >>> h.leaves, h.height
        (('cat', 'dog', 'cow'), 2)
        """
        return cls.from_tree(PathTree(paths), hidden=hidden)

    @classmethod
    def from_tree(cls, tree: PathTree, *, hidden: Iterable[str | None] = ()) -> Hierarchy:
        """A hierarchy from a tree under construction."""
        if not tree.leaves:
            raise InputError("A hierarchy needs at least one leaf.")
        if tree.contradicting:
            raise InputError(
                f"{counted(len(tree.contradicting), 'leaf has', 'leaves have')} two different parents. "
                "A hierarchy is a tree: list each leaf once."
            )
        return _with_ranges(*tree.depth_first(), frozenset(hidden))

    @property
    def height(self) -> int:
        return int(self.level[0])

    @cached_property
    def leaves(self) -> tuple[str | None, ...]:
        return tuple(self.label[node] for node in self.leaf_node)

    @cached_property
    def leaf_of(self) -> dict[str | None, int]:
        return {text: leaf for leaf, text in enumerate(self.leaves)}

    @cached_property
    def published(self) -> tuple[str | None, ...]:
        """The label by which each node is published: unique, so that a reader need not guess the branch."""
        return tuple(_unique_labels(self))

    @cached_property
    def nodes_of_label(self) -> dict[str | None, list[int]]:
        """Nodes that a published label may stand for: by unique label, else by the label as written."""
        found: dict[str | None, list[int]] = {}
        for node, label in enumerate(self.label):
            found.setdefault(label, []).append(node)
        for node, label in enumerate(self.published):
            if label != self.label[node]:
                found.setdefault(label, [node])
        return found

    def path(self, node: int) -> list[str | None]:
        """Labels from a node up to the root."""
        labels = []
        while node >= 0:
            labels.append(self.label[node])
            node = int(self.parent[node])
        return labels

    def paths(self) -> Iterator[tuple[str | None, ...]]:
        """The labels from each leaf up to the root, as `from_paths` takes them."""
        leaves = set(self.leaf_node.tolist())
        lineage: dict[int, tuple[str | None, ...]] = {-1: ()}
        for node, (label, parent) in enumerate(zip(self.label, self.parent.tolist())):
            path = (label, *lineage[parent])
            if node in leaves:
                yield path
            else:
                lineage[node] = path

    def children(self, node: int) -> np.ndarray:
        return np.flatnonzero(self.parent == node)

    def node(self, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
        """The lowest node that covers each leaf range: O(height) look-ups per range."""
        node = np.where(self.hidden[lo], 0, self.leaf_node[lo])
        short = self.hi[node] < hi
        while short.any():
            node = np.where(short, self.parent[node], node)
            short = self.hi[node] < hi
        return node

    def closure(self, lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        node = self.node(lo, hi)
        return self.lo[node], self.hi[node]

    def labels(self, lo: np.ndarray, hi: np.ndarray) -> list[str | None]:
        return [self.published[node] for node in self.node(lo, hi)]

    def levels(self, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
        return self.level[self.node(lo, hi)] / max(self.height, 1)

    def with_leaves(self, extra: Sequence[str | None], *, hidden: bool) -> Hierarchy:
        """A copy of the hierarchy with more leaves right under the root."""
        taken = [text for text in extra if text in self.leaf_of]
        if taken:
            raise InputError(f"{counted(len(taken), 'leaf is', 'leaves are')} in the hierarchy already.")
        new = list(dict.fromkeys(extra))  # the last children of the root come last in depth-first order
        leaf = np.arange(len(self.leaf_node), len(self.leaf_node) + len(new), dtype=np.int32)
        hi = np.concatenate([self.hi, leaf])
        hi[0] = len(self.leaf_node) + len(new) - 1
        nodes = np.arange(len(self.label), len(self.label) + len(new), dtype=np.int32)
        nothing = np.zeros(len(new), dtype=np.int32)
        return Hierarchy(
            label=(*self.label, *new),
            parent=np.concatenate([self.parent, nothing]),
            lo=np.concatenate([self.lo, leaf]),
            hi=hi,
            level=np.concatenate([self.level, nothing]),
            leaf_node=np.concatenate([self.leaf_node, nodes]),
            hidden=np.concatenate([self.hidden, np.full(len(new), hidden)]),
        )


def _with_ranges(
    label: list[str | None], parent: np.ndarray, leaf_node: np.ndarray, hidden: frozenset[str | None]
) -> Hierarchy:
    """The hierarchy of these nodes; climbs from all leaves at once. O(leaves * height)."""
    leaf = np.arange(len(leaf_node), dtype=np.int32)
    lo = np.full(len(label), len(leaf), dtype=np.int32)
    hi = np.full(len(label), -1, dtype=np.int32)
    level = np.zeros(len(label), dtype=np.int32)
    node, steps = leaf_node, 0
    while len(node):
        np.minimum.at(lo, node, leaf)
        np.maximum.at(hi, node, leaf)
        np.maximum.at(level, node, steps)
        below_root = parent[node] >= 0
        node, leaf, steps = parent[node][below_root], leaf[below_root], steps + 1
    return Hierarchy(
        label=tuple(label),
        parent=parent,
        lo=lo,
        hi=hi,
        level=level,
        leaf_node=leaf_node,
        hidden=np.array([label[node] in hidden for node in leaf_node], dtype=bool),
    )


def _unique_labels(hierarchy: Hierarchy) -> list[str | None]:
    """Unique labels: leaves keep their text, an inner label used elsewhere gets its parent's label added.

    A root that is called like one of its nodes is published as `*`.
    """
    labels = list(hierarchy.label)
    uses = Counter(labels)
    if uses[labels[0]] > 1:
        labels[0] = STAR
    taken = set(labels)
    is_leaf = np.zeros(len(labels), dtype=bool)
    is_leaf[hierarchy.leaf_node] = True
    for node in np.flatnonzero(~is_leaf)[1:]:
        label = labels[node]
        if uses[label] > 1:
            unique = stem = f"{label} ({hierarchy.label[hierarchy.parent[node]]})"
            number = 2
            while unique in taken:
                unique, number = f"{stem} #{number}", number + 1
            labels[node] = unique
            taken.add(unique)
    return labels


def tree_lines(
    hierarchy: Hierarchy,
    counts: Sequence[int] | np.ndarray | None = None,
    max_children: int = 12,
    max_depth: int | None = None,
) -> list[str]:
    """One line per node, with its number of leaves and, given `counts` per leaf, of records.

    At most `max_children` children of a node are drawn, and nothing below `max_depth`.

    >>> h = Hierarchy.from_paths([("cat", "pet", "*"), ("dog", "pet", "*"), ("cow", "farm", "*")])
    >>> for line in tree_lines(h): print(line)
    * (3 leaves)
    ├── pet (2 leaves)
    │   ├── cat
    │   └── dog
    └── farm (1 leaf)
        └── cow
    """
    before = None if counts is None else np.concatenate([[0], np.cumsum(counts)])
    deepest = np.inf if max_depth is None else max_depth
    children: dict[int, list[int]] = {}
    for child, parent in enumerate(hierarchy.parent.tolist()):
        children.setdefault(parent, []).append(child)

    def line(node: int) -> str:
        lo, hi = int(hierarchy.lo[node]), int(hierarchy.hi[node])
        facts = [counted(hi - lo + 1, "leaf", "leaves")] if node in children else []
        if before is not None:
            facts.append(counted(int(before[hi + 1] - before[lo]), "record"))
        name = "(missing)" if hierarchy.label[node] is None else str(hierarchy.label[node])
        return f"{name} ({', '.join(facts)})" if facts else name

    def below(node: int, indent: str, depth: int) -> Iterator[str]:
        found = children.get(node, []) if depth <= deepest else []
        folded = len(found) > max(max_children, 1)
        shown = found[: max(max_children, 1) - 1] if folded else found
        for child in shown:
            last = child == found[-1]
            yield f"{indent}{'└── ' if last else '├── '}{line(child)}"
            yield from below(child, indent + ("    " if last else "│   "), depth + 1)
        if folded:
            yield f"{indent}└── … {len(found) - len(shown):,} more"

    return [line(0), *below(0, "", 1)]
