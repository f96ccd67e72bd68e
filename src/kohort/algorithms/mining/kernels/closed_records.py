"""Mining closed frequent generalized records: depth first, no record twice, no table of processed ones.

A generalized record is a node per attribute; its support is the rows under all of them; it is closed if
every node is the lowest that covers the support. A closed record Q is narrowed in one attribute j at a time,
to a child of Q(j); the closure of the smaller support is the next closed record, and is kept only if it
leaves the attributes before j unchanged (prefix-preserving closure extension, after LCM). So every closed
record is found exactly once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import sorted_copy


class MiningTask(NamedTuple):
    """A task: find all closed records that narrow `above`, whose support is `rows`, in `attribute` to `child`
    first."""

    above: np.ndarray
    rows: np.ndarray
    attribute: int
    child: int


@kernel
def _is_lowest_level(lineages, attribute, node):
    return lineages.level[attribute] + lineages.depth[node] + 1 == lineages.level[attribute + 1]


@kernel
def _children(lineages, attribute, node):
    """The child of a node, not at the lowest level, that each row of the table is under, or -1."""
    return lineages.node[lineages.level[attribute] + lineages.depth[node] + 1]


@kernel
def _narrowed(lineages, rows, start, end, attribute, node):
    """The lowest node at or below `node` over these rows; often `node` itself, which a few rows prove."""
    first = rows[start]
    while not _is_lowest_level(lineages, attribute, node):
        of_row = lineages.node[lineages.level[attribute] + lineages.depth[node] + 1]
        child = of_row[first]
        if child < 0:
            return node
        for i in range(start + 1, end):
            if of_row[rows[i]] != child:
                return node
        node = child
    return node


@kernel
def _has_frequent_child(of_row, counts, k, rows, scratch):
    """Whether one of the children `of_row` covers k records of these rows or more; see `_sort_by_child`."""
    weight = scratch[0]
    n_looked = 0
    frequent = False
    for row in rows:
        n_looked += 1
        child = of_row[row]
        if child >= 0:
            weight[child] += counts[row]
            if weight[child] >= k:
                frequent = True
                break
    for i in range(n_looked):
        child = of_row[rows[i]]
        if child >= 0:
            weight[child] = 0
    return frequent


@kernel
def _sort_by_child(of_row, counts, k, rows, out, runs, scratch):
    """Sort rows by the child they are under, frequent children only; return the number of these.

    of_row   per row of the table: its child of the node to narrow, or -1; see `_children`
    runs     filled with each child, the end of its rows in `out`, and its weight, in order of the children
    scratch  per node its weight and size, all 0 before and after, and room for a list of nodes
    """
    weight, size, touched = scratch[0], scratch[1], scratch[2]
    n_touched = 0
    for row in rows:
        child = of_row[row]
        if child >= 0:
            if size[child] == 0:
                touched[n_touched] = child
                n_touched += 1
            size[child] += 1
            weight[child] += counts[row]
    n_runs = end = 0
    for child in sorted_copy(touched[:n_touched]):
        if weight[child] >= k:
            begin, end = end, end + size[child]
            size[child] = begin
            runs[n_runs, 0] = child
            runs[n_runs, 1] = end
            runs[n_runs, 2] = weight[child]
            n_runs += 1
    if n_runs:
        for row in rows:
            child = of_row[row]
            if child >= 0 and weight[child] >= k:
                out[size[child]] = row
                size[child] += 1
    for t in range(n_touched):
        size[touched[t]] = weight[touched[t]] = 0
    return n_runs


@kernel
def _grown(array, size):
    """A longer array with the same beginning."""
    longer = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer


@kernel
def narrow(lineages, rows, start, end, above, core, record):
    """Write the closure of these rows, all under `above`, into `record`; return whether the attributes before
    `core` are unchanged."""
    for j in range(len(above)):
        record[j] = _narrowed(lineages, rows, start, end, j, above[j])
        if j < core and record[j] != above[j]:
            return False
    return True


@kernel
def narrowings(lineages, counts, k, record, core, rows):
    """The ways to narrow a record from attribute `core` on: attributes and children with k records or more.

    O(rows * attributes).
    """
    out = np.empty(len(rows), np.int32)
    runs = np.empty((len(rows), 3), np.int64)
    found = np.empty((len(record) * len(rows), 2), np.int64)
    scratch = np.zeros((3, len(lineages.depth)), np.int64)
    n_found = 0
    for j in range(core, len(record)):
        if _is_lowest_level(lineages, j, record[j]):
            continue
        of_row = _children(lineages, j, record[j])
        for run in range(_sort_by_child(of_row, counts, k, rows, out, runs, scratch)):
            found[n_found, 0] = j
            found[n_found, 1] = runs[run, 0]
            n_found += 1
    return found[:n_found].copy()


@kernel
def extend_closed(lineages, counts, k, task, most, max_rows):
    """All closed frequent records of a task: those that narrow a record, first in one attribute.

    Returns their nodes, weights, starts of their supports, supports, and whether these are all. Stops,
    incomplete, at most[0] records, a number that another thread may lower meanwhile; keeps no supports once
    they hold more than `max_rows` rows. Time per record: O(rows in its support * attributes), often less,
    since a few rows prove that a node is the lowest.
    """
    above, rows, attribute, child = task.above, task.rows, task.attribute, task.child
    n, r = len(rows), len(above)
    # the records found so far
    nodes = np.empty(64 * r, np.int32)
    weights = np.empty(64, np.int64)
    starts = np.zeros(65, np.int64)
    kept = np.empty(1024, np.int32)
    n_found = n_kept = 0
    # the way down: per depth a record, its support in `stack`, the attribute being narrowed, and `runs` of
    # the support by the children of that attribute's node, which lie in `stack` from `free` on
    limit = lineages.node.shape[0] + 2
    record = np.empty((limit, r), np.int32)
    support = np.zeros((limit, 2), np.int64)
    free = np.zeros(limit, np.int64)
    core = np.zeros(limit, np.int64)
    narrowing = np.zeros(limit, np.int64)
    run_first = np.zeros(limit, np.int64)
    run_next = np.zeros(limit, np.int64)
    run_last = np.zeros(limit, np.int64)
    live = np.zeros((limit, r), np.bool_)  # whether a child of the record's node there is frequent
    begin = np.zeros(limit, np.int64)  # where the next run begins in `stack`
    stack = np.empty(4 * n + 16, np.int32)
    runs = np.empty((4 * n + 16, 3), np.int64)
    scratch = np.zeros((3, len(lineages.depth)), np.int64)

    top = -1
    complete = True
    weight = 0
    of_row = lineages.node[lineages.level[attribute] + lineages.depth[child]]
    for row in rows:
        if of_row[row] == child:
            stack[free[0]] = row
            free[0] += 1
            weight += counts[row]
    support[0, 1] = free[0]
    core[0] = attribute
    fresh = weight >= k and narrow(lineages, stack, 0, free[0], above, attribute, record[0])
    while fresh or top >= 0:
        if fresh:  # a closed record found just now
            top += 1
            fresh = False
            if n_found >= most[0]:
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
            inside = stack[support[top, 0] : support[top, 1]]
            for j in range(core[top], r):
                node = record[top, j]
                live[top, j] = not _is_lowest_level(lineages, j, node)
                if top > 0 and node == record[top - 1, j]:  # children rare among more rows are rare here
                    live[top, j] = live[top - 1, j]
                if live[top, j]:
                    of_row = _children(lineages, j, node)
                    live[top, j] = _has_frequent_child(of_row, counts, k, inside, scratch)
            narrowing[top] = core[top] - 1
            run_next[top] = run_last[top] = run_first[top]
        if run_next[top] == run_last[top]:  # on to the next attribute
            narrowing[top] += 1
            j = narrowing[top]
            if j == r:
                top -= 1
                continue
            if not live[top, j]:
                continue
            length = support[top, 1] - support[top, 0]
            if free[top] + length > len(stack):
                stack = _grown(stack, 2 * (free[top] + length))
            if run_first[top] + length > len(runs):
                runs = _grown(runs.ravel(), 6 * (run_first[top] + length)).reshape(-1, 3)
            inside, below = stack[support[top, 0] : support[top, 1]], stack[free[top] :]
            of_row = _children(lineages, j, record[top, j])
            n_runs = _sort_by_child(of_row, counts, k, inside, below, runs[run_first[top] :], scratch)
            begin[top] = free[top]
            run_next[top] = run_first[top]
            run_last[top] = run_first[top] + n_runs
            continue
        run = run_next[top]  # the next child of the node that is being narrowed
        run_next[top] += 1
        first, end, weight = begin[top], free[top] + runs[run, 1], runs[run, 2]
        begin[top] = end
        j = narrowing[top]
        if narrow(lineages, stack, first, end, record[top], j, record[top + 1]):
            fresh = True
            support[top + 1] = first, end
            free[top + 1] = free[top] + support[top, 1] - support[top, 0]
            core[top + 1] = j
            run_first[top + 1] = run_last[top]
    return (
        nodes[: n_found * r].copy().reshape(n_found, r),
        weights[:n_found].copy(),
        starts[: n_found + 1].copy(),
        kept[:n_kept],
        complete,
    )
