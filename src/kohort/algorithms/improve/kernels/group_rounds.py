"""Ruin and recreate of groups without closed records: for any labels and any table.

There are three kinds of rounds. In most, the few records of a group that have a value are ejected: they go
where they add least, so that the group loses the value, which no single move would achieve; if it has too few
records then, others that fit come in. Or a small group is dissolved: its records go where they add least. Or
a few groups around a random record are pooled and rebuilt. A round is kept if it costs no more, or only a
little more while the search is hot.
"""

from __future__ import annotations

import numpy as np

from kohort.algorithms.improve.kernels.group_counts import (
    add,
    forget,
    give_back,
    link,
    members,
    move_group,
    show,
    show_lowest,
    take_number,
)
from kohort.algorithms.improve.kernels.group_ejection import dissolved, ejected
from kohort.algorithms.improve.kernels.group_rebuilding import (
    clear_groups,
    gather_groups,
    keeps_promises,
    polish_groups,
    pool_cost,
)
from kohort.algorithms.improve.kernels.nearest_groups import nearest_groups, new_near_groups
from kohort.kernels.compiled import kernel, lean
from kohort.kernels.sorting import distinct_values

MOST_POOLED = 6  # groups built from a pool at most, one more than are taken into it
_MOST_RECORDS = 4_000  # in a pool
_DISSOLVING, _EJECTING = 0.1, 0.75  # shares of the rounds
_ONLY_POLISH = 0.5  # share of the rebuilding rounds that only move and exchange records
_NEAR = 1.15  # times the old cost: up to here, moves and exchanges may still make it cheaper
_EPSILON = 1e-9
_N_NEAR = 6  # near groups that are looked for; one to four of them are pooled with that of a record


@kernel
def regroup(cells, promises, groups, rows, seed, rounds, heat, drawn):
    """Make `rounds` rounds of ruin and recreate; return how many of them lowered the cost.

    heat   how much a round may add to the cost, on average over the rounds that add anything
    drawn  how many records are drawn for a round, which begins with the one whose group costs most

    O(groups * attributes + pool^2 * attributes) per round.
    """
    np.random.seed(seed)
    show_lowest(cells, groups)
    near = new_near_groups(groups, _N_NEAR)
    n_better = 0
    for _ in range(rounds):
        record = np.random.randint(len(rows))
        for _ in range(20):  # a group of cost 0 cannot be improved
            if groups.counts.cost[groups.group[record]] > _EPSILON:
                break
            record = np.random.randint(len(rows))
        for _ in range(drawn - 1):
            other = np.random.randint(len(rows))
            if groups.counts.cost[groups.group[other]] > groups.counts.cost[groups.group[record]]:
                record = other
        allowed = _EPSILON - heat * np.log(1 - np.random.random())
        chance = np.random.random()
        if chance < _DISSOLVING:
            change = dissolved(cells, promises, groups, rows, record, near, allowed)
        elif chance < _DISSOLVING + _EJECTING:
            change = ejected(cells, promises, groups, rows, record, near, allowed)
        else:
            change = _rebuilt(cells, promises, groups, rows, record, near, allowed)
        n_better += change < -_EPSILON
    return n_better


@kernel
def _rebuilt(cells, promises, groups, rows, record, near, allowed):
    """Rebuild the groups around a record; return the change of the total cost, or infinity if not kept."""
    pooled = _pooled(
        groups, record, near, nearest_groups(cells, groups, rows, record, near, _N_NEAR, 0, np.inf)
    )
    records, labels = members(groups, pooled)
    before = pool_cost(groups.counts, pooled)
    if before <= _EPSILON or len(records) > _MOST_RECORDS:
        return np.inf
    own, part_of = rows[records], np.full(len(records), -1)
    only_polish = np.random.random() < _ONLY_POLISH
    if only_polish:
        numbers = _copied(cells, groups, own, part_of, labels, len(pooled))
    else:
        numbers = _built(cells, promises, groups, own, part_of, len(pooled))
    if only_polish or not _are_same(part_of, labels, len(pooled)):
        if pool_cost(groups.counts, numbers) <= _NEAR * before:
            polish_groups(cells, groups.counts, numbers, own, part_of, promises.k)
        change = pool_cost(groups.counts, numbers) - before
        kept = change <= allowed and not _are_same(part_of, labels, len(pooled))
        if kept and _parts_keep(promises, records, part_of, numbers):
            _replace(cells, groups, rows, records, part_of, pooled, numbers)
            return change
    clear_groups(cells, groups.counts, numbers, own, part_of)
    for number in numbers:
        give_back(groups, number)
    return np.inf


@kernel
def _pooled(groups, record, near, n_near):
    """The group of a record and one to four of the near ones."""
    wanted = min(1 + np.random.randint(MOST_POOLED - 2), n_near)
    pooled = np.empty(wanted + 1, np.int64)
    pooled[0] = groups.group[record]
    for number in range(wanted):  # nearer groups are likelier
        place = number + int((n_near - number) * np.random.random() ** 2)
        near.group[number], near.group[place] = near.group[place], near.group[number]
        pooled[number + 1] = near.group[number]
    return pooled


@kernel
def _built(cells, promises, groups, own, part_of, n_pooled):
    """Put rows into as many new groups as there were, or one more; return their numbers."""
    numbers = _taken_numbers(groups, min(len(own) // promises.k, n_pooled + np.random.randint(2)))
    gather_groups(cells, groups.counts, numbers, own, part_of, promises.k, np.empty(len(own)))
    return numbers


@kernel
def _copied(cells, groups, own, part_of, labels, n_pooled):
    """Put rows into new groups that are copies of the old ones; return their numbers."""
    numbers = _taken_numbers(groups, n_pooled)
    for i in range(len(own)):
        part_of[i] = numbers[labels[i]]
        add(cells, groups.counts, part_of[i], own, i)
    return numbers


@kernel
def _taken_numbers(groups, n):
    numbers = np.empty(n, np.int64)
    for part in range(n):
        numbers[part] = take_number(groups)
    return numbers


@kernel
def _are_same(part_of, labels, n_labels):
    """Whether the new groups are the old ones, which is how most rounds end."""
    part = np.full(n_labels, -1)
    for i in range(len(labels)):
        if part[labels[i]] < 0:
            part[labels[i]] = part_of[i]
        elif part[labels[i]] != part_of[i]:
            return False
    return len(distinct_values(part)) == n_labels


@kernel
def _parts_keep(promises, records, part_of, numbers):
    """Whether all new groups satisfy the rules of the models."""
    if len(promises.tally) == 0:
        return True
    labels = np.empty(len(records), np.int64)
    for label in range(len(numbers)):
        labels[part_of == numbers[label]] = label
    return keeps_promises(promises, records, labels, len(numbers))


@lean
def _replace(cells, groups, rows, records, part_of, pooled, numbers):
    """Replace the old groups of these records by the new ones, which take over the old numbers."""
    for i in range(len(records)):
        forget(cells, groups.counts, groups.group[records[i]], rows, records[i])
    for group in pooled:
        groups.first[group] = -1
    for place in range(len(numbers)):
        number = pooled[place] if place < len(pooled) else numbers[place]
        for i in range(len(records)):
            if part_of[i] == numbers[place]:
                link(groups, records[i], number)
        if place < len(pooled):
            move_group(groups, numbers[place], number)
        show(cells, groups, number)
