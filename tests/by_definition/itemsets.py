"""Itemsets of baskets by plain loops: which are rare, and what a set of nodes shows of a basket."""

from __future__ import annotations

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
