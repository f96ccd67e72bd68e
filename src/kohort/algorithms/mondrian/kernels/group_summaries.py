"""Summaries of bins of records: least and greatest leaves, sets of values, and the cost of a record."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.kernels.costs import part_cost
from kohort.algorithms.mondrian.kernels.cut_table import Summary
from kohort.kernels.compiled import lean
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
