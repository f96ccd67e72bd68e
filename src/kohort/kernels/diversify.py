"""Inner loops of diversify: which groups can join a group at the least added cost, and their joint values.

Groups lie in a k-d tree. What a group adds to one in a branch is bounded from below by the smallest range,
size and saving in that branch. Groups only grow, so a branch's ranges and sizes stay right when two of its
groups become one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from kohort.kernels.generalization import range_cost

__all__ = [
    "Branches",
    "Summaries",
    "added_costs",
    "cheapest_partners",
    "grow",
    "merged_cells",
    "record_costs",
]

LEAF = 8  # groups in a leaf of the tree, about


class Summaries(NamedTuple):
    """All groups side by side; one that has joined another has size 0."""

    lo: np.ndarray  # groups by attributes: the least leaf
    hi: np.ndarray  # and the greatest
    size: np.ndarray  # records
    cost: np.ndarray  # of one record


class Branches(NamedTuple):
    """A balanced k-d tree: node 1 is the root, 2i and 2i + 1 are the children of i."""

    group: np.ndarray  # the groups in the order of the tree's leaves
    start: np.ndarray  # per node: its first place in `group`
    end: np.ndarray
    leaf: np.ndarray  # per group: the leaf that holds it
    reach_lo: np.ndarray  # per node and attribute: every group begins here or before
    reach_hi: np.ndarray  # and ends here or after
    size: np.ndarray  # per node: no group has fewer records
    cost: np.ndarray  # per node: no group costs more per record


@njit(cache=True, nogil=True)
def record_costs(tables, lo, hi):
    """Cost of one record of each group."""
    costs = np.zeros(len(lo))
    for group in range(len(lo)):
        for attribute in range(lo.shape[1]):
            costs[group] += range_cost(tables, attribute, lo[group, attribute], hi[group, attribute])
    return costs


@njit(cache=True, nogil=True)
def _joint_cost(tables, lo, hi, other_lo, other_hi):
    """Cost of one record that covers both ranges in every attribute."""
    cost = 0.0
    for attribute in range(len(lo)):
        least = min(lo[attribute], other_lo[attribute])
        cost += range_cost(tables, attribute, least, max(hi[attribute], other_hi[attribute]))
    return cost


@njit(cache=True, nogil=True)
def _added_cost(tables, groups, a, b):
    """What all records of two groups cost more together than apart: Eq. 9 of the paper."""
    joint = _joint_cost(tables, groups.lo[a], groups.hi[a], groups.lo[b], groups.hi[b])
    return groups.size[a] * (joint - groups.cost[a]) + groups.size[b] * (joint - groups.cost[b])


@njit(cache=True, nogil=True)
def added_costs(tables, groups, head, partners):
    """What each partner adds to one group."""
    added = np.empty(len(partners))
    for i in range(len(partners)):
        added[i] = _added_cost(tables, groups, head, partners[i])
    return added


@njit(cache=True, nogil=True)
def grow(tables, groups, members):
    """The tree of some groups. O(n log^2 n), n = len(members)."""
    n, r = len(members), groups.lo.shape[1]
    depth = 0
    while n >> depth > LEAF:
        depth += 1
    n_nodes = 2 << depth
    group = members.copy()
    start, end = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    end[1] = n
    leaf = np.zeros(len(groups.size), np.int64)
    for node in range(1, n_nodes):
        if node > 1:
            middle = (start[node >> 1] + end[node >> 1]) // 2
            start[node] = middle if node & 1 else start[node >> 1]
            end[node] = end[node >> 1] if node & 1 else middle
        inside = group[start[node] : end[node]]
        if node >= n_nodes >> 1:
            leaf[inside] = node
            continue
        attribute = _widest(tables, groups, inside)
        order = np.argsort(groups.lo[inside, attribute] + groups.hi[inside, attribute], kind="mergesort")
        group[start[node] : end[node]] = inside[order]
    reach_lo = np.full((n_nodes, r), -1, np.int64)
    reach_hi = np.full((n_nodes, r), np.int64(2**62))
    size, cost = np.full(n_nodes, np.int64(2**62)), np.full(n_nodes, -np.inf)
    for member in members:
        node = leaf[member]
        while node > 0:
            size[node] = min(size[node], groups.size[member])
            cost[node] = max(cost[node], groups.cost[member])
            for attribute in range(r):
                reach_lo[node, attribute] = max(reach_lo[node, attribute], groups.lo[member, attribute])
                reach_hi[node, attribute] = min(reach_hi[node, attribute], groups.hi[member, attribute])
            node >>= 1
    return Branches(group, start, end, leaf, reach_lo, reach_hi, size, cost)


@njit(cache=True, nogil=True)
def raise_costs(branches, groups, grown):
    """Tell the branches above some groups that these have grown."""
    for group in grown:
        node = branches.leaf[group]
        while node > 0:
            branches.cost[node] = max(branches.cost[node], groups.cost[group])
            node >>= 1


@njit(cache=True, nogil=True)
def _widest(tables, groups, members):
    """The attribute in which the middles of these groups lie farthest apart, by cost."""
    widest, most = 0, -1.0
    for attribute in range(groups.lo.shape[1]):
        first, last = np.int64(2**62), np.int64(-1)
        for member in members:
            middle = (groups.lo[member, attribute] + groups.hi[member, attribute]) // 2
            first, last = min(first, middle), max(last, middle)
        if first < last:
            apart = range_cost(tables, attribute, first, last)
            if apart > most:
                widest, most = attribute, apart
    return widest


@njit(cache=True, nogil=True)
def cheapest_partners(tables, groups, branches, heads, n_partners):
    """For each head the groups that add least to it, in no order; -1 and inf where there are no more.

    Exact for monotone costs. Near-linear in practice: a branch that cannot hold one of them is left out.
    """
    partners = np.full((len(heads), n_partners), -1, np.int64)
    added = np.full((len(heads), n_partners), np.inf)
    waiting = np.empty(128, np.int64)
    least = np.empty(128)
    for i in range(len(heads)):
        head = heads[i]
        waiting[0], least[0] = 1, -np.inf
        n_waiting = 1
        while n_waiting:
            n_waiting -= 1
            node = waiting[n_waiting]
            if least[n_waiting] > added[i, 0]:
                continue
            if 2 * node < len(branches.start):
                left, right = 2 * node, 2 * node + 1
                left_least = _least_added(tables, groups, branches, head, left)
                right_least = _least_added(tables, groups, branches, head, right)
                if left_least < right_least:  # the nearer one is looked at first
                    left, right, left_least, right_least = right, left, right_least, left_least
                waiting[n_waiting], least[n_waiting] = left, left_least
                waiting[n_waiting + 1], least[n_waiting + 1] = right, right_least
                n_waiting += 2
                continue
            for place in range(branches.start[node], branches.end[node]):
                other = branches.group[place]
                if other != head and groups.size[other] > 0:
                    cost = _added_cost(tables, groups, head, other)
                    if cost < added[i, 0]:
                        _replace_dearest(partners[i], added[i], other, cost)
    return partners, added


@njit(cache=True, nogil=True)
def _least_added(tables, groups, branches, head, node):
    """No group of this branch adds less to the head."""
    joint = _joint_cost(
        tables, groups.lo[head], groups.hi[head], branches.reach_lo[node], branches.reach_hi[node]
    )
    return groups.size[head] * (joint - groups.cost[head]) + branches.size[node] * max(
        0.0, joint - branches.cost[node]
    )


@njit(cache=True, nogil=True)
def _replace_dearest(partners, added, partner, cost):
    """Put a partner in the place of the dearest one, which stands first: the rest is a heap."""
    place, n = 0, len(added)
    while True:
        child = 2 * place + 1
        if child >= n:
            break
        if child + 1 < n and added[child + 1] > added[child]:
            child += 1
        if added[child] <= cost:
            break
        added[place], partners[place] = added[child], partners[child]
        place = child
    added[place], partners[place] = cost, partner


@njit(cache=True, nogil=True)
def merged_cells(start, end, value, count, a, b):
    """The cells of the unions of groups a[i] and b[i]: first cell of each and one more, value, count.

    Group g has the values `value[start[g]:end[g]]`, rising, so many times. O(cells).
    """
    most = 0
    for i in range(len(a)):
        most += end[a[i]] - start[a[i]] + end[b[i]] - start[b[i]]
    first = np.zeros(len(a) + 1, np.int64)
    values, counts = np.empty(most, np.int64), np.empty(most, np.int64)
    n = 0
    for i in range(len(a)):
        p, q = start[a[i]], start[b[i]]
        p_end, q_end = end[a[i]], end[b[i]]
        while p < p_end or q < q_end:
            values[n], counts[n] = -1, 0
            from_p = q == q_end or (p < p_end and value[p] <= value[q])
            from_q = p == p_end or (q < q_end and value[q] <= value[p])
            if from_p:
                values[n] = value[p]
                counts[n] += count[p]
                p += 1
            if from_q:
                values[n] = value[q]
                counts[n] += count[q]
                q += 1
            n += 1
        first[i + 1] = n
    return first, values[:n], counts[:n]
