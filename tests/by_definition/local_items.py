"""Local recoding of baskets by definition: who supports which labels, and who fits what an attacker knows."""

from __future__ import annotations

from itertools import combinations


def above(parent, node):
    """The node and all nodes above it."""
    found = []
    while node >= 0:
        found.append(node)
        node = parent[node]
    return found


def supports(parent, occurrences, label):
    """Whether a basket has an item under a label that is published as the label or as a node above it."""
    return any(label in above(parent, leaf) and node in above(parent, label) for leaf, node in occurrences)


def unsupported(parent, baskets, k, m):
    """The sets of up to m labels of a basket that fewer than k baskets support, each with its support.

    A basket is a list of pairs: the leaf of an item, and the node that it is published as.
    """
    known = {
        labels
        for basket in baskets
        for size in range(1, m + 1)
        for labels in combinations(sorted({node for _, node in basket}), size)
    }
    support = {
        labels: sum(all(supports(parent, basket, label) for label in labels) for basket in baskets)
        for labels in known
    }
    return {labels: n for labels, n in support.items() if n < k}


def candidates(parent, baskets, m):
    """The least number of baskets that fit up to m items of a basket: a label at or above each of them."""
    least = len(baskets)
    for basket in baskets:
        for size in range(1, m + 1):
            for known in combinations(sorted({leaf for leaf, _ in basket}), size):
                fitting = [
                    other
                    for other in baskets
                    if all(any(node in above(parent, leaf) for _, node in other) for leaf in known)
                ]
                least = min(least, len(fitting))
    return least
