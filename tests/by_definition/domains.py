"""What values may be generalized to, by definition: sets of leaves, nothing clever.

A domain's `closure` of some values is the smallest generalized value that covers them all.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import NamedTuple

STAR = "*"


class Generalized(NamedTuple):
    """The leaves that a published value covers, its height over the domain's height, whether it is `*`."""

    leaves: frozenset
    level: float
    star: bool


class TreeDomain:
    """A taxonomy given by paths, leaf first. Missing values are a leaf of their own under the root."""

    def __init__(self, paths, has_null=False):
        below = defaultdict(set)  # inner nodes by their labels from the root down: their children
        for leaf, *ancestors in paths:
            inner = _without_repeats(reversed(ancestors))
            for depth in range(1, len(inner)):
                below[inner[:depth]].add(inner[: depth + 1])
            below[inner].add(leaf)
        if has_null:
            below[(paths[0][-1],)].add(None)
        self.root = (paths[0][-1],)
        self.below = _without_echoes(below, self.root)
        self.leaves_under = cache(self._leaves_under)
        self.height = cache(self._height)
        self._lowest = cache(self._lowest_node)
        self.leaves = self.leaves_under(self.root)

    def _leaves_under(self, node):
        if node not in self.below:
            return frozenset([node])
        return frozenset().union(*(self.leaves_under(child) for child in self.below[node]))

    def _height(self, node):
        return 1 + max(map(self.height, self.below[node])) if node in self.below else 0

    def nodes(self):
        return [*self.below, *self.leaves]

    def closure(self, values):
        node = self.lowest_node(values)
        return Generalized(
            self.leaves_under(node), self.height(node) / self.height(self.root), node == self.root
        )

    def lowest_node(self, values):
        return self._lowest(frozenset(values))

    def _lowest_node(self, values):
        """Of the nodes that cover all values the one with the fewest leaves; of a unary chain the lowest."""
        covering = [node for node in self.nodes() if values <= self.leaves_under(node)]
        return min(covering, key=lambda node: (len(self.leaves_under(node)), self.height(node)))

    def child_with(self, node, leaf):
        return next(child for child in self.below[node] if leaf in self.leaves_under(child))

    def covered_by(self, label):
        """Leaves under any node of this label, as it is written in the paths."""
        named = [node for node in self.nodes() if (node[-1] if node in self.below else node) == label]
        return frozenset().union(*map(self.leaves_under, named))


class IntervalDomain:
    """Values in an order; a missing value together with others is everything."""

    def __init__(self, values, has_null=False):
        self.values = list(values)
        self.leaves = frozenset(self.values) | (frozenset([None]) if has_null else frozenset())

    def closure(self, values):
        if len(set(values)) == 1:
            return Generalized(frozenset(values), 0.0, False)
        places = [] if None in values else sorted(self.values.index(value) for value in set(values))
        inside = frozenset(self.values[places[0] : places[-1] + 1]) if places else self.leaves
        return _free(inside, self.leaves)


class SetDomain(IntervalDomain):
    """Values without an order: any set of them."""

    def closure(self, values):
        if len(set(values)) == 1:
            return Generalized(frozenset(values), 0.0, False)
        return _free(self.leaves if None in values else frozenset(values), self.leaves)


def domain_of(column, *, paths=None, tight=False):
    """The domain of a coded column: its hierarchy, else any interval of an ordered one, else value or `*`."""
    texts = [text for text in column.texts if text is not None]
    if column.ordered and (tight or paths is None):
        return IntervalDomain(texts, column.has_null)
    if tight:
        return SetDomain(texts, column.has_null)
    if not texts:
        return TreeDomain([(None, STAR)])
    return TreeDomain(paths or [(text, STAR) for text in texts], column.has_null)


def _free(inside, leaves):
    return Generalized(inside, (len(inside) - 1) / (len(leaves) - 1), inside == leaves)


def _without_repeats(labels):
    kept = []
    for label in labels:
        if not kept or kept[-1] != label:
            kept.append(label)
    return tuple(kept)


def _without_echoes(below, root):
    """An inner node whose only child is a leaf of the same name is that leaf."""
    echoes = {node: node[-1] for node, children in below.items() if children == {node[-1]} and node != root}
    return {
        node: {echoes.get(child, child) for child in children}
        for node, children in below.items()
        if node not in echoes
    }
