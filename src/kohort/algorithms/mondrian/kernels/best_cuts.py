"""The best cuts of many groups at once: between values, inside a value, into the children of a node.

Records lie in one array, a group is a run of it. Groups are independent of each other, so threads share
them and the result does not depend on how many there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.kernels.generalization import lowest_node, part_cost, range_cost
from kohort.algorithms.mondrian.kernels.group_summaries import (
    Sample,
    absorb,
    bin_masses,
    summaries,
    whole_cost,
)
from kohort.algorithms.mondrian.kernels.node_children import children_of, dense
from kohort.algorithms.mondrian.kernels.people import (
    cuts_for_people,
    new_marks,
    people_beside,
    pooled_children,
)
from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import places_among, sorted_copy
from kohort.problem.encoding.layout import SET, TREE, Tables

__all__ = ["BY_CHILD", "BY_FREQUENCY", "BY_VALUE", "SAMPLE", "find_cuts"]

BY_VALUE, BY_FREQUENCY, BY_CHILD = 0, 1, 2  # ways to cut: between values, inside a value, into children
MAX_BINS = 64
SAMPLE = 20_000  # larger groups choose their cut on every s-th record
_CUT = np.dtype([("way", np.int64), ("attribute", np.int64), ("where", np.int64), ("extra", np.int64)])


class BestCuts(NamedTuple):
    """The best cuts of a group so far, and their scores, the least first."""

    cuts: np.recarray
    scores: np.ndarray


def find_cuts(
    rows: np.ndarray,
    persons: np.ndarray,
    masses: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    tables: Tables,
    k: int,
    strict: bool,
    widest: bool,
    n_cuts: int,
) -> np.recarray:
    """The best cuts of each group (start..end of `rows`), cheapest first: way, attribute, where, extra.

    persons  of each row; empty where every row is that of another person: then k counts rows
    masses   how much each row counts in the cost; empty where all count the same

    way -1: no more cuts. The cost of a cut is the total cost of the records when each is published as the
    closure of its part, over all attributes; `widest` instead ranks attributes by the group's range and cuts
    in the middle.
    O(records * attributes^2) per call, on a sample of each group that is larger than SAMPLE.
    """
    cuts = np.full((len(starts), n_cuts), -1, dtype=_CUT).view(np.recarray)
    _fill_cuts(rows, persons, masses, starts, ends, tables, k, strict, widest, cuts)
    return cuts


@kernel
def _fill_cuts(rows, persons, masses, starts, ends, tables, k, strict, widest, cuts):
    """Write the best cuts of each group into `cuts`; see `find_cuts`."""
    r = rows.shape[1]
    marks = new_marks(persons.max() + 1 if len(persons) else 0)
    for g in range(len(starts)):
        best_cuts = BestCuts(cuts[g], np.full(cuts.shape[1], np.inf))
        start, total = starts[g], ends[g] - starts[g]
        stride = max(1, total // SAMPLE)
        m = (total + stride - 1) // stride
        need = max(1, (k + stride - 1) // stride)
        sample = Sample(rows, start, stride, m, need, strict, persons, marks, masses)
        for j in range(r):
            lo, hi = _least_and_greatest(rows, start, ends[g], j)
            if lo == hi:
                continue
            values = np.empty(m, np.int64)
            for i in range(m):
                values[i] = rows[start + i * stride, j]
            group_range = _group_range(tables, j, values, lo, hi) if widest else -1.0
            if tables.kind[j] == TREE:
                node = lowest_node(tables, j, lo, hi)
                _child_cut(sample, node, j, tables, group_range, best_cuts)
                continue
            for way in range(BY_FREQUENCY + 1 if tables.kind[j] == SET else BY_VALUE + 1):
                if way == BY_FREQUENCY:
                    for i in range(m):
                        values[i] = tables.frequency_rank[tables.leaf_start[j] + values[i]]
                _value_cuts(sample, values, way, j, tables, group_range, best_cuts)


@kernel
def _least_and_greatest(rows, start, end, attribute):
    """The least and greatest leaf of a group, from all its records: the node to cut must cover each."""
    lo = hi = rows[start, attribute]
    for row in range(start + 1, end):
        leaf = rows[row, attribute]
        lo, hi = min(lo, leaf), max(hi, leaf)
    return lo, hi


@kernel
def _group_range(tables, attribute, values, lo, hi):
    """Cost of a cell that covers all values of a group in one attribute: its normalised range."""
    if tables.kind[attribute] == SET and hi < tables.loners_from[attribute]:
        _, distinct = dense(values - lo, hi - lo + 1)
        return tables.base[attribute] + tables.slope[attribute] * (distinct - 1)
    return range_cost(tables, attribute, lo, hi)


@kernel
def _value_cuts(sample, values, way, attribute, tables, group_range, best_cuts):
    """Offer the cheapest and the most even cut of a group between two values (or inside one).

    Records with a value below `where`, and the first `extra` of those with that value, go left.
    O(records * attributes + bins * attributes * height).
    """
    bin_of, first, last = _value_bins(values)
    n_bins = len(first)
    size, lo, hi, words = summaries(sample, bin_of, n_bins, tables)
    mass = bin_masses(sample, bin_of, size)
    total_mass = mass.sum()
    m, need = len(values), sample.need
    fewest, most, of_people = need, m - need, len(sample.persons) > 0
    if of_people:
        left_people, right_people = people_beside(sample, bin_of, n_bins)
        if not sample.strict and sample.stride == 1:
            fewest, most = cuts_for_people(sample, bin_of, left_people, right_people)
    right_cost = np.zeros(n_bins + 1)
    right_lo, right_hi, right_words = lo[n_bins - 1].copy(), hi[n_bins - 1].copy(), words[n_bins - 1].copy()
    for b in range(n_bins - 1, -1, -1):
        absorb(right_lo, right_hi, right_words, lo[b], hi[b], words[b])
        right_cost[b] = part_cost(tables, right_lo, right_hi, right_words)
    best, best_where, best_extra = np.inf, -1, 0
    even, even_where, even_extra, even_score = 2 * m + 1, -1, 0, np.inf
    left, left_mass = 0, 0.0
    left_lo, left_hi, left_words = lo[0].copy(), hi[0].copy(), words[0].copy()
    for b in range(n_bins):
        if size[b] == 0:
            continue
        absorb(left_lo, left_hi, left_words, lo[b], hi[b], words[b])
        left_cost = part_cost(tables, left_lo, left_hi, left_words)
        for trial in range(4):
            # cut between this bin and the next, or inside a value: the fewest, the most, or half go left
            inside = trial > 0
            n_left = left + size[b]
            if inside:
                if sample.strict or sample.stride > 1 or first[b] != last[b]:
                    break
                n_left = fewest if trial == 1 else (most if trial == 2 else m // 2)
                if n_left <= left or n_left >= left + size[b]:
                    continue
            elif of_people and (left_people[b] < need or right_people[b] < need):
                continue
            if n_left < need or m - n_left < need:
                continue
            rest_cost = right_cost[b] if inside else right_cost[b + 1]
            to_left = left_mass + mass[b] * (n_left - left) / size[b]
            score = left_cost * to_left + rest_cost * (total_mass - to_left) - right_cost[0] * total_mass
            where = first[b] if inside else last[b] + 1
            extra = n_left - left if inside else 0
            if score < best:
                best, best_where, best_extra = score, where, extra
            lopsided = abs(m - 2 * n_left) + (m if inside else 0)  # cut inside a value only as a last resort
            if lopsided < even:
                even, even_where, even_extra, even_score = lopsided, where, extra, score
        left += size[b]
        left_mass += mass[b]
    if best_where < 0:
        return
    if group_range >= 0:
        _offer(best_cuts, way, attribute, even_where, even_extra, -group_range)
        return
    _offer(best_cuts, way, attribute, best_where, best_extra, best)
    if even_where != best_where or even_extra != best_extra:
        _offer(best_cuts, way, attribute, even_where, even_extra, even_score)


@kernel
def _value_bins(values):
    """At most MAX_BINS bins of neighbouring values: the bin of each, and every bin's first and last value."""
    lo, hi = values.min(), values.max()
    if hi - lo < MAX_BINS:
        n_bins = hi - lo + 1
        first = np.arange(lo, hi + 1)
        return values - lo, first, first
    ordered = sorted_copy(values)
    first = np.empty(MAX_BINS, np.int64)
    last = np.empty(MAX_BINS, np.int64)
    n_bins = 0
    position = 0
    while position < len(ordered):
        # the last bin takes the rest; others end with the run of the value that fills their share
        end = len(ordered) if n_bins == MAX_BINS - 1 else position + max(1, len(ordered) // MAX_BINS)
        end = min(end, len(ordered))
        while end < len(ordered) and ordered[end] == ordered[end - 1]:
            end += 1
        first[n_bins], last[n_bins] = ordered[position], ordered[end - 1]
        n_bins += 1
        position = end
    return places_among(last[:n_bins], values), first[:n_bins], last[:n_bins]


@kernel
def _child_cut(sample, node, attribute, tables, group_range, best_cuts):
    """Offer the cut of a group into the children of its node, small ones pooled.

    Its score is the cost saved per bit of the split: many small parts leave nothing to cut along other
    attributes, so a cut into many parts must save more than a cut in two. A split counts as
    at least half a bit.
    """
    m = sample.size
    child, n_children = children_of(sample, attribute, node, tables)
    size, lo, hi, words = summaries(sample, child, n_children, tables)
    mass = bin_masses(sample, child, size)
    apart, donor, borrowed = pooled_children(sample, child, size)
    if not apart.any():
        return
    if group_range >= 0:
        _offer(best_cuts, BY_CHILD, attribute, node, 0, -group_range)
        return
    before = whole_cost(lo, hi, words, tables) * mass.sum()
    after = 0.0
    bits = 0.0
    pooled = borrowed
    pooled_mass = mass[donor] * borrowed / size[donor] if donor >= 0 else 0.0
    pool = -1
    for c in range(n_children):
        if apart[c]:
            kept = size[c] - (borrowed if c == donor else 0)
            after += part_cost(tables, lo[c], hi[c], words[c]) * (mass[c] * kept / size[c])
            bits += kept * np.log2(m / kept)
        else:
            pooled += size[c]
            pooled_mass += mass[c]
            if pool < 0:
                pool = c
            else:
                absorb(lo[pool], hi[pool], words[pool], lo[c], hi[c], words[c])
    if pool >= 0:
        if donor >= 0:
            absorb(lo[pool], hi[pool], words[pool], lo[donor], hi[donor], words[donor])
        after += part_cost(tables, lo[pool], hi[pool], words[pool]) * pooled_mass
        bits += pooled * np.log2(m / pooled)
    _offer(best_cuts, BY_CHILD, attribute, node, 0, (after - before) / max(0.5, bits / m))


@kernel
def _offer(best, way, attribute, where, extra, score):
    """Insert a cut into the best ones if it is among them; of equal scores the first stays ahead."""
    cuts, scores = best.cuts, best.scores
    place = len(scores)
    while place > 0 and score < scores[place - 1]:
        place -= 1
    if place == len(scores):
        return
    for p in range(len(scores) - 1, place, -1):
        scores[p] = scores[p - 1]
        cuts[p] = cuts[p - 1]
    scores[place] = score
    cuts[place].way, cuts[place].attribute = way, attribute
    cuts[place].where, cuts[place].extra = where, extra
