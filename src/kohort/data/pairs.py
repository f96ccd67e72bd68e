"""A hierarchy as pairs of child and parent, turned into paths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kohort.data.path_tree import Label


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
    """Labels from the leaf upwards, up to the first label that would repeat."""
    path = [leaf]
    above = parent[leaf]
    while above is not None and above not in cycles:
        path.append(above)
        above = parent.get(above)
    return tuple(path)
