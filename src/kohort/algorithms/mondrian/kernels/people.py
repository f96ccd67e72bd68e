"""Different people on both sides of cuts, where people have several records; counted by stamps, not sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.mondrian.kernels.node_children import pool_children
from kohort.kernels.compiled import kernel

__all__ = [
    "PersonMarks",
    "cuts_for_people",
    "new_marks",
    "people_beside",
    "people_in_parts",
    "pooled_children",
]


class PersonMarks(NamedTuple):
    """Notes on each person, valid where `stamp` holds the current number; empty where there are no persons.

    first, last  the first and the last bin that holds a record of the person
    current      one entry: the current number
    """

    stamp: np.ndarray
    first: np.ndarray
    last: np.ndarray
    current: np.ndarray


@kernel
def new_marks(n_people):
    """Marks for this many people; for none where records are counted."""
    return PersonMarks(
        np.zeros(n_people, np.int64),
        np.zeros(n_people, np.int32),
        np.zeros(n_people, np.int32),
        np.zeros(1, np.int64),
    )


@kernel
def _start_over(marks):
    marks.current[0] += 1
    return marks.current[0]


@kernel
def people_beside(sample, bin_of, n_bins):
    """For each bin, the number of people with a record up to it, and with a record beyond it.

    Leaves the first and the last bin of each person in the marks.
    """
    marks, persons = sample.marks, sample.persons
    now = _start_over(marks)
    for i in range(len(bin_of)):
        person, b = persons[sample.start + i * sample.stride], bin_of[i]
        if marks.stamp[person] != now:
            marks.stamp[person] = now
            marks.first[person] = marks.last[person] = b
        else:
            marks.first[person] = min(marks.first[person], b)
            marks.last[person] = max(marks.last[person], b)
    left, right = np.zeros(n_bins, np.int64), np.zeros(n_bins, np.int64)
    for i in range(len(bin_of)):
        person = persons[sample.start + i * sample.stride]
        if marks.stamp[person] == now:
            marks.stamp[person] = -now  # counted
            left[marks.first[person]] += 1
            if marks.last[person] > 0:
                right[marks.last[person] - 1] += 1
    for b in range(1, n_bins):
        left[b] += left[b - 1]
    for b in range(n_bins - 2, -1, -1):
        right[b] += right[b + 1]
    return left, right


@kernel
def cuts_for_people(sample, bin_of, left, right):
    """The fewest and the most records that go left if a cut inside a bin leaves `need` people on that side.

    left, right  as `people_beside` returns them, right after it
    """
    marks, persons, need = sample.marks, sample.persons, sample.need
    m, n_bins = len(bin_of), len(left)
    low = 0
    while low < n_bins - 1 and left[low] < need:
        low += 1
    high = n_bins - 1
    while high > 0 and right[high - 1] < need:
        high -= 1
    fewest, missing = 0, need - (left[low - 1] if low > 0 else 0)
    now = _start_over(marks)
    inside = 0
    for i in range(m):
        if bin_of[i] < low:
            fewest += 1
        elif bin_of[i] == low and missing > 0:
            person = persons[sample.start + i * sample.stride]
            inside += 1
            if marks.first[person] == low and marks.stamp[person] != now:
                marks.stamp[person] = now
                missing -= 1
    beyond, missing = 0, need - right[high]
    now = _start_over(marks)
    for i in range(m - 1, -1, -1):
        if bin_of[i] > high:
            beyond += 1
        elif bin_of[i] == high and missing > 0:
            person = persons[sample.start + i * sample.stride]
            beyond += 1
            if marks.last[person] == high and marks.stamp[person] != now:
                marks.stamp[person] = now
                missing -= 1
    return fewest + inside, m - beyond


@kernel
def pooled_children(sample, child, size):
    """Decide which children become parts of their own and which are pooled; see `pool_children`.

    Where people have several records, parts must have `need` people.
    """
    if not len(sample.persons):
        return pool_children(size, sample.need, sample.strict)
    marks, persons, need = sample.marks, sample.persons, sample.need
    people = _people_of_children(sample, child, len(size))
    apart = people >= need
    now = _start_over(marks)
    pooled = 0
    for i in range(len(child)):
        if not apart[child[i]]:
            pooled += _is_new(marks, persons[sample.start + i * sample.stride], now)
    while 0 < pooled < need:
        donor, smallest = -1, -1
        for c in range(len(size)):
            if apart[c]:
                if donor < 0 or people[c] > people[donor]:
                    donor = c
                if smallest < 0 or people[c] < people[smallest]:
                    smallest = c
        if smallest < 0:
            break
        if not sample.strict and people[donor] - (need - pooled) >= need:
            return apart, donor, _records_to_borrow(sample, child, donor, need - pooled, now)
        apart[smallest] = False
        for i in range(len(child)):
            if child[i] == smallest:
                pooled += _is_new(marks, persons[sample.start + i * sample.stride], now)
    return apart, -1, 0


@kernel
def _is_new(marks, person, now):
    """1 for a person who is met for the first time, else 0."""
    if marks.stamp[person] == now:
        return 0
    marks.stamp[person] = now
    return 1


@kernel
def _records_to_borrow(sample, child, donor, missing, now):
    """How many records of the donor, the first ones, bring `missing` people who are not in the pool yet.

    All of them if there are not as many such people.
    """
    borrowed = 0
    for i in range(len(child)):
        if child[i] == donor and missing > 0:
            borrowed += 1
            missing -= _is_new(sample.marks, sample.persons[sample.start + i * sample.stride], now)
    return borrowed


@kernel
def _people_of_children(sample, child, n_children):
    """The number of different people in each child."""
    m = len(child)
    persons = np.empty(m, np.int32)
    for i in range(m):
        persons[i] = sample.persons[sample.start + i * sample.stride]
    return _people_by_part(child, persons, n_children, sample.marks)


@kernel
def _people_by_part(part, persons, n_parts, marks):
    """The number of different people in each part: records are sorted by part, then people are stamped."""
    place = np.zeros(n_parts + 1, np.int64)
    for i in range(len(part)):
        place[part[i] + 1] += 1
    for p in range(n_parts):
        place[p + 1] += place[p]
    ordered = np.empty(len(part), np.int32)
    at = place[:n_parts].copy()
    for i in range(len(part)):
        ordered[at[part[i]]] = persons[i]
        at[part[i]] += 1
    people = np.zeros(n_parts, np.int64)
    for p in range(n_parts):
        now = _start_over(marks)
        for i in range(place[p], place[p + 1]):
            people[p] += _is_new(marks, ordered[i], now)
    return people


@kernel
def people_in_parts(part, persons, n_parts, n_people):
    """The number of different people in each part, given the part and the person of each record. O(n)."""
    return _people_by_part(part, persons, n_parts, new_marks(n_people))
