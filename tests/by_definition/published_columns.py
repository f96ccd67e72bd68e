"""A published column, read as a stranger would: the leaves that each label covers, and how high they are."""

from __future__ import annotations

from collections import Counter
from functools import cache

from by_definition.domains import STAR, Generalized, IntervalDomain, SetDomain, TreeDomain
from by_definition.verification import members


def reading_of(original, *, paths=None, tight=False, missing=()):
    """How labels of a column are read.

    original  an OriginalColumn
    paths     of its hierarchy, if it has one
    missing   values that the hierarchy lacks: leaves right under the root
    """
    if original.ordered and (tight or paths is None):
        return FreeReading(original, IntervalDomain(original.distinct, original.has_null))
    if tight and original.distinct:
        return FreeReading(original, SetDomain(original.distinct, original.has_null))
    if not original.distinct:
        return TreeReading(original, TreeDomain([(None, STAR)]))
    if paths is None:
        paths = [(text, STAR) for text in original.distinct]
    paths = rooted(paths)
    paths = [*paths, *((value, paths[0][-1]) for value in missing)]
    needs_null = original.has_null and all(path[0] is not None for path in paths)
    return TreeReading(original, TreeDomain(paths, needs_null))


def rooted(paths):
    """Paths with one root: `*` above those that do not end in a common one."""
    tops = {path[-1] if len(path) > 1 else None for path in paths}
    root = tops.pop() if len(tops) == 1 and None not in tops else STAR
    return [tuple(path) if len(path) > 1 and path[-1] == root else (*path, root) for path in paths]


class FreeReading:
    """A column whose labels are values, intervals `[a, b]`, sets `{a, b}` or `*`."""

    def __init__(self, original, domain):
        self.original, self.domain = original, domain
        self.generalized = cache(self._generalized)

    def _generalized(self, label):
        leaves = self.domain.leaves
        inside = leaves if label == STAR else self._inside(label)
        if not inside:
            return None
        if label == STAR:
            return Generalized(leaves, 1.0, True)
        level = (len(inside) - 1) / (len(leaves) - 1) if len(leaves) > 1 else 0.0
        return Generalized(inside, level, False)

    def _inside(self, label):
        found = {label} & self.domain.leaves
        if label is not None:
            found |= self._equal(label) | self._between(label)
            if label[:1] == "{" and label[-1:] == "}":
                found |= set(members(label)) & self.domain.leaves
        return frozenset(found)

    def _equal(self, label):
        """Values that are the number of this label, whatever its spelling."""
        if not self.original.ordered:
            return set()
        try:
            number = self.original.number(label)
        except ValueError:
            return set()
        return {text for text in self.original.distinct if self.original.number(text) == number}

    def _between(self, label):
        ends = interval(label, self.original.number) if self.original.ordered else None
        return {text for text in self.original.distinct if ends is not None and ends(text)}


class TreeReading:
    """A column with a hierarchy: labels of nodes, sets of them, or intervals of its leaves."""

    def __init__(self, original, domain):
        self.original, self.domain = original, domain
        self.node_of = published_names(domain)
        self.generalized = cache(self._generalized)

    def _generalized(self, label):
        if label == STAR:  # also where that is a value: nobody can tell
            return Generalized(self.domain.leaves, 1.0, True)
        if label in self.node_of:
            return self._of(self.domain.leaves_under(self.node_of[label]), self.node_of[label], label)
        inside = self._inside(label)
        return self._of(inside, self.domain.lowest_node(inside), label) if inside else None

    def _of(self, leaves, node, label):
        height = self._height(self.domain.root)
        return Generalized(leaves, self._height(node) / height if height else 0.0, label == STAR)

    def _height(self, node):
        return self.domain.height(node)

    def _inside(self, label):
        if label is None:
            return frozenset()
        if label[:1] == "{" and label[-1:] == "}":
            nodes = [self.node_of[name] for name in members(label) if name in self.node_of]
            return frozenset().union(*map(self.domain.leaves_under, nodes))
        ends = interval(label, self.original.number) if self.original.ordered else None
        return frozenset(
            leaf for leaf in self.domain.leaves if ends is not None and leaf is not None and ends(leaf)
        )


def interval(label, number):
    """Whether a text lies between the ends of the interval that a label is; None where it is none."""
    if label[:1] != "[" or label[-1:] not in ("]", ")"):
        return None
    parts = label[1:-1].split(", ")
    for cut in range(1, len(parts)):
        try:
            low, high = number(", ".join(parts[:cut])), number(", ".join(parts[cut:]))
        except ValueError:
            continue
        closed = label.endswith("]")
        return lambda text: _between(low, high, closed, text, number)
    return None


def _between(low, high, closed, text, number):
    try:
        place = number(text)
    except ValueError:
        return False
    return low <= place and (place < high or (closed and place == high))


def published_names(domain):
    """Nodes by the names they are published under: leaves keep theirs, an inner one that is used elsewhere
    too is followed by its parent's, and by a number where that is taken; the root is `*` then."""
    uses = Counter([*(node[-1] for node in domain.below), *domain.leaves])
    found = {leaf: leaf for leaf in domain.leaves}
    root = domain.root[-1]
    taken = {*domain.leaves, *(node[-1] for node in domain.below if node != domain.root)}
    found[STAR if uses[root] > 1 else root] = domain.root
    taken.add(STAR if uses[root] > 1 else root)
    for node in depth_first(domain, domain.root)[1:]:
        label = node[-1]
        if uses[label] > 1:
            stem = label = f"{label} ({node[-2]})"
            number = 2
            while label in taken:
                label, number = f"{stem} #{number}", number + 1
            taken.add(label)
        found[label] = node
    return {**found, **{leaf: leaf for leaf in domain.leaves}}


def depth_first(domain, node):
    """A node and all inner ones below it, branch by branch, in the order in which the paths name them."""
    below = [child for child in domain.below if child[:-1] == node]
    return [node, *(found for child in below for found in depth_first(domain, child))]
