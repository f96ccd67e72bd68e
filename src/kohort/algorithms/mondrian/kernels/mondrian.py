"""Mondrian's inner loops: the best cuts of many groups at once, and the records dealt out accordingly.

Records lie in one array, a group is a run of it. Groups are independent of each other, so threads share
them and the result does not depend on how many there are.
"""

from __future__ import annotations

import numpy as np

from kohort.algorithms.kernels.generalization import child_of, lowest_node, part_cost, range_cost
from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import distinct_values, places_among, sorted_copy
from kohort.problem.encoding.layout import SET, TREE

__all__ = ["BY_CHILD", "BY_FREQUENCY", "BY_VALUE", "deal_out", "find_cuts", "part_records"]

BY_VALUE, BY_FREQUENCY, BY_CHILD = 0, 1, 2  # how a cut tells its sides apart
MAX_BINS = 64
SAMPLE = 20_000  # larger groups choose their cut on every s-th record


@kernel
def _summaries(rows, start, stride, bin_of, n_bins, tables):
    """Per bin of records: how many, least and greatest leaf per attribute, sets of values."""
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
def _absorb(lo, hi, words, other_lo, other_hi, other_words):
    """Widen one summary by another."""
    for j in range(len(lo)):
        lo[j] = min(lo[j], other_lo[j])
        hi[j] = max(hi[j], other_hi[j])
    for w in range(len(words)):
        words[w] |= other_words[w]


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
def _offer(cuts, scores, way, attribute, where, extra, score):
    """Keep a cut if it is among the best; of equal ones the first stays ahead."""
    place = len(scores)
    while place > 0 and score < scores[place - 1]:
        place -= 1
    if place == len(scores):
        return
    for p in range(len(scores) - 1, place, -1):
        scores[p] = scores[p - 1]
        for field in range(4):
            cuts[p, field] = cuts[p - 1, field]
    scores[place] = score
    cuts[place, 0] = way
    cuts[place, 1] = attribute
    cuts[place, 2] = where
    cuts[place, 3] = extra


@kernel
def _value_cuts(rows, start, stride, values, way, attribute, tables, need, strict, group_range, cuts, scores):
    """Offer the cheapest and the most even cut of a group between two values (or inside one).

    Records with a value below `where`, and the first `extra` of those with that value, go left.
    O(records * attributes + bins * attributes * height).
    """
    bin_of, first, last = _value_bins(values)
    n_bins = len(first)
    size, lo, hi, words = _summaries(rows, start, stride, bin_of, n_bins, tables)
    m = len(values)
    right_cost = np.zeros(n_bins + 1)
    right_lo, right_hi, right_words = lo[n_bins - 1].copy(), hi[n_bins - 1].copy(), words[n_bins - 1].copy()
    for b in range(n_bins - 1, -1, -1):
        _absorb(right_lo, right_hi, right_words, lo[b], hi[b], words[b])
        right_cost[b] = part_cost(tables, right_lo, right_hi, right_words)
    best, best_where, best_extra = np.inf, -1, 0
    even, even_where, even_extra, even_score = 2 * m + 1, -1, 0, np.inf
    left = 0
    left_lo, left_hi, left_words = lo[0].copy(), hi[0].copy(), words[0].copy()
    for b in range(n_bins):
        if size[b] == 0:
            continue
        _absorb(left_lo, left_hi, left_words, lo[b], hi[b], words[b])
        left_cost = part_cost(tables, left_lo, left_hi, left_words)
        for trial in range(4):
            # between this bin and the next, or inside a value: as few left as may be, as many, half
            inside = trial > 0
            n_left = left + size[b]
            if inside:
                if strict or stride > 1 or first[b] != last[b]:
                    break
                n_left = need if trial == 1 else (m - need if trial == 2 else m // 2)
                if n_left <= left or n_left >= left + size[b]:
                    continue
            if n_left < need or m - n_left < need:
                continue
            rest_cost = right_cost[b] if inside else right_cost[b + 1]
            score = left_cost * n_left + rest_cost * (m - n_left) - right_cost[0] * m
            where = first[b] if inside else last[b] + 1
            extra = n_left - left if inside else 0
            if score < best:
                best, best_where, best_extra = score, where, extra
            lopsided = abs(m - 2 * n_left) + (m if inside else 0)  # inside a value only if there is no other
            if lopsided < even:
                even, even_where, even_extra, even_score = lopsided, where, extra, score
        left += size[b]
    if best_where < 0:
        return
    if group_range >= 0:
        _offer(cuts, scores, way, attribute, even_where, even_extra, -group_range)
        return
    _offer(cuts, scores, way, attribute, best_where, best_extra, best)
    if even_where != best_where or even_extra != best_extra:
        _offer(cuts, scores, way, attribute, even_where, even_extra, even_score)


@kernel
def _dense(places, n_places):
    """Number the places that occur from 0 in rising order: number of each, how many. No table when sparse."""
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
def _pool(size, need, strict):
    """Which children of a node stay apart: -1 pooled, else apart; and how many records the pool borrows.

    Children with fewer than `need` records are pooled. A pool that is too small itself borrows records
    from the largest child that can spare them (not if strict), else takes in the smallest child apart.
    Returns apart (bool per child), donor (or -1), borrowed.
    """
    apart = size >= need
    pooled = 0
    for c in range(len(size)):
        if not apart[c]:
            pooled += size[c]
    while 0 < pooled < need:
        donor, smallest = -1, -1
        for c in range(len(size)):
            if apart[c]:
                if donor < 0 or size[c] > size[donor]:
                    donor = c
                if smallest < 0 or size[c] < size[smallest]:
                    smallest = c
        if smallest < 0:
            break
        if not strict and size[donor] - (need - pooled) >= need:
            return apart, donor, need - pooled
        apart[smallest] = False
        pooled += size[smallest]
    return apart, -1, 0


@kernel
def _children_of(rows, start, stride, m, attribute, node, tables):
    """For each record the child of `node` it is in, numbered from 0, and how many children occur."""
    places = np.empty(m, np.int64)
    for i in range(m):
        places[i] = tables.sibling[child_of(tables, attribute, node, rows[start + i * stride, attribute])]
    return _dense(places, tables.n_children[node])


@kernel
def _whole_cost(lo, hi, words, tables):
    """Cost of one record of the group that these parts make up."""
    all_lo, all_hi, all_words = lo[0].copy(), hi[0].copy(), words[0].copy()
    for part in range(1, len(lo)):
        _absorb(all_lo, all_hi, all_words, lo[part], hi[part], words[part])
    return part_cost(tables, all_lo, all_hi, all_words)


@kernel
def _child_cut(rows, start, stride, m, node, attribute, tables, need, strict, group_range, cuts, scores):
    """Offer the cut of a group into the children of its node, small ones pooled.

    It scores what it saves per bit of the split: many small parts leave nothing to cut along other
    attributes, so a cut into many must save more than a cut in two (which counts as half a bit at least).
    """
    child, n_children = _children_of(rows, start, stride, m, attribute, node, tables)
    size, lo, hi, words = _summaries(rows, start, stride, child, n_children, tables)
    apart, donor, borrowed = _pool(size, need, strict)
    if not apart.any():
        return
    if group_range >= 0:
        _offer(cuts, scores, BY_CHILD, attribute, node, 0, -group_range)
        return
    before = _whole_cost(lo, hi, words, tables) * m
    after = 0.0
    bits = 0.0
    pooled = borrowed
    pool = -1
    for c in range(n_children):
        if apart[c]:
            kept = size[c] - (borrowed if c == donor else 0)
            after += part_cost(tables, lo[c], hi[c], words[c]) * kept
            bits += kept * np.log2(m / kept)
        else:
            pooled += size[c]
            if pool < 0:
                pool = c
            else:
                _absorb(lo[pool], hi[pool], words[pool], lo[c], hi[c], words[c])
    if pool >= 0:
        if donor >= 0:
            _absorb(lo[pool], hi[pool], words[pool], lo[donor], hi[donor], words[donor])
        after += part_cost(tables, lo[pool], hi[pool], words[pool]) * pooled
        bits += pooled * np.log2(m / pooled)
    _offer(cuts, scores, BY_CHILD, attribute, node, 0, (after - before) / max(0.5, bits / m))


@kernel
def _least_and_greatest(rows, start, end, attribute):
    """Of all records, not of a sample: the node that is cut must hold every one of them."""
    lo = hi = rows[start, attribute]
    for row in range(start + 1, end):
        leaf = rows[row, attribute]
        lo, hi = min(lo, leaf), max(hi, leaf)
    return lo, hi


@kernel
def _group_range(tables, attribute, values, lo, hi):
    """What the group's values cost in one attribute: its normalised range."""
    if tables.kind[attribute] == SET and hi < tables.loners_from[attribute]:
        _, distinct = _dense(values - lo, hi - lo + 1)
        return tables.base[attribute] + tables.slope[attribute] * (distinct - 1)
    return range_cost(tables, attribute, lo, hi)


@kernel
def find_cuts(rows, starts, ends, tables, k, strict, widest, n_cuts):
    """The best cuts of each group (start..end of `rows`), cheapest first: way, attribute, where, extra.

    way -1: no more cuts. A cut's cost is that of all records in their parts' closures, over all
    attributes; `widest` instead ranks attributes by the group's range and cuts in the middle.
    O(records * attributes^2) per call, on a sample of each group that is larger than SAMPLE.
    """
    r = rows.shape[1]
    cuts = np.full((len(starts), n_cuts, 4), -1, np.int64)
    for g in range(len(starts)):
        scores = np.full(n_cuts, np.inf)
        start, total = starts[g], ends[g] - starts[g]
        stride = max(1, total // SAMPLE)
        m = (total + stride - 1) // stride
        need = max(1, (k + stride - 1) // stride)
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
                _child_cut(
                    rows, start, stride, m, node, j, tables, need, strict, group_range, cuts[g], scores
                )
                continue
            for way in range(BY_FREQUENCY + 1 if tables.kind[j] == SET else BY_VALUE + 1):
                if way == BY_FREQUENCY:
                    for i in range(m):
                        values[i] = tables.frequency_rank[tables.leaf_start[j] + values[i]]
                _value_cuts(
                    rows, start, stride, values, way, j, tables, need, strict, group_range, cuts[g], scores
                )
    return cuts


@kernel
def _part_by_child(rows, start, end, cut, tables, k, strict, part):
    attribute, node = cut[1], cut[2]
    m = end - start
    child, n_children = _children_of(rows, start, 1, m, attribute, node, tables)
    size = np.bincount(child, minlength=n_children)
    apart, donor, borrowed = _pool(size, k, strict)
    number = np.zeros(n_children, np.int64)
    n_parts = 1  # part 0 is the pool
    for c in range(n_children):
        if apart[c]:
            number[c] = n_parts
            n_parts += 1
    for i in range(m):
        c = child[i]
        if c == donor and borrowed > 0:
            borrowed -= 1
            part[i] = 0
        else:
            part[i] = number[c]
    return n_parts


@kernel
def _part_by_value(rows, start, end, cut, tables, part):
    way, attribute, where, extra = cut
    for i in range(end - start):
        value = rows[start + i, attribute]
        if way == BY_FREQUENCY:
            value = tables.frequency_rank[tables.leaf_start[attribute] + value]
        left = value < where
        if value == where and extra > 0:
            extra -= 1
            left = True
        part[i] = 0 if left else 1
    return 2


@kernel
def part_records(rows, starts, ends, cuts, tables, k, strict):
    """Carry out one cut per group: the part of each record (of all groups in a row) and parts per group.

    Of a cut by children, part 0 is the pool, which may be empty. Groups whose cut has way -1 stay whole.
    """
    offsets = np.zeros(len(starts) + 1, np.int64)
    for g in range(len(starts)):
        offsets[g + 1] = offsets[g] + ends[g] - starts[g]
    parts = np.zeros(offsets[-1], np.int32)
    n_parts = np.ones(len(starts), np.int64)
    for g in range(len(starts)):
        part = parts[offsets[g] : offsets[g + 1]]
        if cuts[g, 0] == BY_CHILD:
            n_parts[g] = _part_by_child(rows, starts[g], ends[g], cuts[g], tables, k, strict, part)
        elif cuts[g, 0] >= 0:
            n_parts[g] = _part_by_value(rows, starts[g], ends[g], cuts[g], tables, part)
    return parts, n_parts


@kernel
def deal_out(rows, records, starts, ends, parts, n_parts):
    """Sort the records of each group by part, in place and stably. `parts` as from `part_records`."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    for g in range(len(starts)):
        offsets[g + 1] = offsets[g] + ends[g] - starts[g]
    for g in range(len(starts)):
        start, m = starts[g], ends[g] - starts[g]
        part = parts[offsets[g] : offsets[g + 1]]
        place = np.zeros(n_parts[g] + 1, np.int64)
        for i in range(m):
            place[part[i] + 1] += 1
        for p in range(n_parts[g]):
            place[p + 1] += place[p]
        old_rows = rows[start : start + m].copy()
        old_records = records[start : start + m].copy()
        for i in range(m):
            to = start + place[part[i]]
            place[part[i]] += 1
            for j in range(rows.shape[1]):
                rows[to, j] = old_rows[i, j]
            records[to] = old_records[i]
