"""Inner loops of diversify: which groups can join a group at the least added cost, and their joint values.

Groups lie in a k-d tree. What the groups of a branch add to another group is bounded from below by the
smallest ranges and sizes in that branch. Groups only grow, so these stay right when two become one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from kohort.kernels.generalization import TREE, Tables, lowest_node, range_cost

__all__ = [
    "Branches",
    "Climbs",
    "Summaries",
    "added_costs",
    "cheapest_partners",
    "grow",
    "merged_cells",
    "node_starts",
    "raise_costs",
    "record_costs",
]

LEAF = 8  # groups in a leaf of the tree, about


class Climbs(NamedTuple):
    """The attributes' costs, and what it takes to climb their hierarchies from a group."""

    tables: Tables
    first_leaf: np.ndarray  # per node, counted inside its attribute
    longest: int  # nodes from a leaf up to the root, at most


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
    lo: np.ndarray  # per node and attribute: every group begins here or before
    hi: np.ndarray  # and ends here or after
    size: np.ndarray  # per node: no group has fewer records
    cost: np.ndarray  # per node: no group costs more per record


@njit(cache=True, nogil=True)
def node_starts(tables):
    """Per node its first leaf, and how many nodes there are at most from a leaf up to the root."""
    first = np.full(len(tables.parent), np.int64(2**62))
    longest = 1
    for attribute in range(len(tables.kind)):
        if tables.kind[attribute] != TREE:
            continue
        start = tables.leaf_start[attribute]
        stop = tables.leaf_start[attribute + 1] if attribute + 1 < len(tables.kind) else len(tables.leaf_node)
        for leaf in range(stop - start):
            node, steps = tables.leaf_node[start + leaf], 0
            while node >= 0:
                first[node] = min(first[node], leaf)
                node = tables.parent[node]
                steps += 1
            longest = max(longest, steps)
    return first, longest


@njit(cache=True, nogil=True)
def record_costs(tables, lo, hi):
    """Cost of one record of each group."""
    costs = np.zeros(len(lo))
    for group in range(len(lo)):
        for attribute in range(lo.shape[1]):
            costs[group] += range_cost(tables, attribute, lo[group, attribute], hi[group, attribute])
    return costs


class _Head(NamedTuple):
    """A group that looks for a partner: for each attribute its range and the nodes above it, lowest first."""

    lo: np.ndarray
    hi: np.ndarray
    cost: np.ndarray  # of one record, per attribute
    first: np.ndarray  # per attribute and step up: the first leaf
    last: np.ndarray  # and the last
    more: np.ndarray  # and what the node costs more than the group


@njit(cache=True, nogil=True)
def _new_head(climbs):
    r = len(climbs.tables.kind)
    steps = (r, climbs.longest)
    return _Head(
        np.zeros(r, np.int64),
        np.zeros(r, np.int64),
        np.zeros(r),
        np.zeros(steps, np.int64),
        np.zeros(steps, np.int64),
        np.zeros(steps),
    )


@njit(cache=True, nogil=True)
def _look_up(climbs, groups, group, head):
    """Let the head be this group."""
    tables = climbs.tables
    for attribute in range(len(head.lo)):
        lo, hi = groups.lo[group, attribute], groups.hi[group, attribute]
        own = range_cost(tables, attribute, lo, hi)
        head.lo[attribute], head.hi[attribute], head.cost[attribute] = lo, hi, own
        if tables.kind[attribute] == TREE:
            node, step = lowest_node(tables, attribute, lo, hi), 0
            while node >= 0:
                head.first[attribute, step] = climbs.first_leaf[node]
                head.last[attribute, step] = tables.last_leaf[node]
                head.more[attribute, step] = tables.node_cost[node] - own
                node = tables.parent[node]
                step += 1
            head.more[attribute, 0] = 0.0


@njit(cache=True, nogil=True)
def _added_cost(tables, head, cost, size, others, other, limit):
    """What the records of two groups cost more together than apart: Eq. 9 of the paper; inf above a limit."""
    other_size, other_cost = others.size[other], others.cost[other]
    # joint costs above the ceiling are dearer than the limit
    ceiling = (limit + size * cost + other_size * other_cost) / (size + other_size)
    joint = cost
    for attribute in range(len(head.lo)):
        lo, hi = others.lo[other, attribute], others.hi[other, attribute]
        if tables.kind[attribute] == TREE:
            step = 0
            while head.first[attribute, step] > lo or head.last[attribute, step] < hi:
                step += 1
            joint += head.more[attribute, step]
        elif lo < head.lo[attribute] or hi > head.hi[attribute]:
            lo, hi = min(lo, head.lo[attribute]), max(hi, head.hi[attribute])
            joint += range_cost(tables, attribute, lo, hi) - head.cost[attribute]
        if joint > ceiling:
            return np.inf
    return size * (joint - cost) + other_size * (joint - other_cost)


@njit(cache=True, nogil=True)
def added_costs(climbs, groups, group, partners):
    """What each partner adds to one group."""
    head = _new_head(climbs)
    _look_up(climbs, groups, group, head)
    cost, size = groups.cost[group], groups.size[group]
    added = np.empty(len(partners))
    for i in range(len(partners)):
        added[i] = _added_cost(climbs.tables, head, cost, size, groups, partners[i], np.inf)
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
    lo = np.full((n_nodes, r), -1, groups.lo.dtype)
    hi = np.full((n_nodes, r), 2**31 - 1, groups.hi.dtype)
    size, cost = np.full(n_nodes, np.int64(2**62)), np.full(n_nodes, -np.inf)
    for member in members:
        node = leaf[member]
        while node > 0:
            size[node] = min(size[node], groups.size[member])
            cost[node] = max(cost[node], groups.cost[member])
            for attribute in range(r):
                lo[node, attribute] = max(lo[node, attribute], groups.lo[member, attribute])
                hi[node, attribute] = min(hi[node, attribute], groups.hi[member, attribute])
            node >>= 1
    return Branches(group, start, end, leaf, lo, hi, size, cost)


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
def raise_costs(branches, groups, grown):
    """Tell the branches above some groups that these have grown."""
    for group in grown:
        node = branches.leaf[group]
        while node > 0:
            branches.cost[node] = max(branches.cost[node], groups.cost[group])
            node >>= 1


@njit(cache=True, nogil=True)
def cheapest_partners(climbs, groups, branches, heads, n_partners):
    """For each head the groups that add least to it, in no order; -1 and inf where there are no more.

    Exact for monotone costs. Near-linear in practice: a branch that cannot hold one of them is left out.
    """
    tables = climbs.tables
    partners = np.full((len(heads), n_partners), -1, np.int64)
    added = np.full((len(heads), n_partners), np.inf)
    head = _new_head(climbs)
    waiting, least = np.empty(128, np.int64), np.empty(128)
    for i in range(len(heads)):
        _look_up(climbs, groups, heads[i], head)
        own, size = groups.cost[heads[i]], groups.size[heads[i]]
        waiting[0], least[0] = 1, -np.inf
        n_waiting = 1
        while n_waiting:
            n_waiting -= 1
            node = waiting[n_waiting]
            if least[n_waiting] >= added[i, 0]:
                continue
            if 2 * node >= len(branches.start):
                for place in range(branches.start[node], branches.end[node]):
                    other = branches.group[place]
                    if other != heads[i] and groups.size[other] > 0:
                        extra = _added_cost(tables, head, own, size, groups, other, added[i, 0])
                        if extra < added[i, 0]:
                            _replace_dearest(partners[i], added[i], other, extra)
                continue
            left = _added_cost(tables, head, own, size, branches, 2 * node, added[i, 0])
            right = _added_cost(tables, head, own, size, branches, 2 * node + 1, added[i, 0])
            near = 0 if left < right else 1
            waiting[n_waiting], least[n_waiting] = 2 * node + 1 - near, max(left, right)
            waiting[n_waiting + 1], least[n_waiting + 1] = 2 * node + near, min(left, right)
            n_waiting += 2
    return partners, added


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
            counts[n] = 0
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
