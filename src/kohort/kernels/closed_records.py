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
def _levels(trees, attribute):
    """How many depths the lineages of an attribute have."""
    if attribute + 1 < len(trees.lineage_start):
        end = trees.lineage_start[attribute + 1]
    else:
        end = len(trees.lineage)
    return (end - trees.lineage_start[attribute]) // trees.n_leaves[attribute]


@njit(cache=True, nogil=True)
def _weight(counts, rows, start, end):
    """How many records these rows stand for."""
    total = 0
    for i in range(start, end):
        total += counts[rows[i]]
    return total


@njit(cache=True, nogil=True)
def _narrow(leaves, rows, start, end, above, core, trees, record):
    """Write the closure of these rows, all under `above`; whether it leaves the attributes before core."""
    for j in range(len(above)):
        record[j] = _narrowed(leaves, rows, start, end, j, above[j], trees)
        if j < core and record[j] != above[j]:
            return False
    return True


@njit(cache=True, nogil=True)
def _rows_under(leaves, trees, attribute, child, rows):
    """Write the rows under one node; how many."""
    base = trees.lineage_start[attribute] + trees.depth[child] * trees.n_leaves[attribute]
    size = 0
    for row in range(len(leaves)):
        if trees.lineage[base + leaves[row, attribute]] == child:
            rows[size] = row
            size += 1
    return size


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
            if children[run, 0] >= 0 and _weight(counts, out, begin, children[run, 1]) >= k:
                found[n_found, 0] = j
                found[n_found, 1] = children[run, 0]
                n_found += 1
            begin = children[run, 1]
    return found[:n_found].copy()


@njit(cache=True, nogil=True)
def _depth_limit(trees, r):
    """How often a record can be narrowed at most, and one more."""
    limit = 2
    for j in range(r):
        limit += _levels(trees, j)
    return limit


@njit(cache=True, nogil=True)
def extend_closed(leaves, counts, trees, k, root, attribute, child, max_records, max_rows):
    """All closed frequent records that narrow `root` first in `attribute`, to `child`.

    Returns their nodes, weights, starts of their supports, supports, and whether these are all. Stops,
    incomplete, at `max_records` records; keeps no supports once they hold more than `max_rows` rows. Time per
    record: O(rows in its support * attributes), mostly less: few rows show that a node is the lowest.
    """
    n, r = leaves.shape
    # what has been found
    nodes = np.empty(64 * r, np.int32)
    weights = np.empty(64, np.int64)
    starts = np.zeros(65, np.int64)
    kept = np.empty(1024, np.int32)
    n_found = n_kept = 0
    # the way down: per depth a record, its support in `stack`, the attribute being narrowed, and `runs` of
    # the support by the children of that attribute's node, which lie in `stack` from `free` on
    limit = _depth_limit(trees, r)
    record = np.empty((limit, r), np.int32)
    support = np.zeros((limit, 2), np.int64)
    free = np.zeros(limit, np.int64)
    core = np.zeros(limit, np.int64)
    narrowing = np.zeros(limit, np.int64)
    run_first = np.zeros(limit, np.int64)
    run_next = np.zeros(limit, np.int64)
    run_last = np.zeros(limit, np.int64)
    begin = np.zeros(limit, np.int64)  # where the next run begins in `stack`
    stack = np.empty(4 * n + 16, np.int32)
    runs = np.empty((4 * n + 16, 2), np.int64)

    top = -1
    complete = True
    support[0, 1] = free[0] = _rows_under(leaves, trees, attribute, child, stack)
    core[0] = attribute
    weight = _weight(counts, stack, 0, free[0])
    fresh = weight >= k and _narrow(leaves, stack, 0, free[0], root, attribute, trees, record[0])
    while fresh or top >= 0:
        if fresh:  # a closed record met for the first time
            top += 1
            fresh = False
            if n_found == max_records:
                complete = False
                break
            if n_found == len(weights):
                nodes = _grown(nodes, 2 * len(nodes))
                weights = _grown(weights, 2 * len(weights))
                starts = _grown(starts, len(weights) + 1)
            nodes[n_found * r : (n_found + 1) * r] = record[top]
            weights[n_found] = weight
            length = support[top, 1] - support[top, 0]
            if n_kept + length > max_rows:
                max_rows = n_kept = 0
                kept = np.empty(0, np.int32)
            if max_rows > 0:
                if n_kept + length > len(kept):
                    kept = _grown(kept, max(2 * len(kept), n_kept + length))
                kept[n_kept : n_kept + length] = stack[support[top, 0] : support[top, 1]]
                n_kept += length
            n_found += 1
            starts[n_found] = n_kept
            narrowing[top] = core[top] - 1
            run_next[top] = run_last[top] = run_first[top]
        if run_next[top] == run_last[top]:  # on to the next attribute
            narrowing[top] += 1
            j = narrowing[top]
            if j == r:
                top -= 1
                continue
            if trees.depth[record[top, j]] + 1 >= _levels(trees, j):
                continue
            length = support[top, 1] - support[top, 0]
            if free[top] + length > len(stack):
                stack = _grown(stack, 2 * (free[top] + length))
            if run_first[top] + length > len(runs):
                runs = _grown(runs.ravel(), 4 * (run_first[top] + length)).reshape(-1, 2)
            below = runs[run_first[top] :]
            first, end = support[top]
            n_runs = _sort_by_child(
                leaves, stack, first, end, j, record[top, j], trees, stack, free[top], below
            )
            begin[top] = free[top]
            run_next[top] = run_first[top]
            run_last[top] = run_first[top] + n_runs
            continue
        run = run_next[top]  # the next child of the node that is being narrowed
        run_next[top] += 1
        first, end = begin[top], runs[run, 1]
        begin[top] = end
        weight = 0 if runs[run, 0] < 0 else _weight(counts, stack, first, end)
        j = narrowing[top]
        if weight >= k and _narrow(leaves, stack, first, end, record[top], j, trees, record[top + 1]):
            fresh = True
            support[top + 1] = first, end
            free[top + 1] = free[top] + support[top, 1] - support[top, 0]
            core[top + 1] = j
            run_first[top + 1] = run_last[top]
    return (
        nodes[: n_found * r].copy().reshape(n_found, r),
        weights[:n_found].copy(),
        starts[: n_found + 1].copy(),
        kept[:n_kept].copy(),
        complete,
    )


@njit(cache=True, nogil=True)
def _ways_on(leaves, counts, trees, k, record, core, rows, size, by_child, runs, options):
    """The frequent closed records next below one: attribute and a run of `by_child` each; how many."""
    n_options = 0
    scratch = np.empty(len(record), np.int64)
    for j in range(core, len(record)):
        if trees.depth[record[j]] + 1 >= _levels(trees, j):
            continue
        n_runs = _sort_by_child(leaves, rows, 0, size, j, record[j], trees, by_child[j], 0, runs)
        first = 0
        for run in range(n_runs):
            end = runs[run, 1]
            frequent = runs[run, 0] >= 0 and _weight(counts, by_child[j], first, end) >= k
            if frequent and _narrow(leaves, by_child[j], first, end, record, j, trees, scratch):
                options[n_options, 0] = j
                options[n_options, 1] = first
                options[n_options, 2] = end
                n_options += 1
            first = end
    return n_options


@njit(cache=True, nogil=True)
def guess_closed(leaves, counts, trees, k, root, attribute, child, probes, seed):
    """About how many records `extend_closed` would find, by random ways down its search tree (Knuth, 1975).

    A probe goes on with a probability in proportion to the size of the support, which what is below it
    roughly follows, and counts as many times as it was unlikely: its expectation is the number of records.
    Few probes mostly guess too low.
    """
    np.random.seed(seed)  # noqa: NPY002  compiled code has no Generator of its own
    n, r = leaves.shape
    rows = np.empty(n, np.int32)
    runs = np.empty((n, 2), np.int64)
    by_child = np.empty((r, n), np.int32)
    options = np.empty((r * n, 3), np.int64)
    record = np.empty(r, np.int64)
    total = 0.0
    for _ in range(probes):
        size = _rows_under(leaves, trees, attribute, child, rows)
        core = attribute
        if _weight(counts, rows, 0, size) < k:
            return 0.0
        if not _narrow(leaves, rows, 0, size, root, core, trees, record):
            return 0.0
        times = 1.0
        while True:
            total += times
            n_options = _ways_on(leaves, counts, trees, k, record, core, rows, size, by_child, runs, options)
            if n_options == 0:
                break
            sizes = options[:n_options, 2] - options[:n_options, 1]
            chosen = np.random.randint(sizes.sum())  # noqa: NPY002
            way = 0
            while chosen >= sizes[way]:
                chosen -= sizes[way]
                way += 1
            times *= sizes.sum() / sizes[way]
            core, size = options[way, 0], sizes[way]
            rows[:size] = by_child[core, options[way, 1] : options[way, 2]]
            _narrow(leaves, rows, 0, size, record, core, trees, record)
    return total / probes
