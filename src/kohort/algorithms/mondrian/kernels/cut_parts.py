"""Carry out the cuts of many groups: find the part of each record, then sort the records by part."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.mondrian.kernels.best_cuts import BY_CHILD, BY_FREQUENCY
from kohort.algorithms.mondrian.kernels.group_summaries import Sample
from kohort.algorithms.mondrian.kernels.node_children import children_of
from kohort.algorithms.mondrian.kernels.people import new_marks, people_of_parts, pooled_children
from kohort.kernels.compiled import kernel

__all__ = ["deal_out", "part_records", "people_in_parts"]


@kernel
def part_records(rows, persons, starts, ends, cuts, tables, k, strict):
    """The part of each record after one cut per group, and the number of parts of each group.

    Records are listed group after group. In a cut into children, part 0 is the pool, which may be empty.
    Groups whose cut has way -1 stay whole.
    """
    offsets = np.zeros(len(starts) + 1, np.int64)
    for g in range(len(starts)):
        offsets[g + 1] = offsets[g] + ends[g] - starts[g]
    parts = np.zeros(offsets[-1], np.int32)
    n_parts = np.ones(len(starts), np.int64)
    marks, nothing = new_marks(persons.max() + 1 if len(persons) else 0), np.zeros(0)
    for g in range(len(starts)):
        part = parts[offsets[g] : offsets[g + 1]]
        if cuts[g].way == BY_CHILD:
            whole = Sample(rows, starts[g], 1, ends[g] - starts[g], k, strict, persons, marks, nothing)
            n_parts[g] = _part_by_child(whole, cuts[g], tables, part)
        elif cuts[g].way >= 0:
            n_parts[g] = _part_by_value(rows, starts[g], ends[g], cuts[g], tables, part)
    return parts, n_parts


@kernel
def people_in_parts(rows, persons, starts, ends, parts, n_parts):
    """How many different people each part has, part after part, group after group; see `part_records`."""
    marks, nothing = new_marks(persons.max() + 1), np.zeros(0)
    people = np.empty(n_parts.sum(), np.int64)
    first, first_part = 0, 0
    for g in range(len(starts)):
        m = ends[g] - starts[g]
        group = Sample(rows, starts[g], 1, m, 1, True, persons, marks, nothing)
        own = people[first_part : first_part + n_parts[g]]
        own[:] = people_of_parts(group, parts[first : first + m], n_parts[g])
        first += m
        first_part += n_parts[g]
    return people


@kernel
def _part_by_child(whole, cut, tables, part):
    m = whole.size
    child, n_children = children_of(whole, cut.attribute, cut.where, tables)
    size = np.bincount(child, minlength=n_children)
    apart, donor, borrowed = pooled_children(whole, child, size)
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
    way, attribute, where, extra = cut.way, cut.attribute, cut.where, cut.extra
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
def deal_out(rows, records, starts, ends, parts, n_parts):
    """Sort the records of each group by part, in place and stably.

    parts, n_parts  the result of `part_records`
    """
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
