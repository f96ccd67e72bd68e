"""Mining closed frequent generalized records: depth first, no record twice, no table of processed ones.

A generalized record is a node per attribute; its support are the rows under all of them; it is closed if
every node is the lowest that covers the support. A closed record Q is narrowed in one attribute j at a time,
to a child of Q(j); the closure of the smaller support is the next closed record, and is kept only if it
leaves the attributes before j alone (prefix-preserving closure extension, after LCM). So every closed record
is met exactly once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

__all__ = ["Trees", "extend_closed", "guess_closed", "narrowings"]


class Trees(NamedTuple):
    """The hierarchies of all attributes; nodes and leaves are numbered through."""

    leaf_start: np.ndarray  # per attribute: its first leaf
    leaf_node: np.ndarray  # per leaf
    parent: np.ndarray  # per node
    last_leaf: np.ndarray  # per node, counted inside its attribute
    depth: np.ndarray  # per node: steps below the root
    lineage_start: np.ndarray  # per attribute: where its lineages begin
    lineage: np.ndarray  # per attribute, depth and leaf: the leaf's ancestor at that depth, -1 below the leaf
    n_leaves: np.ndarray  # per attribute


@njit(cache=True, nogil=True)
def _lowest_node(trees, attribute, lo, hi):
    node = trees.leaf_node[trees.leaf_start[attribute] + lo]
    while trees.last_leaf[node] < hi:
        node = trees.parent[node]
    return node


@njit(cache=True, nogil=True)
def _narrowed(leaves, rows, start, end, attribute, node, trees):
    """The lowest node at or below `node` over these rows; mostly `node` itself, which few rows show."""
    if trees.depth[node] + 1 >= _levels(trees, attribute):
        return node
    base = trees.lineage_start[attribute] + (trees.depth[node] + 1) * trees.n_leaves[attribute]
    child = trees.lineage[base + leaves[rows[start], attribute]]
    if child < 0:
        return node
    lo = hi = leaves[rows[start], attribute]
    for i in range(start + 1, end):
        leaf = leaves[rows[i], attribute]
        if trees.lineage[base + leaf] != child:
            return node
        if leaf < lo:
            lo = leaf
        elif leaf > hi:
            hi = leaf
    return _lowest_node(trees, attribute, lo, hi)


@njit(cache=True, nogil=True)
def _sort_by_child(leaves, rows, start, end, attribute, node, trees, out, out_start, children):
    """Deal rows out by the child of `node` they are under, into `out`; child and end of each run, how many.

    Runs are in the order of the children (a counting sort over the children that occur).
    """
    n_leaves = trees.n_leaves[attribute]
    base = trees.lineage_start[attribute] + (trees.depth[node] + 1) * n_leaves
    n_runs = 0
    least = np.int64(2**62)
    greatest = np.int64(-1)
    for i in range(start, end):
        child = trees.lineage[base + leaves[rows[i], attribute]]
        least = min(least, child)
        greatest = max(greatest, child)
    counts = np.zeros(greatest - least + 2, np.int64)
    for i in range(start, end):
        counts[trees.lineage[base + leaves[rows[i], attribute]] - least + 1] += 1
    for c in range(greatest - least + 1):
        if counts[c + 1]:
            children[n_runs, 0] = least + c
            children[n_runs, 1] = out_start + counts[c] + counts[c + 1]
            n_runs += 1
        counts[c + 1] += counts[c]
    for i in range(start, end):
        c = trees.lineage[base + leaves[rows[i], attribute]] - least
        out[out_start + counts[c]] = rows[i]
        counts[c] += 1
    return n_runs


@njit(cache=True, nogil=True)
def _grown(array, size):
    """A longer array with the same beginning."""
    longer = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer


@njit(cache=True, nogil=True)
def narrowings(leaves, counts, trees, k, root):
    """The ways to narrow the root record: attribute and child, where the support stays frequent."""
    r = leaves.shape[1]
    rows = np.arange(len(leaves)).astype(np.int32)
    out = np.empty(len(leaves), np.int32)
    children = np.empty((len(leaves), 2), np.int64)
    found = np.empty((r * len(leaves), 2), np.int64)
    n_found = 0
    for j in range(r):
        if trees.depth[root[j]] + 1 >= _levels(trees, j):
            continue
        n_runs = _sort_by_child(leaves, rows, 0, len(rows), j, root[j], trees, out, 0, children)
        begin = 0
        for run in range(n_runs):
            weight = 0
            for i in range(begin, children[run, 1]):
                weight += counts[out[i]]
            if weight >= k and children[run, 0] >= 0:
                found[n_found, 0] = j
                found[n_found, 1] = children[run, 0]
                n_found += 1
            begin = children[run, 1]
    return found[:n_found].copy()


@njit(cache=True, nogil=True)
def _levels(trees, attribute):
    """How many depths the lineages of an attribute have."""
    if attribute + 1 < len(trees.lineage_start):
        end = trees.lineage_start[attribute + 1]
    else:
        end = len(trees.lineage)
    return (end - trees.lineage_start[attribute]) // trees.n_leaves[attribute]


@njit(cache=True, nogil=True)
def extend_closed(leaves, counts, trees, k, root, attribute, child, max_records, max_rows):
    """All closed frequent records that narrow `root` first in `attribute`, to `child`.

    Stops, incomplete, at `max_records` records; keeps no supports once they hold more than `max_rows` rows.
    O(rows in the support * attributes^2) per record.
    """
    n, r = leaves.shape
    # -- what has been found ------------------------------------------------------------------------
    nodes = np.empty(64 * r, np.int32)
    weights = np.empty(64, np.int64)
    starts = np.empty(65, np.int64)
    kept = np.empty(1024, np.int32)
    n_found = 0
    n_kept = 0
    keep = max_rows > 0
    starts[0] = 0
    # -- the way down: per depth a record, its support, the attribute being narrowed, its runs ------
    depth_limit = 2
    for j in range(r):
        depth_limit += _levels(trees, j)
    record = np.empty((depth_limit, r), np.int32)
    support_start = np.zeros(depth_limit, np.int64)
    support_end = np.zeros(depth_limit, np.int64)
    free = np.zeros(depth_limit, np.int64)  # where `stack` is free for its runs
    narrowing = np.zeros(depth_limit, np.int64)
    core = np.zeros(depth_limit, np.int64)
    run_first = np.zeros(depth_limit, np.int64)  # in `runs`
    run_next = np.zeros(depth_limit, np.int64)
    run_last = np.zeros(depth_limit, np.int64)
    begin = np.zeros(depth_limit, np.int64)  # where the next run begins in `stack`
    stack = np.empty(4 * n + 16, np.int32)
    runs = np.empty((4 * n + 16, 2), np.int64)
    # -- the first support ----------------------------------------------------------------------------
    size = 0
    base = trees.lineage_start[attribute] + trees.depth[child] * trees.n_leaves[attribute]
    weight = 0
    for row in range(n):
        if trees.lineage[base + leaves[row, attribute]] == child:
            stack[size] = row
            size += 1
            weight += counts[row]
    if weight < k:
        return nodes[:0].reshape(0, r), weights[:0], starts[:1], kept[:0], True
    for j in range(r):
        record[0, j] = _narrowed(leaves, stack, 0, size, j, root[j], trees)
        if j < attribute and record[0, j] != root[j]:
            return nodes[:0].reshape(0, r), weights[:0], starts[:1], kept[:0], True
    support_end[0] = free[0] = size
    narrowing[0] = core[0] = attribute
    top = 0
    fresh = True
    first_weight = weight
    complete = True
    while top >= 0:
        if fresh:  # a closed record met for the first time
            if n_found == max_records:
                complete = False
                break
            if n_found == len(weights):
                nodes = _grown(nodes, 2 * len(nodes))
                weights = _grown(weights, 2 * len(weights))
                starts = _grown(starts, 2 * len(weights) + 1)
            for j in range(r):
                nodes[n_found * r + j] = record[top, j]
            weights[n_found] = first_weight
            length = support_end[top] - support_start[top]
            if keep and n_kept + length > max_rows:
                keep = False
                kept = np.empty(0, np.int32)
                n_kept = 0
            if keep:
                if n_kept + length > len(kept):
                    kept = _grown(kept, max(2 * len(kept), n_kept + length))
                kept[n_kept : n_kept + length] = stack[support_start[top] : support_end[top]]
                n_kept += length
            n_found += 1
            starts[n_found] = n_kept
            narrowing[top] = core[top] - 1
            run_next[top] = run_last[top] = run_first[top]
            fresh = False
        if run_next[top] == run_last[top]:  # on to the next attribute
            narrowing[top] += 1
            j = narrowing[top]
            if j == r:
                top -= 1
                continue
            node = record[top, j]
            if trees.depth[node] + 1 >= _levels(trees, j):
                continue
            length = support_end[top] - support_start[top]
            if free[top] + length > len(stack):
                stack = _grown(stack, 2 * (free[top] + length))
            if run_first[top] + length > len(runs):
                longer = np.empty((2 * (run_first[top] + length), 2), np.int64)
                longer[: len(runs)] = runs
                runs = longer
            n_runs = _sort_by_child(
                leaves,
                stack,
                support_start[top],
                support_end[top],
                j,
                node,
                trees,
                stack,
                free[top],
                runs[run_first[top] :],
            )
            begin[top] = free[top]
            run_next[top] = run_first[top]
            run_last[top] = run_first[top] + n_runs
            continue
        run = run_next[top]  # the next child of the node that is being narrowed
        run_next[top] += 1
        first, end = begin[top], runs[run, 1]
        begin[top] = end
        if runs[run, 0] < 0:
            continue
        weight = 0
        for i in range(first, end):
            weight += counts[stack[i]]
        if weight < k:
            continue
        j = narrowing[top]
        preserved = True
        for i in range(r):
            record[top + 1, i] = _narrowed(leaves, stack, first, end, i, record[top, i], trees)
            if i < j and record[top + 1, i] != record[top, i]:
                preserved = False
                break
        if not preserved:
            continue
        top += 1
        support_start[top] = first
        support_end[top] = end
        free[top] = free[top - 1] + support_end[top - 1] - support_start[top - 1]
        core[top] = j
        run_first[top] = run_last[top - 1]
        first_weight = weight
        fresh = True
    return (
        nodes[: n_found * r].copy().reshape(n_found, r),
        weights[:n_found].copy(),
        starts[: n_found + 1].copy(),
        kept[:n_kept].copy(),
        complete,
    )


@njit(cache=True, nogil=True)
def guess_closed(leaves, counts, trees, k, root, attribute, child, probes, seed):
    """About how many records `extend_closed` would find, by random ways down its search tree (Knuth, 1975).

    A probe goes on with a probability in proportion to the size of the support, which what is below it
    roughly follows, and counts as many times as it was unlikely: its expectation is the number of records.
    """
    np.random.seed(seed)  # noqa: NPY002  compiled code has no Generator of its own
    n, r = leaves.shape
    total = 0.0
    rows = np.empty(n, np.int32)
    runs = np.empty((n, 2), np.int64)
    sorted_rows = np.empty((r, n), np.int32)
    options = np.empty((r * n, 3), np.int64)
    record = np.empty(r, np.int64)
    for _ in range(probes):
        size = 0
        weight = 0
        base = trees.lineage_start[attribute] + trees.depth[child] * trees.n_leaves[attribute]
        for row in range(n):
            if trees.lineage[base + leaves[row, attribute]] == child:
                rows[size] = row
                size += 1
                weight += counts[row]
        if weight < k:
            return 0.0
        core = attribute
        for j in range(r):
            record[j] = _narrowed(leaves, rows, 0, size, j, root[j], trees)
            if j < attribute and record[j] != root[j]:
                return 0.0
        factor = 1.0
        while True:
            total += factor
            n_options = 0
            for j in range(core, r):
                if trees.depth[record[j]] + 1 >= _levels(trees, j):
                    continue
                n_runs = _sort_by_child(leaves, rows, 0, size, j, record[j], trees, sorted_rows[j], 0, runs)
                first = 0
                for run in range(n_runs):
                    end = runs[run, 1]
                    weight = 0
                    for i in range(first, end):
                        weight += counts[sorted_rows[j, i]]
                    if weight >= k and runs[run, 0] >= 0:
                        preserved = True
                        for i in range(j):
                            if (
                                _narrowed(leaves, sorted_rows[j], first, end, i, record[i], trees)
                                != record[i]
                            ):
                                preserved = False
                                break
                        if preserved:
                            options[n_options, 0] = j
                            options[n_options, 1] = first
                            options[n_options, 2] = end
                            n_options += 1
                    first = end
            if n_options == 0:
                break
            all_rows = 0
            for way in range(n_options):
                all_rows += options[way, 2] - options[way, 1]
            chosen = np.random.randint(all_rows)  # noqa: NPY002
            way = 0
            while chosen >= options[way, 2] - options[way, 1]:
                chosen -= options[way, 2] - options[way, 1]
                way += 1
            factor *= all_rows / (options[way, 2] - options[way, 1])
            core = options[way, 0]
            first, size = options[way, 1], options[way, 2] - options[way, 1]
            for i in range(size):
                rows[i] = sorted_rows[core, first + i]
            for j in range(r):
                record[j] = _narrowed(leaves, rows, 0, size, j, record[j], trees)
    return total / probes
