"""A hierarchy as a tree of text lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kohort.data.hierarchy import Hierarchy


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
    drawing = _Drawing(hierarchy, before, max(max_children, 1), max_depth)
    return [drawing.line(0), *drawing.below(0, "", 1)]


class _Drawing:
    def __init__(
        self, hierarchy: Hierarchy, before: np.ndarray | None, max_children: int, max_depth: int | None
    ) -> None:
        self.hierarchy = hierarchy
        self.before = before
        self.max_children = max_children
        self.max_depth = max_depth

    def below(self, node: int, indent: str, depth: int) -> Iterator[str]:
        children = self._children(node)
        if self.max_depth is not None and depth > self.max_depth:
            return
        folded = len(children) > self.max_children
        shown = children[: self.max_children - 1] if folded else children
        for position, child in enumerate(shown):
            last = position == len(shown) - 1 and not folded
            yield f"{indent}{'└── ' if last else '├── '}{self.line(child)}"
            yield from self.below(child, indent + ("    " if last else "│   "), depth + 1)
        if folded:
            yield f"{indent}└── … {len(children) - len(shown):,} more"

    def line(self, node: int) -> str:
        label = self.hierarchy.label[node]
        facts = ", ".join([*self._leaves(node), *self._records(node)])
        name = "(missing)" if label is None else label
        return f"{name} ({facts})" if facts else name

    def _children(self, node: int) -> list[int]:
        """Children in order: the first follows its parent, each other one its sibling's last descendant."""
        children = []
        lo, hi = int(self.hierarchy.lo[node]), int(self.hierarchy.hi[node])
        child = node + 1
        while lo <= hi and not self._is_leaf(node):
            children.append(child)
            last = int(self.hierarchy.hi[child])
            child, lo = int(self.hierarchy.leaf_node[last]) + 1, last + 1
        return children

    def _is_leaf(self, node: int) -> bool:
        return int(self.hierarchy.leaf_node[self.hierarchy.lo[node]]) == node

    def _leaves(self, node: int) -> list[str]:
        if self._is_leaf(node):
            return []
        n = int(self.hierarchy.hi[node] - self.hierarchy.lo[node]) + 1
        return ["1 leaf" if n == 1 else f"{n:,} leaves"]

    def _records(self, node: int) -> list[str]:
        if self.before is None:
            return []
        n = int(self.before[self.hierarchy.hi[node] + 1] - self.before[self.hierarchy.lo[node]])
        return ["1 record" if n == 1 else f"{n:,} records"]
