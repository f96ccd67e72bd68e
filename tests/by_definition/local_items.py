"""Local recoding of baskets by definition: who supports which labels, and who fits what an attacker knows."""

from __future__ import annotations

from fractions import Fraction
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


def highest_local_confidence(parent, baskets, labels, holds, m, *, known_sensitive=False):
    """The largest share that holds something sensitive among the baskets that fit up to m items of a basket.

    Where it holds of all sets of labels that are shown, it holds of these: they are such groups together.

    baskets  the leaves of each basket, whether they are published or not
    labels   the nodes that each basket shows; it fits a leaf if one of these is at or above it
    holds    per basket the set of what it holds
    """
    secrets = {secret for held in holds for secret in held}
    fits = [{leaf for leaf in range(len(parent)) if shown & set(above(parent, leaf))} for shown in labels]
    filled = [number for number, shown in enumerate(labels) if shown]
    groups = [(frozenset(), range(len(labels))), (frozenset(), filled)]
    for basket, held in zip(baskets, holds):
        for n_secret in range((m if known_sensitive else 0) + 1):
            for secret in combinations(sorted(held), n_secret):
                whole = [i for i in range(len(labels)) if set(secret) <= holds[i]]
                groups += [(frozenset(secret), whole)]
                groups += [(frozenset(secret), [i for i in whole if labels[i]])] * (n_secret < m)
                for size in range(1, m - n_secret + 1):
                    for known in combinations(sorted(set(basket)), size):
                        fitting = [i for i in whole if set(known) <= fits[i]]
                        groups.append((frozenset(secret), fitting))
    shares = [
        Fraction(sum(secret in holds[i] for i in fitting), len(fitting))
        for items, fitting in groups
        if fitting
        for secret in secrets - items
    ]
    return max(shares, default=Fraction(0))


def short_label_sets(labels, rooms, size, wanted):
    """The sets of up to `size` labels, with a wanted one, whose baskets have less than 0 room together."""
    known = {
        frozenset(chosen)
        for shown in labels
        for length in range(1, size + 1)
        for chosen in combinations(sorted(shown), length)
    }
    return {
        chosen
        for chosen in known
        if chosen & wanted and sum(room for shown, room in zip(labels, rooms) if chosen <= shown) < 0
    }
