"""Itemsets and their supports: baskets of numbered nodes, walked through prefix by prefix, never stored."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.kernels.compiled import kernel, lean


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
    start, nodes = np.zeros(n_baskets + 1, np.int64), np.empty(size + 1, np.int32)
    weight = np.empty(n_baskets, np.int64)
    b, filled = 0, 0
    for at in range(lists.start[i], lists.start[i + 1]):
        for place in range(lists.where[at] + 1, baskets.start[lists.basket[at] + 1]):
            nodes[filled] = baskets.nodes[place]  # without a branch, which would be guessed wrong too often
            filled += keep[baskets.nodes[place]]
        if filled > start[b]:
            weight[b] = baskets.weight[lists.basket[at]]
            b += 1
            start[b] = filled
    return Baskets(start[: b + 1], nodes[:filled], weight[:b])


@lean
def rare_after(baskets, lists, i, k, count, touched):
    """Write the nodes that follow node number i of the lists in at least one but fewer than k records.

    They are touched[:n], in no order; returns n. Stops when none can be rare any more. `count` is all zero
    before and after; `touched` has room for all nodes.
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
    n_rare = 0
    for at in range(n):
        node = touched[at]
        if count[node] < k:
            touched[n_rare] = node
            n_rare += 1
        count[node] = 0
    return n_rare


@kernel
def mark_rare(baskets, size, k, marks, prefix, depth, stop, pairs):
    """Whether some itemset of up to `size` nodes occurs in fewer than k records.

    The nodes of every such itemset are marked, together with those in prefix[:depth], until all are; with
    `stop` only those of the first one, which is left in `prefix` (unused places hold -1).
    `pairs` is scratch. O(itemsets in all baskets).
    """
    n_nodes = len(marks)
    lists, everything = transposed(baskets, n_nodes), np.ones(n_nodes, np.bool_)
    count, touched = np.zeros(n_nodes, np.int64), np.empty(n_nodes, np.int32)
    found = False
    for i in range(len(lists.present)):
        prefix[depth] = lists.present[i]
        here = lists.weight[i] < k
        if here:
            marks[prefix[: depth + 1]] = True
        if here and stop:
            return True
        if depth + 3 == size and table_pays(pairs, lists, i):
            count_pairs_after(baskets, lists, i, everything, k, pairs)
            here |= _mark_pairs(pairs, k, marks, prefix, depth, stop, touched)
        elif depth + 2 == size:
            n = rare_after(baskets, lists, i, k, count, touched)
            if n:
                here = True
                marks[prefix[: depth + 1]] = True
                marks[touched[:n]] = True
                prefix[depth + 1] = touched[0] if stop else -1
        elif depth + 2 < size:
            below = project(baskets, lists, i, everything)
            if len(below.weight):
                here |= mark_rare(below, size, k, marks, prefix, depth + 1, stop, pairs)
        found |= here
        if here and (stop or marks.all()):
            return True
    prefix[depth] = -1
    return found


@kernel
def _mark_pairs(pairs, k, marks, prefix, depth, stop, rare):
    """The same for itemsets that end with a counted node or pair of nodes after prefix[:depth + 1]."""
    found = False
    for node in pairs.used[: pairs.n_used[0]]:
        n = rare_in_row(pairs, node, k, rare)
        if n or pairs.number[node, node] < k:
            found = True
            marks[prefix[: depth + 1]] = True
            marks[node] = True
            marks[rare[:n]] = True
            if stop:
                prefix[depth + 1] = node
                prefix[depth + 2] = rare[0] if pairs.number[node, node] >= k else -1
                break
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
    """The distinct baskets in the order of their first occurrence, with the weights of equal ones added up.

    Empty ones are left out. O(items in all baskets), by a table of hashes.
    """
    n = len(baskets.weight)
    mask = np.int64(1)
    while mask < 2 * n:
        mask *= 2
    table, mask = np.full(mask, -1, np.int32), np.uint64(mask - 1)
    kept, first, digest = 0, np.empty(n, np.int64), np.empty(n, np.uint64)
    weight, size = np.empty(n, np.int64), np.int64(0)
    for b in range(n):
        if baskets.start[b] == baskets.start[b + 1]:
            continue
        value = _digest(baskets, b)
        slot = value & mask
        while table[slot] >= 0:
            other = table[slot]
            if digest[other] == value and _equal(baskets, first[other], b):
                break
            slot = (slot + np.uint64(1)) & mask
        if table[slot] >= 0:
            weight[table[slot]] += baskets.weight[b]
            continue
        table[slot], first[kept], digest[kept], weight[kept] = kept, b, value, baskets.weight[b]
        size += baskets.start[b + 1] - baskets.start[b]
        kept += 1
    start, nodes = np.zeros(kept + 1, np.int64), np.empty(size, np.int32)
    for i in range(kept):
        at = start[i]
        for place in range(baskets.start[first[i]], baskets.start[first[i] + 1]):
            nodes[at] = baskets.nodes[place]
            at += 1
        start[i + 1] = at
    return Baskets(start, nodes, weight[:kept].copy())


@lean
def _digest(baskets, b):
    """A hash of the nodes of a basket."""
    value = np.uint64(1469598103934665603)
    for place in range(baskets.start[b], baskets.start[b + 1]):
        value = (value ^ np.uint64(baskets.nodes[place] + 1)) * np.uint64(1099511628211)
        value ^= value >> np.uint64(29)
    return value


@lean
def _equal(baskets, a, b):
    length = baskets.start[a + 1] - baskets.start[a]
    if baskets.start[b + 1] - baskets.start[b] != length:
        return False
    for i in range(length):
        if baskets.nodes[baskets.start[a] + i] != baskets.nodes[baskets.start[b] + i]:
            return False
    return True


_MOST_NODES = 1_500
_LARGEST_K = 60_000


class PairCounts(NamedTuple):
    """Scratch for `count_pairs_after`.

    number  per pair of nodes, the first before the second, the records with both, at most k; per node and
            itself those with the node. Rows of nodes that are not in use hold anything
    low     per node the first one after it that may have fewer than k records with it; -1: not in use
    tail    the nodes of one basket
    used    the nodes in use, the first n_used[0] of them
    """

    number: np.ndarray
    low: np.ndarray
    tail: np.ndarray
    used: np.ndarray
    n_used: np.ndarray


@kernel
def pair_counts(n_nodes, k):
    """The scratch for this many nodes; of no size where the table would be too large."""
    n = n_nodes if n_nodes <= _MOST_NODES and k <= _LARGEST_K else 0
    low = np.full(n, -1, np.int64)
    return PairCounts(
        np.empty((n, n), np.uint16),
        low,
        np.empty(n + 1, np.int32),
        np.empty(n, np.int32),
        np.zeros(1, np.int64),
    )


@lean
def table_pays(pairs, lists, i):
    """Whether the pairs after node number i of the lists are counted faster in the table than by lists."""
    return len(pairs.low) > 0 and lists.start[i + 1] - lists.start[i] >= len(pairs.low)


@lean
def count_pairs_after(baskets, lists, i, keep, k, pairs):
    """Count, up to k, the records with node number i of the lists and each pair of kept nodes after it.

    Baskets are read from their rarest node on, down to the first one with fewer than k records so far.
    """
    for at in range(pairs.n_used[0]):
        pairs.low[pairs.used[at]] = -1
    pairs.n_used[0] = 0
    for at in range(lists.start[i], lists.start[i + 1]):
        b, size = lists.basket[at], 0
        for place in range(lists.where[at] + 1, baskets.start[b + 1]):
            pairs.tail[size] = baskets.nodes[place]
            size += keep[baskets.nodes[place]]
        for first in range(size):
            _count_row(pairs, first, size, keep, min(baskets.weight[b], k), k)


@lean
def _count_row(pairs, first, size, keep, weight, k):
    """Add a basket, whose nodes are tail[:size], to the row of the node at place `first` of it."""
    node = pairs.tail[first]
    row = pairs.number[node]
    if pairs.low[node] < 0:
        row[node:] = 0
        pairs.used[pairs.n_used[0]] = node
        pairs.n_used[0] += 1
        pairs.low[node] = node
    low = pairs.low[node]
    for place in range(size - 1, first - 1, -1):
        other = pairs.tail[place]
        if other < low:
            break
        if row[other] < k:
            row[other] = min(row[other] + weight, k)
    while low < len(row) and (row[low] >= k or not keep[low]):
        low += 1
    pairs.low[node] = low


@lean
def rare_in_row(pairs, node, k, found):
    """Write the nodes after a node that at least one but fewer than k records have with it, ascending.

    They are found[:n]; returns n.
    """
    n = 0
    if pairs.low[node] >= 0:
        row = pairs.number[node]
        for other in range(max(pairs.low[node], node + 1), len(row)):
            if 0 < row[other] < k:
                found[n] = other
                n += 1
    return n
