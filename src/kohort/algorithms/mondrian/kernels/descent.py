"""Cut groups again and again, depth first, until nothing can be cut: all in compiled code.

A group that fits the processor's cache is cut to the end before the next one is looked at.
"""

from __future__ import annotations

from kohort.algorithms.mondrian.kernels.best_cuts import find_best_cuts
from kohort.algorithms.mondrian.kernels.cut_parts import deal_group, part_group, parts_hold
from kohort.algorithms.mondrian.kernels.cut_table import CUT_UP, FIND, PART
from kohort.kernels.compiled import lean


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
