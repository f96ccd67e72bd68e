"""Different people on both sides of cuts, where people have several records; counted by stamps, not sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.mondrian.kernels.node_children import largest_and_smallest, pool_children
from kohort.kernels.compiled import kernel

__all__ = [
    "PersonMarks",
    "cuts_for_people",
    "new_marks",
    "people_beside",
    "people_of_parts",
    "pooled_children",
]

_IN_A_MASK = 30  # parts that the bits of a note can stand for
_SHIFT, _LAST, _MET = 8, 0xFF, 0x80  # a note has a first and a last bin, of which there are at most 64


class PersonMarks(NamedTuple):
    """A note on each person, valid where its stamp is the current number; empty where there are no persons.

    notes    people by two: the stamp, and the note
    current  one entry: the current number
    """

    notes: np.ndarray
    current: np.ndarray


@kernel
def new_marks(n_people):
    """Marks for this many people; for none where records are counted."""
    return PersonMarks(np.zeros((n_people, 2), np.int32), np.zeros(1, np.int32))


@kernel
def _start_over(marks):
    marks.current[0] += 1
    return marks.current[0]


@kernel
def _is_new(marks, person, now):
    """1 for a person who is met for the first time, else 0."""
    if marks.notes[person, 0] == now:
        return 0
    marks.notes[person, 0] = now
    return 1


@kernel
def people_beside(sample, bin_of, n_bins):
    """For each bin, the number of people with a record up to it, and with a record beyond it.

    Leaves the first and the last bin of each person in the marks.
    """
    notes, persons = sample.marks.notes, sample.persons
    now = _start_over(sample.marks)
    left, right = np.zeros(n_bins, np.int64), np.zeros(n_bins + 1, np.int64)
    for i in range(len(bin_of)):
        person, b = persons[sample.start + i * sample.stride], bin_of[i]
        first = last = b
        if notes[person, 0] == now:
            first, last = notes[person, 1] >> _SHIFT, notes[person, 1] & _LAST
            if first <= b <= last:
                continue
            left[first] -= 1
            right[last] -= 1
            first, last = min(first, b), max(last, b)
        notes[person, 0] = now
        notes[person, 1] = (first << _SHIFT) + last
        left[first] += 1
        right[last] += 1
    for b in range(1, n_bins):
        left[b] += left[b - 1]
    for b in range(n_bins - 1, -1, -1):
        right[b] += right[b + 1]
    return left, right[1:]


@kernel
def cuts_for_people(sample, bin_of, left, right):
    """The fewest and the most records that go left if a cut inside a bin leaves `need` people on that side.

    left, right  as `people_beside` returns them, right after it
    """
    notes, persons, need = sample.marks.notes, sample.persons, sample.need
    m, n_bins = len(bin_of), len(left)
    low, high = 0, n_bins - 1
    while low < n_bins - 1 and left[low] < need:
        low += 1
    while high > 0 and right[high - 1] < need:
        high -= 1
    fewest, missing = 0, need - (left[low - 1] if low > 0 else 0)
    for i in range(m):
        if bin_of[i] < low:
            fewest += 1
        elif bin_of[i] == low and missing > 0:
            person = persons[sample.start + i * sample.stride]
            fewest += 1
            if notes[person, 1] >> _SHIFT == low:
                notes[person, 1] += _MET << _SHIFT  # not to be met again
                missing -= 1
    beyond, missing = 0, need - right[high]
    for i in range(m - 1, -1, -1):
        if bin_of[i] > high:
            beyond += 1
        elif bin_of[i] == high and missing > 0:
            person = persons[sample.start + i * sample.stride]
            beyond += 1
            if notes[person, 1] & _LAST == high:
                notes[person, 1] += _MET
                missing -= 1
    return fewest, m - beyond


@kernel
def pooled_children(sample, child, size):
    """Decide which children become parts of their own and which are pooled; see `pool_children`.

    Where people have several records, parts must have `need` people.
    """
    if not len(sample.persons):
        return pool_children(size, sample.need, sample.strict)
    need = sample.need
    people = people_of_parts(sample, child, len(size))
    apart = people >= need
    pooled = _people_in_pool(sample, child, apart)
    while 0 < pooled < need:
        donor, smallest = largest_and_smallest(people, apart)
        if smallest < 0:
            break
        if not sample.strict and people[donor] - (need - pooled) >= need:
            borrowed = _records_to_borrow(sample, child, donor, need - pooled)
            if people[donor] - borrowed >= need:  # a record takes away one person at most
                return apart, donor, borrowed
        apart[smallest] = False
        pooled = _people_in_pool(sample, child, apart)
    return apart, -1, 0


@kernel
def _people_in_pool(sample, child, apart):
    """The number of different people in children that are not apart; they are stamped."""
    now = _start_over(sample.marks)
    pooled = 0
    for i in range(len(child)):
        if not apart[child[i]]:
            pooled += _is_new(sample.marks, sample.persons[sample.start + i * sample.stride], now)
    return pooled


@kernel
def _records_to_borrow(sample, child, donor, missing):
    """How many records of the donor, the first ones, bring `missing` people who are not in the pool yet.

    All of them if there are not as many such people. The people of the pool are stamped, and then these, too.
    """
    borrowed, now = 0, sample.marks.current[0]
    for i in range(len(child)):
        if child[i] == donor and missing > 0:
            borrowed += 1
            missing -= _is_new(sample.marks, sample.persons[sample.start + i * sample.stride], now)
    return borrowed


@kernel
def people_of_parts(sample, part, n_parts):
    """The number of different people in each part of the records of a sample. O(records).

    Up to 30 parts are bits of a person's note; for more, records are sorted by part first.
    """
    persons, notes = sample.persons, sample.marks.notes
    people = np.zeros(n_parts, np.int64)
    if n_parts > _IN_A_MASK:
        return _people_of_many_parts(sample, part, people)
    now = _start_over(sample.marks)
    for i in range(len(part)):
        person = persons[sample.start + i * sample.stride]
        bit = np.int32(1) << part[i]
        if notes[person, 0] != now:
            notes[person, 0] = now
            notes[person, 1] = bit
            people[part[i]] += 1
        elif not notes[person, 1] & bit:
            notes[person, 1] |= bit
            people[part[i]] += 1
    return people


@kernel
def _people_of_many_parts(sample, part, people):
    place = np.zeros(len(people) + 1, np.int64)
    for i in range(len(part)):
        place[part[i] + 1] += 1
    for p in range(len(people)):
        place[p + 1] += place[p]
    ordered = np.empty(len(part), np.int64)
    at = place[:-1].copy()
    for i in range(len(part)):
        ordered[at[part[i]]] = sample.persons[sample.start + i * sample.stride]
        at[part[i]] += 1
    for p in range(len(people)):
        now = _start_over(sample.marks)
        for i in range(place[p], place[p + 1]):
            people[p] += _is_new(sample.marks, ordered[i], now)
    return people
