"""Inner loops of diversify: the groups that can join a group at the least added cost, and the joint values.

Groups lie in buckets of neighbours. The cost that a group of a bucket adds to another group is bounded from
below by the smallest range, size and saving in the bucket. Groups only grow, so the bounds from ranges and
sizes stay valid when two become one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.kernels.costs import lowest_node, range_cost
from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import stable_order
from kohort.problem.encoding.layout import TREE, Tables

BUCKET, ROW = 12, 16  # groups in a bucket, buckets in a row: at most


class Climbs(NamedTuple):
    """The costs of the attributes, and arrays to climb their hierarchies from a group."""

    tables: Tables
    first_leaf: np.ndarray  # per node its first leaf, numbered within its attribute
    longest: int  # most nodes from a leaf up to the root


class Summaries(NamedTuple):
    """Ranges, sizes and costs of all groups; a group that has joined another has size 0."""

    lo: np.ndarray  # groups by attributes: the least leaf
    hi: np.ndarray  # groups by attributes: the greatest leaf
    size: np.ndarray  # records
    cost: np.ndarray  # cost of one record


class Buckets(NamedTuple):
    """Groups by bucket, and bounds that hold for all groups of a bucket."""

    group: np.ndarray  # the groups, one bucket after the other
    start: np.ndarray  # per bucket and one more: its first place in `group`
    of: np.ndarray  # per group: its bucket
    inner: Summaries  # per bucket: a range inside all ranges, the least size, the highest cost
    rows: Summaries  # the same for rows of neighbouring buckets


@kernel
def first_leaves(tables):
    """The first leaf of each node, and the most nodes from a leaf up to the root."""
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


@kernel
def range_costs(tables, lo, hi):
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
    cost: np.ndarray  # per attribute: cost of one record's cell
    steps: np.ndarray  # per leaf of a hierarchy: steps up from the group's node to one that covers the leaf
    more: np.ndarray  # per attribute and step up: how much more that node costs than the group's


@kernel
def _new_head(climbs):
    r = len(climbs.tables.kind)
    steps = (r, climbs.longest)
    return _Head(
        np.zeros(r, np.int32),
        np.zeros(r, np.int32),
        np.zeros(r),
        np.zeros(len(climbs.tables.leaf_node), np.int16),
        np.zeros(steps),
    )


@kernel
def _look_up(climbs, groups, group, head):
    """Fill the head with the ranges, nodes and costs of a group."""
    tables = climbs.tables
    for attribute in range(len(head.lo)):
        lo, hi = groups.lo[group, attribute], groups.hi[group, attribute]
        own = range_cost(tables, attribute, lo, hi)
        head.lo[attribute], head.hi[attribute], head.cost[attribute] = lo, hi, own
        if tables.kind[attribute] == TREE:
            node, step, start = lowest_node(tables, attribute, lo, hi), 0, tables.leaf_start[attribute]
            done_from, done_to = lo, lo
            while node >= 0:
                head.more[attribute, step] = tables.node_cost[node] - own
                from_leaf, to_leaf = climbs.first_leaf[node], tables.last_leaf[node] + 1
                head.steps[start + from_leaf : start + done_from] = step
                head.steps[start + done_to : start + to_leaf] = step
                done_from, done_to = from_leaf, to_leaf
                node = tables.parent[node]
                step += 1
            head.more[attribute, 0] = 0.0


@kernel
def _raised_costs(tables, head, others, members, raised):
    """Fill `raised`: how much more a record of the head costs if it also covers each of these groups."""
    kind, loners_from = tables.kind, tables.loners_from
    base, slope, full = tables.base, tables.slope, tables.full
    own_lo, own_hi, own_cost = head.lo, head.hi, head.cost
    steps, more, leaf_start = head.steps, head.more, tables.leaf_start
    all_lo, all_hi = others.lo, others.hi
    for i in range(len(members)):
        other = members[i]
        total = 0.0
        for j in range(len(kind)):
            lo, hi = min(all_lo[other, j], own_lo[j]), max(all_hi[other, j], own_hi[j])
            if kind[j] == TREE:
                total += more[j, max(steps[leaf_start[j] + lo], steps[leaf_start[j] + hi])]
            elif lo < own_lo[j] or hi > own_hi[j]:
                union = full[j] if hi >= loners_from[j] else base[j] + slope[j] * (hi - lo)
                total += union - own_cost[j]
        raised[i] = total


@kernel
def added_costs(climbs, groups, heads, partners):
    """The cost that each partner (a row of groups per head) adds to each head: Eq. 9 of the paper."""
    added = np.empty(partners.shape)
    head = _new_head(climbs)
    for i in range(len(heads)):
        _look_up(climbs, groups, heads[i], head)
        _raised_costs(climbs.tables, head, groups, partners[i], added[i])
        for p in range(partners.shape[1]):
            added[i, p] = _added_cost(groups, heads[i], partners[i, p], added[i, p])
    return added


@kernel
def _added_cost(groups, group, other, raised):
    """How much more the records of two groups cost united than apart.

    raised  how much more a record of the first group costs in the union
    """
    saved = groups.cost[group] + raised - groups.cost[other]
    return groups.size[group] * raised + groups.size[other] * saved


@kernel
def fill_buckets(tables, groups, members):
    """Sort groups into buckets, by cutting them in two along one attribute until the parts are small."""
    n, depth = len(members), 0
    while n >> depth > BUCKET:
        depth += 1
    n_buckets = 1 << depth
    group = members.copy()
    for level in range(depth):
        for part in range(1 << level):
            run = slice((part * n) >> level, ((part + 1) * n) >> level)
            inside = group[run].copy()
            attribute = _widest(tables, groups, inside)
            middles = groups.lo[inside, attribute] + groups.hi[inside, attribute]
            group[run] = inside[stable_order(middles)]
    start = (np.arange(n_buckets + 1) * n) >> depth
    of = np.zeros(len(groups.size), np.int64)
    for bucket in range(n_buckets):
        of[group[start[bucket] : start[bucket + 1]]] = bucket
    inner = _bounds(groups, members, of, n_buckets)
    rows = _bounds(groups, members, of // ROW, (n_buckets + ROW - 1) // ROW)
    return Buckets(group, start, of, inner, rows)


@kernel
def _bounds(groups, members, part, n_parts):
    """For each part of the groups, a range inside all ranges, the least size, and the highest cost."""
    r = groups.lo.shape[1]
    bounds = Summaries(
        np.full((n_parts, r), -1, groups.lo.dtype),
        np.full((n_parts, r), 2**31 - 1, groups.hi.dtype),
        np.full(n_parts, np.int64(2**62)),
        np.full(n_parts, -np.inf),
    )
    for member in members:
        p = part[member]
        bounds.size[p] = min(bounds.size[p], groups.size[member])
        bounds.cost[p] = max(bounds.cost[p], groups.cost[member])
        for j in range(r):
            bounds.lo[p, j] = max(bounds.lo[p, j], groups.lo[member, j])
            bounds.hi[p, j] = min(bounds.hi[p, j], groups.hi[member, j])
    return bounds


@kernel
def _widest(tables, groups, members):
    """The attribute in which the middles of these groups lie farthest apart, measured by cost."""
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


@kernel
def raise_costs(buckets, groups, grown):
    """Raise the highest cost of the buckets of groups that have grown."""
    for group in grown:
        bucket = buckets.of[group]
        buckets.inner.cost[bucket] = max(buckets.inner.cost[bucket], groups.cost[group])
        row = bucket // ROW
        buckets.rows.cost[row] = max(buckets.rows.cost[row], groups.cost[group])


@kernel
def cheapest_partners(climbs, groups, buckets, heads, n_partners):
    """The groups that add least cost to each head, in no order; -1 and inf where there are no more.

    Exact for monotone costs. Rows and buckets that cannot hold one of the cheapest are left out.
    """
    partners = np.full((len(heads), n_partners), -1, np.int64)
    added = np.full((len(heads), n_partners), np.inf)
    head = _new_head(climbs)
    every = np.arange(len(buckets.inner.size))
    of_row, of_bucket = np.empty(len(buckets.rows.size)), np.empty(ROW)
    members = np.empty(ROW * (BUCKET + 1), np.int64)
    raised = np.empty(len(members))
    for i in range(len(heads)):
        _look_up(climbs, groups, heads[i], head)
        _least_added(climbs.tables, head, groups, heads[i], buckets.rows, every[: len(of_row)], of_row)
        for row in stable_order(of_row):
            if of_row[row] >= added[i, 0]:
                break
            inside = every[row * ROW : (row + 1) * ROW]
            _least_added(climbs.tables, head, groups, heads[i], buckets.inner, inside, of_bucket)
            n = 0
            for b in range(len(inside)):
                if of_bucket[b] < added[i, 0]:
                    for place in range(buckets.start[inside[b]], buckets.start[inside[b] + 1]):
                        members[n] = buckets.group[place]
                        n += 1
            _raised_costs(climbs.tables, head, groups, members[:n], raised)
            _offer(groups, heads[i], members[:n], raised, partners[i], added[i])
    return partners, added


@kernel
def _least_added(tables, head, groups, group, bounds, members, least):
    """Fill `least`: a lower bound on what a group of each of these rows or buckets adds to the head."""
    _raised_costs(tables, head, bounds, members, least)
    for i in range(len(members)):
        saved = max(0.0, groups.cost[group] + least[i] - bounds.cost[members[i]])
        least[i] = groups.size[group] * least[i] + bounds.size[members[i]] * saved


@kernel
def _offer(groups, group, members, raised, partners, added):
    """Take groups into the partners if they add less than the dearest partner so far."""
    for i in range(len(members)):
        other = members[i]
        extra = _added_cost(groups, group, other, raised[i])
        if extra < added[0] and other != group and groups.size[other] > 0:
            _replace_dearest(partners, added, other, extra)


@kernel
def _replace_dearest(partners, added, partner, cost):
    """Replace the dearest partner, which is the first of a heap, by another, and restore the heap."""
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


@kernel
def merged_cells(start, end, value, count, a, b):
    """The cells of the unions of groups a[i] and b[i]: first cell of each and one more, value, count.

    Group g has the values value[start[g]:end[g]], ascending, and count[start[g]:end[g]] records of each.
    O(cells).
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
