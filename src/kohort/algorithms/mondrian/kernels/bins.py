"""Bins of the records of a group: of neighbouring values, of the children of a node, and their summaries."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.kernels.costs import part_cost
from kohort.algorithms.mondrian.kernels.cut_table import BY_FREQUENCY, MAX_BINS, Summary
from kohort.kernels.compiled import lean
from kohort.kernels.sorting import insert_values, merge_values, place_among
from kohort.problem.encoding.layout import SET


@lean
def find_ranges(rows, start, end, lo, hi):
    """Write the least and greatest leaves of the rows from start to before end."""
    for j in range(rows.shape[1]):
        lo[j] = hi[j] = rows[start, j]
    for row in range(start + 1, end):
        for j in range(rows.shape[1]):
            leaf = rows[row, j]
            lo[j] = min(lo[j], leaf)
            hi[j] = max(hi[j], leaf)


@lean
def summarize(records, tables, bins, sample, n_bins):
    """For each bin: its records, their mass, least and greatest leaf per attribute, and sets of values.

    The bin of each record of the sample is in `bins.of`. An empty bin has no summary.
    """
    rows, lo, hi, size = records.rows, bins.lo, bins.hi, bins.size
    size[:n_bins] = 0
    for i in range(sample.size):
        b, row = bins.of[i], sample.start + i * sample.stride
        if size[b] == 0:
            for j in range(rows.shape[1]):
                lo[b, j] = hi[b, j] = rows[row, j]
        else:
            for j in range(rows.shape[1]):
                leaf = rows[row, j]
                lo[b, j] = min(lo[b, j], leaf)
                hi[b, j] = max(hi[b, j], leaf)
        size[b] += 1
    _weigh(records.masses, bins, sample, n_bins)
    if bins.words.shape[1]:
        _collect_values(rows, tables, bins, sample, n_bins)


@lean
def _weigh(masses, bins, sample, n_bins):
    """How much the records of each bin count in the cost: their number, unless they weigh."""
    for b in range(n_bins):
        bins.mass[b] = 0.0 if len(masses) else bins.size[b]
    if len(masses):
        for i in range(sample.size):
            bins.mass[bins.of[i]] += masses[sample.start + i * sample.stride]


@lean
def _collect_values(rows, tables, bins, sample, n_bins):
    """The set of values of each bin, for attributes that publish sets."""
    words = bins.words
    for b in range(n_bins):
        if bins.size[b]:
            words[b] = 0
    for j in range(len(tables.kind)):
        if tables.kind[j] == SET:
            for i in range(sample.size):
                leaf = np.int64(rows[sample.start + i * sample.stride, j])
                word = tables.word_start[j] + (leaf >> 6)
                words[bins.of[i], word] |= np.uint64(1) << np.uint64(leaf & 63)


@lean
def of_bin(bins, b):
    """The summary of a bin, as views: for kernels that count no references, not for Python."""
    return Summary(bins.lo[b], bins.hi[b], bins.words[b])


@lean
def replace_by(summary, other):
    """Overwrite a summary with another."""
    for j in range(len(summary.lo)):
        summary.lo[j] = other.lo[j]
        summary.hi[j] = other.hi[j]
    for w in range(len(summary.words)):
        summary.words[w] = other.words[w]


@lean
def absorb(summary, other, word_start):
    """Widen a summary, in place, so that it covers another."""
    lo, hi, words = summary.lo, summary.hi, summary.words
    for j in range(len(lo)):
        lo[j] = min(lo[j], other.lo[j])
        hi[j] = max(hi[j], other.hi[j])
    if len(words):
        for j in range(len(word_start) - 1):
            if word_start[j] < word_start[j + 1]:  # a set has no values beyond its least and greatest
                first, last = np.int64(other.lo[j]) >> 6, np.int64(other.hi[j]) >> 6
                for w in range(word_start[j] + first, word_start[j] + last + 1):
                    words[w] |= other.words[w]


@lean
def cost_of(summary, tables):
    """Cost of one record of those that are summed up."""
    r = len(tables.kind)
    return part_cost(tables, summary.lo[:r], summary.hi[:r], summary.words)


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
