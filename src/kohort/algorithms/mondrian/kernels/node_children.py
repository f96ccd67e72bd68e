"""Cuts into the children of a node: the child that covers each record, and the children that are pooled."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.kernels.generalization import child_of
from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import distinct_values, places_among

__all__ = ["children_of", "dense", "largest_and_smallest", "pool_children"]


@kernel
def dense(places, n_places):
    """Number the places that occur from 0 in rising order; return the number of each, and how many occur.

    Where few of the possible places occur, they are sorted instead of looked up in a table.
    """
    if n_places <= 4 * len(places) + 64:
        number = np.zeros(n_places, np.int64)
        for place in places:
            number[place] = 1
        count = 0
        for place in range(n_places):
            if number[place]:
                number[place] = count
                count += 1
        return number[places], count
    distinct = distinct_values(places)
    return places_among(distinct, places), len(distinct)


@kernel
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


@kernel
def pool_children(size, need, strict):
    """Decide which children of a node become parts of their own and which are pooled.

    Children with fewer than `need` records are pooled. A pool that is too small itself borrows records
    from the largest child that can spare them (not if strict), else takes in the smallest unpooled child.
    Returns whether each child is a part of its own, the child that lends records (or -1), and how many.
    """
    apart = size >= need
    pooled = 0
    for c in range(len(size)):
        if not apart[c]:
            pooled += size[c]
    while 0 < pooled < need:
        donor, smallest = largest_and_smallest(size, apart)
        if smallest < 0:
            break
        if not strict and size[donor] - (need - pooled) >= need:
            return apart, donor, need - pooled
        apart[smallest] = False
        pooled += size[smallest]
    return apart, -1, 0


@kernel
def children_of(sample, attribute, node, tables):
    """The child of `node` that covers each record, numbered from 0, and how many children occur."""
    rows, start, stride = sample.rows, sample.start, sample.stride
    places = np.empty(sample.size, np.int64)
    for i in range(sample.size):
        places[i] = tables.sibling[child_of(tables, attribute, node, rows[start + i * stride, attribute])]
    return dense(places, tables.n_children[node])
