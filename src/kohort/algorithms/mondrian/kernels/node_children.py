"""Cuts into the children of a node: the child that covers each record, and the children that are pooled."""

from __future__ import annotations

from kohort.kernels.compiled import lean
from kohort.kernels.sorting import insert_values, merge_values, place_among

_SHORT = 16  # runs of at most this many values are sorted by insertion


@lean
def child_bins(rows, tables, children, sorting, sample, attribute, node, bin_of):
    """Write the child of `node` that covers each record of a sample; return the number of bins.

    Bins are numbered in the order of the children. Where few of many children occur, those that do are
    numbered from 0; else a bin is the child's place among its siblings, and may be empty.
    """
    first = children.start[attribute] + children.depth[node] * _n_leaves(tables, attribute)
    for i in range(sample.size):
        bin_of[i] = children.place[first + rows[sample.start + i * sample.stride, attribute]]
    if tables.n_children[node] <= 4 * sample.size + 64:
        return tables.n_children[node]
    for i in range(sample.size):
        sorting.ordered[i] = bin_of[i]
    sort_values(sorting, sample.size)
    count = 0
    for i in range(sample.size):
        if i == 0 or sorting.ordered[i] != sorting.ordered[i - 1]:
            sorting.merged[count] = sorting.ordered[i]
            count += 1
    for i in range(sample.size):
        bin_of[i] = place_among(sorting.merged[:count], bin_of[i])
    return count


@lean
def _n_leaves(tables, attribute):
    starts = tables.leaf_start
    end = starts[attribute + 1] if attribute + 1 < len(starts) else len(tables.leaf_cost)
    return end - starts[attribute]


@lean
def sort_values(sorting, n):
    """Sort the first n values of `sorting.ordered`, in place. O(n log n)."""
    here, there, width = sorting.ordered, sorting.merged, _SHORT
    for start in range(0, n, _SHORT):
        insert_values(here, start, min(start + _SHORT, n))
    while width < n:
        for start in range(0, n, 2 * width):
            merge_values(here, there, start, min(start + width, n), min(start + 2 * width, n))
        for i in range(n):
            here[i] = there[i]
        width *= 2


@lean
def largest_and_smallest(size, apart):
    """The first largest and the first smallest of the children that are parts of their own; -1 if none is."""
    largest, smallest = -1, -1
    for c in range(len(size)):
        if apart[c]:
            if largest < 0 or size[c] > size[largest]:
                largest = c
            if smallest < 0 or size[c] < size[smallest]:
                smallest = c
    return largest, smallest


@lean
def pool_children(size, need, strict, apart):
    """Decide which children of a node become parts of their own and which are pooled.

    Children with fewer than `need` records are pooled. A pool that is too small itself borrows records
    from the largest child that can spare them (not if strict), else takes in the smallest unpooled child.
    Writes whether each child is a part of its own; returns the child that lends records (or -1), how many.
    """
    pooled = 0
    for c in range(len(size)):
        apart[c] = size[c] >= need
        if not apart[c]:
            pooled += size[c]
    while 0 < pooled < need:
        donor, smallest = largest_and_smallest(size, apart)
        if smallest < 0:
            break
        if not strict and size[donor] - (need - pooled) >= need:
            return donor, need - pooled
        apart[smallest] = False
        pooled += size[smallest]
    return -1, 0
