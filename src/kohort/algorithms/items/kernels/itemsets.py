"""Itemsets and their supports: baskets of numbered nodes, walked through prefix by prefix, never stored."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import sorted_copy, stable_order

__all__ = [
    "Baskets",
    "Lists",
    "collapsed",
    "mark_rare",
    "picked",
    "project",
    "rare_after",
    "transposed",
]


class Baskets(NamedTuple):
    """Baskets: number b holds nodes[start[b]:start[b + 1]], ascending, and stands for weight[b] records.

    Nodes are given by numbers in the order of their ranks, the most frequent first.
    """

    start: np.ndarray
    nodes: np.ndarray
    weight: np.ndarray


class Lists(NamedTuple):
    """The places of each node: present[i], with weight[i] records, occurs at where[start[i]:start[i + 1]].

    A place is an index into the nodes of the baskets; `basket` names its basket.
    """

    present: np.ndarray
    weight: np.ndarray
    start: np.ndarray
    where: np.ndarray
    basket: np.ndarray


@kernel
def transposed(baskets, n_nodes):
    """The lists of places of all nodes that occur, by ascending number. O(occurrences + nodes)."""
    number = np.zeros(n_nodes, np.int32)
    for node in baskets.nodes:
        number[node] += 1
    n_present = 0
    for node in range(n_nodes):
        n_present += number[node] > 0
    present, start = np.empty(n_present, np.int32), np.zeros(n_present + 1, np.int64)
    i = 0
    for node in range(n_nodes):
        if number[node] > 0:
            present[i] = node
            start[i + 1] = start[i] + number[node]
            number[node] = i
            i += 1
    fill, weight = start[:-1].copy(), np.zeros(n_present, np.int64)
    where = np.empty(len(baskets.nodes), np.int64)
    basket = np.empty(len(baskets.nodes), np.int32)
    for b in range(len(baskets.weight)):
        for place in range(baskets.start[b], baskets.start[b + 1]):
            i = number[baskets.nodes[place]]
            where[fill[i]], basket[fill[i]] = place, b
            fill[i] += 1
            weight[i] += baskets.weight[b]
    return Lists(present, weight, start, where, basket)


@kernel
def project(baskets, lists, i, keep):
    """The baskets that have node number i of the lists, reduced to the kept nodes after it; no empty ones."""
    n_baskets, size = 0, 0
    for at in range(lists.start[i], lists.start[i + 1]):
        tail = baskets.start[lists.basket[at] + 1] - lists.where[at] - 1
        n_baskets += tail > 0
        size += tail
    start, nodes = np.zeros(n_baskets + 1, np.int64), np.empty(size, np.int32)
    weight = np.empty(n_baskets, np.int64)
    b, filled = 0, 0
    for at in range(lists.start[i], lists.start[i + 1]):
        for place in range(lists.where[at] + 1, baskets.start[lists.basket[at] + 1]):
            if keep[baskets.nodes[place]]:
                nodes[filled] = baskets.nodes[place]
                filled += 1
        if filled > start[b]:
            weight[b] = baskets.weight[lists.basket[at]]
            b += 1
            start[b] = filled
    return Baskets(start[: b + 1], nodes[:filled], weight[:b])


@kernel
def rare_after(baskets, lists, i, k, count, touched):
    """The nodes that follow node number i of the lists in at least one but fewer than k records, ascending.

    Stops when none can be rare any more. `count` is all zero before and after; `touched` is scratch for all
    nodes.
    """
    n, left = 0, len(lists.present) - i - 1
    for at in range(lists.start[i], lists.start[i + 1]):
        if left == 0:
            break
        b = lists.basket[at]
        for place in range(lists.where[at] + 1, baskets.start[b + 1]):
            node = baskets.nodes[place]
            before = count[node]
            if before < k:
                if before == 0:
                    touched[n] = node
                    n += 1
                count[node] = before + baskets.weight[b]
                left -= count[node] >= k
    rare = np.empty(n, np.int32)
    n_rare = 0
    for node in touched[:n]:
        if count[node] < k:
            rare[n_rare] = node
            n_rare += 1
        count[node] = 0
    return sorted_copy(rare[:n_rare])


@kernel
def mark_rare(baskets, n_nodes, size, k, marks, prefix, depth, stop):
    """Whether some itemset of up to `size` nodes occurs in fewer than k records.

    The nodes of every such itemset are marked, together with those in prefix[:depth]; with `stop` only those
    of the first one, which is left in `prefix` (unused places hold -1). O(itemsets in all baskets).
    """
    lists, everything = transposed(baskets, n_nodes), np.ones(n_nodes, np.bool_)
    count, touched = np.zeros(n_nodes, np.int64), np.empty(n_nodes, np.int32)
    found = False
    for i in range(len(lists.present)):
        prefix[depth] = lists.present[i]
        if lists.weight[i] < k:
            found = True
            marks[prefix[: depth + 1]] = True
            if stop:
                return True
        if depth + 2 == size:
            for node in rare_after(baskets, lists, i, k, count, touched):
                found = True
                prefix[depth + 1] = node
                marks[prefix[: depth + 2]] = True
                if stop:
                    return True
            prefix[depth + 1] = -1
        elif depth + 2 < size:
            below = project(baskets, lists, i, everything)
            if len(below.weight) and mark_rare(below, n_nodes, size, k, marks, prefix, depth + 1, stop):
                found = True
                if stop:
                    return True
    prefix[depth] = -1
    return found


@kernel
def picked(baskets, numbers):
    """The baskets with the given numbers."""
    start = np.zeros(len(numbers) + 1, np.int64)
    for i in range(len(numbers)):
        start[i + 1] = start[i] + baskets.start[numbers[i] + 1] - baskets.start[numbers[i]]
    nodes = np.empty(start[-1], np.int32)
    for i in range(len(numbers)):
        b = numbers[i]
        nodes[start[i] : start[i + 1]] = baskets.nodes[baskets.start[b] : baskets.start[b + 1]]
    return Baskets(start, nodes, baskets.weight[numbers])


@kernel
def collapsed(baskets):
    """The distinct baskets, with the weights of equal ones added up; without empty ones. O(n log n)."""
    n = len(baskets.weight)
    digest = np.zeros(n, np.uint64)
    for b in range(n):
        value = np.uint64(1469598103934665603)
        for place in range(baskets.start[b], baskets.start[b + 1]):
            value = (value ^ np.uint64(baskets.nodes[place] + 1)) * np.uint64(1099511628211)
            value ^= value >> np.uint64(29)
        digest[b] = value
    order = stable_order(digest)
    start, nodes = np.zeros(n + 1, np.int64), np.empty(len(baskets.nodes), np.int32)
    weight, kept, last = np.empty(n, np.int64), 0, -1
    for b in order:
        if baskets.start[b] == baskets.start[b + 1]:
            continue
        if last >= 0 and digest[last] == digest[b] and _equal(baskets, last, b):
            weight[kept - 1] += baskets.weight[b]
            continue
        length = baskets.start[b + 1] - baskets.start[b]
        nodes[start[kept] : start[kept] + length] = baskets.nodes[baskets.start[b] : baskets.start[b + 1]]
        weight[kept], start[kept + 1] = baskets.weight[b], start[kept] + length
        kept, last = kept + 1, b
    return Baskets(start[: kept + 1].copy(), nodes[: start[kept]].copy(), weight[:kept].copy())


@kernel
def _equal(baskets, a, b):
    length = baskets.start[a + 1] - baskets.start[a]
    if baskets.start[b + 1] - baskets.start[b] != length:
        return False
    for i in range(length):
        if baskets.nodes[baskets.start[a] + i] != baskets.nodes[baskets.start[b] + i]:
            return False
    return True
