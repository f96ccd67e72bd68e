"""Summaries of groups of records: least and greatest leaves, sets of values, and the cost of a record."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.kernels.generalization import part_cost
from kohort.kernels.compiled import kernel
from kohort.problem.encoding.layout import SET

__all__ = ["Sample", "absorb", "bin_masses", "summaries", "whole_cost"]


class Sample(NamedTuple):
    """The records of a group, or every `stride`-th of them, and how many, or whose, a part must have."""

    rows: np.ndarray  # the rows of all groups
    start: int  # the first row of this group
    stride: int  # from one row of the sample to the next
    size: int  # rows in the sample
    need: int  # rows of the sample, or people in it, that a part must have
    strict: bool  # whether rows with equal values stay together
    persons: np.ndarray  # the person of each row; empty where every row is that of another person
    marks: NamedTuple  # notes on each person, see `people`
    masses: np.ndarray  # how much each row counts in the cost; empty where all count 1


@kernel
def summaries(sample, bin_of, n_bins, tables):
    """For each bin of records: their number, least and greatest leaf per attribute, and sets of values."""
    rows, start, stride = sample.rows, sample.start, sample.stride
    r = rows.shape[1]
    n_words = tables.word_start[r]
    size = np.zeros(n_bins, np.int64)
    lo = np.full((n_bins, r), np.int64(2**31 - 1))
    hi = np.full((n_bins, r), np.int64(-1))
    words = np.zeros((n_bins, n_words), np.uint64)
    for i in range(len(bin_of)):
        b = bin_of[i]
        row = start + i * stride
        size[b] += 1
        for j in range(r):
            leaf = rows[row, j]
            if leaf < lo[b, j]:
                lo[b, j] = leaf
            if leaf > hi[b, j]:
                hi[b, j] = leaf
            if tables.kind[j] == SET:
                word = tables.word_start[j] + (leaf >> 6)
                words[b, word] |= np.uint64(1) << np.uint64(leaf & 63)
    return size, lo, hi, words


@kernel
def bin_masses(sample, bin_of, size):
    """How much the records of each bin count in the cost: their number, unless they weigh."""
    if len(sample.masses) == 0:
        return size.astype(np.float64)
    mass = np.zeros(len(size))
    for i in range(len(bin_of)):
        mass[bin_of[i]] += sample.masses[sample.start + i * sample.stride]
    return mass


@kernel
def absorb(lo, hi, words, other_lo, other_hi, other_words):
    """Widen one summary, in place, so that it covers another."""
    for j in range(len(lo)):
        lo[j] = min(lo[j], other_lo[j])
        hi[j] = max(hi[j], other_hi[j])
    for w in range(len(words)):
        words[w] |= other_words[w]


@kernel
def whole_cost(lo, hi, words, tables):
    """Cost of one record of the group that these parts make up."""
    all_lo, all_hi, all_words = lo[0].copy(), hi[0].copy(), words[0].copy()
    for part in range(1, len(lo)):
        absorb(all_lo, all_hi, all_words, lo[part], hi[part], words[part])
    return part_cost(tables, all_lo, all_hi, all_words)
