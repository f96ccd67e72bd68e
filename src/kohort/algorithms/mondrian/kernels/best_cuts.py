"""The best cuts of a group: between values, inside a value, into the children of a node.

Records lie in one array, a group is a run of it. What is found for a group depends on its records alone.
"""

from __future__ import annotations

import numpy as np

from kohort.algorithms.kernels.costs import lowest_node, ones, range_cost
from kohort.algorithms.mondrian.kernels.bins import (
    absorb,
    child_bins,
    cost_of,
    find_ranges,
    of_bin,
    replace_by,
    summarize,
    value_bins,
)
from kohort.algorithms.mondrian.kernels.cut_table import BY_CHILD, BY_FREQUENCY, BY_VALUE, SAMPLE, Sample
from kohort.algorithms.mondrian.kernels.people import cuts_for_people, people_beside, pooled_children
from kohort.kernels.compiled import lean
from kohort.problem.encoding.layout import SET, TREE


@lean
def find_best_cuts(table, space, start, end):
    """Write the best cuts of the group from start to before end to `space.best`, the cheapest first.

    way -1: no more cuts. The cost of a cut is the total cost of the records when each is published as the
    closure of its part, over all attributes; `widest` instead ranks attributes by the group's range and cuts
    in the middle. O(records * attributes^2), on a sample of a group that is larger than SAMPLE.
    """
    total = end - start
    stride = max(1, total // SAMPLE)
    size, need = (total + stride - 1) // stride, max(1, (table.rules.k + stride - 1) // stride)
    group = space.group
    find_ranges(table.records.rows, start, end, group.lo, group.hi)  # of all: the node must cover each
    find_cuts_of_sample(table, space, Sample(start, stride, size, need), stride == 1)


@lean
def find_cuts_of_sample(table, space, sample, is_whole):
    """Write the best cuts of a group to `space.best`, found on a sample of its records.

    is_whole  whether the sample is the whole group: only then records with one value may be dealt to two
              sides

    The least and greatest leaves of the whole group are in `space.group`.
    """
    records, tables, rules, group = table.records, table.tables, table.rules, space.group
    for place in range(len(space.best.scores)):
        space.best.cuts[place].way = -1
        space.best.scores[place] = np.inf
    for j in range(len(tables.kind)):
        lo, hi = np.int64(group.lo[j]), np.int64(group.hi[j])
        if lo == hi:
            continue
        group_range = -1.0
        if rules.widest:
            group_range = _group_range(records.rows, tables, group.words, sample, j, lo, hi)
        if tables.kind[j] == TREE:
            _child_cut(table, space, sample, lowest_node(tables, j, lo, hi), j, group_range)
            continue
        for way in range(BY_FREQUENCY + 1 if tables.kind[j] == SET else BY_VALUE + 1):
            _value_cuts(table, space, sample, is_whole, way, j, group_range)


@lean
def _group_range(rows, tables, words, sample, attribute, lo, hi):
    """Cost of a cell that covers all values of a group in one attribute: its normalised range."""
    if tables.kind[attribute] != SET or hi >= tables.loners_from[attribute]:
        return range_cost(tables, attribute, lo, hi)
    distinct = 0
    words[:] = 0
    for i in range(sample.size):
        leaf = np.int64(rows[sample.start + i * sample.stride, attribute])
        words[leaf >> 6] |= np.uint64(1) << np.uint64(leaf & 63)
    for w in range(len(words)):
        distinct += ones(words[w])
    return tables.base[attribute] + tables.slope[attribute] * (distinct - 1)


@lean
def _value_cuts(table, space, sample, is_whole, way, attribute, group_range):
    """Offer the cheapest and the most even cut of a group between two values (or inside one).

    Records with a value below `where`, and the first `extra` of those with that value, go left.
    O(records * attributes + bins * attributes * height).
    """
    records, tables, bins, edges, side = table.records, table.tables, space.bins, space.edges, space.side
    persons, m, need, of_people = records.persons, sample.size, sample.need, len(records.persons) > 0
    n_bins = value_bins(records.rows, tables, space.sorting, edges, sample, way, attribute, bins.of)
    summarize(records, tables, bins, sample, n_bins)
    fewest, most = need, m - need
    inside_too = not table.rules.strict and is_whole
    if of_people:
        people_beside(persons, space.marks, edges, sample, bins.of, n_bins)
        if inside_too:
            fewest, most = cuts_for_people(persons, space.marks, edges, sample, bins.of, n_bins)
    total_mass = _costs_from_right(tables, bins, side, edges.right_cost, n_bins)
    size, mass, right_cost = bins.size, bins.mass, edges.right_cost
    best, best_where, best_extra = np.inf, np.int64(-1), np.int64(0)
    even, even_where, even_extra, even_score = 2 * m + 1, np.int64(-1), np.int64(0), np.inf
    left, left_mass = np.int64(0), 0.0
    for b in range(n_bins):
        if size[b] == 0:
            continue
        _widen(side, of_bin(bins, b), tables.word_start, left == 0)
        left_cost = cost_of(side, tables)
        for trial in range(4 if inside_too and edges.first[b] == edges.last[b] else 1):
            # cut between this bin and the next, or inside a value: the fewest, the most, or half go left
            inside = trial > 0
            n_left = left + size[b]
            if inside:
                n_left = fewest if trial == 1 else (most if trial == 2 else m // 2)
                if n_left <= left or n_left >= left + size[b]:
                    continue
            elif of_people and (edges.left[b] < need or edges.right[b] < need):
                continue
            if n_left < need or m - n_left < need:
                continue
            rest_cost = right_cost[b] if inside else right_cost[b + 1]
            to_left = left_mass + mass[b] * (n_left - left) / size[b]
            score = left_cost * to_left + rest_cost * (total_mass - to_left) - right_cost[0] * total_mass
            where = edges.first[b] if inside else edges.last[b] + 1
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
        _offer(space.best, way, attribute, even_where, even_extra, -group_range)
        return
    _offer(space.best, way, attribute, best_where, best_extra, best)
    if even_where != best_where or even_extra != best_extra:
        _offer(space.best, way, attribute, even_where, even_extra, even_score)


@lean
def _widen(summary, other, word_start, is_first):
    """Widen a summary so that it covers another, or begin with this one."""
    if is_first:
        replace_by(summary, other)
    else:
        absorb(summary, other, word_start)


@lean
def _costs_from_right(tables, bins, side, right_cost, n_bins):
    """Write the cost of a record of the bins from each one on; return the mass of all bins."""
    right_cost[n_bins] = 0.0
    is_first, total = True, 0.0
    for b in range(n_bins - 1, -1, -1):
        right_cost[b] = right_cost[b + 1]
        if bins.size[b]:
            _widen(side, of_bin(bins, b), tables.word_start, is_first)
            right_cost[b] = cost_of(side, tables)
            is_first = False
    for b in range(n_bins):
        total += bins.mass[b]
    return total


@lean
def _child_cut(table, space, sample, node, attribute, group_range):
    """Offer the cut of a group into the children of its node, small ones pooled.

    Its score is the cost saved per bit of the split: many small parts leave nothing to cut along other
    attributes, so a cut into many parts must save more than a cut in two. A split counts as
    at least half a bit.
    """
    records, tables, bins = table.records, table.tables, space.bins
    n_children = child_bins(
        records.rows, tables, table.children, space.sorting, sample, attribute, node, bins.of
    )
    summarize(records, tables, bins, sample, n_children)
    donor, borrowed = pooled_children(
        records.persons,
        space.marks,
        space.pooling,
        sample,
        table.rules.strict,
        bins.of,
        bins.size[:n_children],
    )
    apart = space.pooling.apart[:n_children]
    score = -group_range
    if not _any(apart):
        return
    if group_range < 0:
        before = _whole_cost(tables, bins, space.side, n_children)
        bits = _bits_of_split(bins.size, apart, sample.size, donor, borrowed)
        score = (_cost_of_split(tables, bins, apart, donor, borrowed) - before) / max(0.5, bits / sample.size)
    # typed numbers: a kernel is compiled again for literal ones
    _offer(space.best, np.int64(BY_CHILD), attribute, node, np.int64(0), score)


@lean
def _any(flags):
    found = False
    for flag in flags:
        found = found or flag
    return found


@lean
def _whole_cost(tables, bins, side, n_children):
    """Total cost of all records of a group that these children make up."""
    mass, is_first = 0.0, True
    for c in range(n_children):
        if bins.size[c]:
            mass += bins.mass[c]
            _widen(side, of_bin(bins, c), tables.word_start, is_first)
            is_first = False
    return cost_of(side, tables) * mass


@lean
def _bits_of_split(size, apart, n_records, donor, borrowed):
    """The entropy of the split into children and pool, times the number of records."""
    bits, pooled = 0.0, borrowed
    for c in range(len(apart)):
        if apart[c]:
            kept = size[c] - (borrowed if c == donor else 0)
            bits += kept * np.log2(n_records / kept)
        else:
            pooled += size[c]
    return bits + (pooled * np.log2(n_records / pooled) if pooled > 0 else 0.0)


@lean
def _cost_of_split(tables, bins, apart, donor, borrowed):
    """Total cost of all records after the split. Changes the summary of the first child that is pooled."""
    size, mass = bins.size, bins.mass
    after, pool = 0.0, np.int64(-1)
    pooled_mass = mass[donor] * borrowed / size[donor] if donor >= 0 else 0.0
    for c in range(len(apart)):
        if apart[c]:
            kept = size[c] - (borrowed if c == donor else 0)
            after += cost_of(of_bin(bins, c), tables) * (mass[c] * kept / size[c])
        elif size[c]:
            pooled_mass += mass[c]
            if pool < 0:
                pool = c
            else:
                absorb(of_bin(bins, pool), of_bin(bins, c), tables.word_start)
    if pool >= 0:
        if donor >= 0:
            absorb(of_bin(bins, pool), of_bin(bins, donor), tables.word_start)
        after += cost_of(of_bin(bins, pool), tables) * pooled_mass
    return after


@lean
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
