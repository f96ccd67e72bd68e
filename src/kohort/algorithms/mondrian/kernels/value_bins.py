"""Bins of neighbouring values: where a group may be cut between two of them."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.mondrian.kernels.cut_table import BY_FREQUENCY, MAX_BINS
from kohort.algorithms.mondrian.kernels.node_children import sort_values
from kohort.kernels.compiled import lean
from kohort.kernels.sorting import place_among


@lean
def value_bins(rows, tables, sorting, edges, sample, way, attribute, bin_of):
    """Write the bin of each record of a sample, and the first and last value of each; return their number.

    There are at most MAX_BINS: one per value from the least to the greatest, of which some may be empty, or
    bins of about equally many records.
    """
    values, m = sorting.values, sample.size
    for i in range(m):
        leaf = np.int64(rows[sample.start + i * sample.stride, attribute])
        if way == BY_FREQUENCY:
            leaf = tables.frequency_rank[tables.leaf_start[attribute] + leaf]
        values[i] = leaf
    lo = hi = np.int64(values[0])
    for i in range(m):
        value = np.int64(values[i])
        lo, hi = min(lo, value), max(hi, value)
    if hi - lo >= MAX_BINS:
        return _quantile_bins(sorting, edges, m, lo, hi, bin_of)
    for b in range(hi - lo + 1):
        edges.first[b] = edges.last[b] = lo + b
    for i in range(m):
        bin_of[i] = values[i] - lo
    return hi - lo + 1


@lean
def _quantile_bins(sorting, edges, m, lo, hi, bin_of):
    """Bins that end with the value that fills their share of the records; the last one takes the rest.

    Values are counted in a table, or sorted where few of many values occur. O(records log records).
    """
    if hi - lo > 4 * m:
        return _bins_of_sorted(sorting, edges, m, bin_of)
    values, tally = sorting.values, sorting.tally
    tally[: hi - lo + 1] = 0
    for i in range(m):
        tally[values[i] - lo] += 1
    b, begin, passed = np.int64(0), np.int64(0), np.int64(0)
    for value in range(hi - lo + 1):
        if tally[value]:
            count, tally[value] = np.int64(tally[value]), b
            b, begin = _enter(edges, m, b, begin, passed, count, value + lo)
            passed += count
    for i in range(m):
        bin_of[i] = tally[values[i] - lo]
    return b + (1 if begin < m else 0)


@lean
def _bins_of_sorted(sorting, edges, m, bin_of):
    ordered = sorting.ordered
    for i in range(m):
        ordered[i] = sorting.values[i]
    sort_values(sorting, m)
    b, begin, passed = np.int64(0), np.int64(0), np.int64(0)
    for i in range(m):
        if i + 1 == m or ordered[i + 1] != ordered[i]:
            b, begin = _enter(edges, m, b, begin, passed, i + 1 - passed, np.int64(ordered[i]))
            passed = i + 1
    n_bins = b + (1 if begin < m else 0)
    for i in range(m):
        bin_of[i] = place_among(edges.last[:n_bins], sorting.values[i])
    return n_bins


@lean
def _enter(edges, m, b, begin, passed, count, value):
    """Put the `count` records with a value into bin b; return the bin of the next value, and its begin.

    passed  records with smaller values
    begin   records in earlier bins
    """
    if passed == begin:
        edges.first[b] = value
    edges.last[b] = value
    if b < MAX_BINS - 1 and passed + count - begin >= max(1, m // MAX_BINS):
        return b + 1, passed + count
    return b, begin
