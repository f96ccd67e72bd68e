"""Itemsets of baskets by plain loops: which are rare, and what a set of nodes shows of a basket."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations


def rare_itemsets(baskets, size, k):
    """All sets of up to `size` nodes that some, but fewer than k, of the weighted baskets have."""
    support = {}
    for nodes, weight in baskets:
        for length in range(1, size + 1):
            for itemset in combinations(sorted(nodes), length):
                support[itemset] = support.get(itemset, 0) + weight
    return {itemset for itemset, records in support.items() if records < k}


def after(baskets, node, keep):
    """What is kept after a node, in the baskets that have it."""
    return [
        ([x for x in nodes if x > node and keep[x]], weight) for nodes, weight in baskets if node in nodes
    ]


def shown(basket, parent, number):
    """The numbers of the nodes at or above the items of a basket that have one."""
    found = set()
    for node in basket:
        while node >= 0:
            found.add(number[node])
            node = parent[node]
    return sorted(found - {-1})


def short_itemsets(baskets, size):
    """All sets of up to `size` nodes whose rooms add up to less than 0, but those that begin with one."""
    room = {}
    for nodes, weight in baskets:
        for length in range(1, size + 1):
            for itemset in combinations(sorted(nodes), length):
                room[itemset] = room.get(itemset, 0) + weight
    short = {itemset for itemset, total in room.items() if total < 0}
    return {itemset for itemset in short if not any(itemset[:n] in short for n in range(1, len(itemset)))}


def highest_confidence(baskets, sensitive, m):
    """The largest share of holders of any sensitive item among the baskets that fit what may be known."""
    others = [set(basket) - set(sensitive) for basket in baskets]
    known = {frozenset(c) for other in others for n in range(1, m + 1) for c in combinations(other, n)}
    fitting = [[basket for basket, other in zip(baskets, others) if items <= other] for items in known]
    fitting += [baskets, [basket for basket, other in zip(baskets, others) if other]]
    shares = [Fraction(sum(item in b for b in fit), len(fit)) for fit in fitting if fit for item in sensitive]
    return max(shares, default=Fraction(0))


def highest_uncertainty(baskets, sensitive, m):
    """The largest confidence of a rule from up to m items, sensitive ones included, to another sensitive one.

    Somebody may also know nothing; that there are other items counts as a known item.
    """
    known = {frozenset(c) for basket in baskets for n in range(m + 1) for c in combinations(set(basket), n)}
    groups = [(items, [basket for basket in baskets if items <= set(basket)]) for items in known]
    filled = [basket for basket in baskets if set(basket) - set(sensitive)]
    groups += [
        (items, [basket for basket in filled if items <= set(basket)])
        for items in known
        if items <= set(sensitive) and len(items) < m
    ]
    shares = [
        Fraction(sum(item in basket for basket in fitting), len(fitting))
        for items, fitting in groups
        if fitting
        for item in set(sensitive) - items
    ]
    return max(shares, default=Fraction(0))
