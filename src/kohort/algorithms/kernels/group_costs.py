"""Costs of groups: the cost of one record that is published as the closure of its group."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.kernels.generalization import part_cost
from kohort.kernels.compiled import kernel
from kohort.problem.encoding.layout import SET


@kernel
def costs_by_group(tables, rows, order, start):
    """Cost of one record of each group; group g has the records order[start[g]:start[g + 1]]. O(n)."""
    costs = np.empty(len(start) - 1)
    for group in range(len(costs)):
        costs[group] = cost_without(tables, rows, order[start[group] : start[group + 1]], -1)
    return costs


@kernel
def cost_without(tables, rows, records, left_out):
    """Cost of one record of a group without the record at place `left_out`; -1: with all its records."""
    r = rows.shape[1]
    lo, hi = np.full(r, 2**31 - 1), np.full(r, -1)
    words = np.zeros(tables.word_start[r], np.uint64)
    for number in range(len(records)):
        if number == left_out:
            continue
        for j in range(r):
            leaf = rows[records[number], j]
            lo[j], hi[j] = min(lo[j], leaf), max(hi[j], leaf)
            if tables.kind[j] == SET:
                words[tables.word_start[j] + leaf // 64] |= np.uint64(1) << np.uint64(leaf % 64)
    return part_cost(tables, lo, hi, words)
