"""Carry out a cut: find the part of each record of a group, then sort its records by part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.mondrian.kernels.best_cuts import find_best_cuts
from kohort.algorithms.mondrian.kernels.bins import child_bins
from kohort.algorithms.mondrian.kernels.cut_table import BY_CHILD, BY_FREQUENCY, CUT_UP, FIND, PART, Sample
from kohort.algorithms.mondrian.kernels.people import people_of_parts, pooled_children
from kohort.kernels.compiled import lean


@lean
def part_group(table, space, start, end, cut, part):
    """Write the part of each record of a group after a cut; return the number of parts.

    In a cut into children, part 0 is the pool, which may be empty. With way -1 the group stays whole.
    """
    if cut.way < 0:
        part[:] = 0
        return 1
    if cut.way == BY_CHILD:
        return _part_by_child(table, space, Sample(start, 1, end - start, table.rules.k), cut, part)
    _part_by_value(table.records.rows[start:end], table.tables, cut, part)
    return 2


@lean
def _part_by_child(table, space, whole, cut, part):
    records, pooling = table.records, space.pooling
    n_children = child_bins(
        records.rows, table.tables, table.children, space.sorting, whole, cut.attribute, cut.where, part
    )
    size = space.bins.size[:n_children]
    size[:] = 0
    for i in range(whole.size):
        size[part[i]] += 1
    donor, borrowed = pooled_children(
        records.persons, space.marks, pooling, whole, table.rules.strict, part, size
    )
    n_parts = 1  # part 0 is the pool
    for c in range(n_children):
        pooling.number[c] = 0
        if pooling.apart[c]:
            pooling.number[c] = n_parts
            n_parts += 1
    for i in range(whole.size):
        if part[i] == donor and borrowed > 0:
            borrowed -= 1
            part[i] = 0
        else:
            part[i] = pooling.number[part[i]]
    return n_parts


@lean
def _part_by_value(rows, tables, cut, part):
    where, extra, first = cut.where, cut.extra, tables.leaf_start[cut.attribute]
    for i in range(len(rows)):
        value = np.int64(rows[i, cut.attribute])
        if cut.way == BY_FREQUENCY:
            value = tables.frequency_rank[first + value]
        part[i] = 0 if value < where else 1
        if value == where and extra > 0:
            extra -= 1
            part[i] = 0


@lean
def parts_hold(persons, space, k, start, part, n_parts):
    """Whether a cut leaves two parts or more that all have k records, or k people.

    In a cut into more than two, parts that have fewer are first moved into part 0, the pool. The sizes of
    the parts are left in `space.moving`.
    """
    size, people = space.moving.size[:n_parts], space.pooling.people[:n_parts]
    _count_parts(persons, space.marks, start, part, size, people)
    if n_parts > 2 and _move_small_parts(k, part, people):
        _count_parts(persons, space.marks, start, part, size, people)
    used = 0
    for p in range(n_parts):
        if size[p]:
            used += 1
            if people[p] < k:
                return False
    return used > 1


@lean
def _count_parts(persons, marks, start, part, size, people):
    """Count the records of each part, and its people."""
    size[:] = 0
    for i in range(len(part)):
        size[part[i]] += 1
    people_of_parts(persons, marks, Sample(start, 1, len(part), 1), part, size, people)


@lean
def _move_small_parts(k, part, people):
    """Move the records of parts that have fewer than k people into part 0; return whether there are any."""
    found = False
    for p in range(len(people)):
        found = found or 0 < people[p] < k
    if found:
        for i in range(len(part)):
            if people[part[i]] < k:
                part[i] = 0
    return found


@lean
def deal_group(records, moving, start, part, n_parts):
    """Sort the records of a group by part, in place and stably.

    One word of all records after the other, so that there is room for one word of each at a time. What is in
    `part` is lost.
    """
    end = start + len(part)
    _find_places(moving.place, part, n_parts)
    for w in range(records.packed.shape[1]):
        _deal(records.packed[start:end, w], moving.room, part)
    _deal(records.number[start:end], moving.room, part)
    if len(records.persons):
        _deal(records.persons[start:end], moving.room, part)
    if len(records.masses):
        _deal(records.masses[start:end].view(np.int64), moving.room, part)


@lean
def _find_places(place, part, n_parts):
    """Write to `part`, for each record of a group, its place once the group is sorted by part."""
    place[: n_parts + 1] = 0
    for i in range(len(part)):
        place[part[i] + 1] += 1
    for p in range(n_parts):
        place[p + 1] += place[p]
    for i in range(len(part)):
        p = part[i]
        part[i] = place[p]
        place[p] += 1


@lean
def _deal(values, room, place):
    """Move each value to its place."""
    for i in range(len(values)):
        room[i] = values[i]
    for i in range(len(values)):
        values[place[i]] = room[i]


@lean
def cut_groups(table, space, starts, ends, largest, is_start, steps):
    """Cut these groups while k-anonymity holds; or do one step of this for all of them.

    largest   parts of at most this many records are not cut further; 0: cut as far as possible
    is_start  per place of a record: whether a group starts there; new groups are written to it
    steps     the step to do, and its arrays: see `Steps`

    One kernel for all steps, so that their common code is compiled once. O(records * attributes^2 * depth).
    """
    first = 0
    for g in range(len(starts)):
        part = steps.parts[first : first + ends[g] - starts[g]]
        first += len(part)
        if steps.step == CUT_UP:
            _cut_to_the_end(table, space, starts[g], ends[g], largest, is_start)
        elif steps.step == FIND:
            find_best_cuts(table, space, starts[g], ends[g])
            for attempt in range(steps.cuts.shape[1]):
                steps.cuts[g, attempt] = space.best.cuts[attempt]
        elif steps.step == PART:
            steps.n_parts[g] = part_group(table, space, starts[g], ends[g], steps.cuts[g, 0], part)
        else:
            deal_group(table.records, space.moving, starts[g], part, steps.n_parts[g])


@lean
def _cut_to_the_end(table, space, start, end, largest, is_start):
    stack, waiting = space.stack, 1
    stack[0, 0], stack[0, 1] = start, end
    while waiting:
        waiting -= 1
        start, end = stack[waiting, 0], stack[waiting, 1]
        for p in range(_cut_once(table, space, start, end)):
            size = space.moving.size[p]
            if size:
                is_start[start] = True
            if size >= 2 * table.rules.k and size > largest:  # a smaller group has no two parts of k
                stack[waiting, 0], stack[waiting, 1] = start, start + size
                waiting += 1
            start += size


@lean
def _cut_once(table, space, start, end):
    """Cut a group by its best cut that leaves k records, or k people, in each part; return how many parts.

    0 if there is no such cut. The sizes of the parts are in `space.moving`; some may be empty.
    """
    find_best_cuts(table, space, start, end)
    part, cuts = space.moving.part[: end - start], space.best.cuts
    for attempt in range(len(cuts)):
        if cuts[attempt].way < 0:
            break
        n_parts = part_group(table, space, start, end, cuts[attempt], part)
        if parts_hold(table.records.persons, space, table.rules.k, start, part, n_parts):
            deal_group(table.records, space.moving, start, part, n_parts)
            return n_parts
    return 0


class TreeArrays(NamedTuple):
    """A tree of cuts. The leaves of the attribute that a node is cut along have entries side by side."""

    attribute: np.ndarray  # per node: the attribute it is cut along; -1: it is not cut
    first: np.ndarray  # per node: its first entry
    child: np.ndarray  # per entry: the node below
    lends: np.ndarray  # per entry: whether the first records with this leaf go to the pool instead
    last_lent: np.ndarray  # per node: the number of the last record that goes to the pool; -1: none does
    pool: np.ndarray  # per node: the node below that the pool is


@lean
def find_nodes(tree, rows, number, node):
    """Write the node of each record; `number` is the number of each record in the table. O(n * depth)."""
    for i in range(len(rows)):
        at = np.int64(0)
        while tree.attribute[at] >= 0:
            place = tree.first[at] + np.int64(rows[i, tree.attribute[at]])
            if number[i] <= tree.last_lent[at] and tree.lends[place]:
                at = tree.pool[at]
            else:
                at = tree.child[place]
        node[i] = at
