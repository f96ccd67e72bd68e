"""Different people on both sides of cuts, where people have several records; counted by stamps, not sets.

A note on each person is valid where its stamp is the current number, so that nothing has to be cleared.
"""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import lean

_IN_A_MASK = 30  # parts that the bits of a note can stand for
_SHIFT, _LAST, _MET = 8, 0xFF, 0x80  # a note has a first and a last bin, of which there are at most 64


@lean
def _start_over(marks):
    marks.current[0] += 1
    return marks.current[0]


@lean
def _is_new(marks, person, now):
    """1 for a person who is met for the first time, else 0."""
    if marks.notes[person, 0] == now:
        return 0
    marks.notes[person, 0] = now
    return 1


@lean
def people_beside(persons, marks, edges, sample, bin_of, n_bins):
    """For each bin, count the people with a record up to it, and with a record beyond it.

    Written to `edges.left` and `right`. Leaves the first and the last bin of each person in
    the notes.
    """
    notes, left, right = marks.notes, edges.left, edges.right
    now = _start_over(marks)
    left[:n_bins] = 0
    right[:n_bins] = 0
    for i in range(sample.size):
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
    beyond = 0
    for b in range(1, n_bins):
        left[b] += left[b - 1]
    for b in range(n_bins - 1, -1, -1):  # those whose last bin is beyond this one
        beyond, right[b] = beyond + right[b], beyond


@lean
def cuts_for_people(persons, marks, edges, sample, bin_of, n_bins):
    """The fewest and the most records that go left if a cut inside a bin leaves `need` people on that side.

    Right after `people_beside`, whose results it uses.
    """
    left, right = edges.left, edges.right
    low, high = 0, n_bins - 1
    while low < n_bins - 1 and left[low] < sample.need:
        low += 1
    while high > 0 and right[high - 1] < sample.need:
        high -= 1
    fewest = _records_from_left(
        persons, marks.notes, sample, bin_of, low, sample.need - (left[low - 1] if low > 0 else 0)
    )
    beyond = _records_from_right(persons, marks.notes, sample, bin_of, high, sample.need - right[high])
    return fewest, sample.size - beyond


@lean
def _records_from_left(persons, notes, sample, bin_of, low, missing):
    """How many records are below a bin, or in it and needed for as many people as are missing."""
    fewest = 0
    for i in range(sample.size):
        if bin_of[i] < low:
            fewest += 1
        elif bin_of[i] == low and missing > 0:
            person = persons[sample.start + i * sample.stride]
            fewest += 1
            if notes[person, 1] >> _SHIFT == low:
                notes[person, 1] += _MET << _SHIFT  # not to be met again
                missing -= 1
    return fewest


@lean
def _records_from_right(persons, notes, sample, bin_of, high, missing):
    """How many records are above a bin, or in it and needed for as many people, the last records first."""
    beyond = 0
    for i in range(sample.size - 1, -1, -1):
        if bin_of[i] > high:
            beyond += 1
        elif bin_of[i] == high and missing > 0:
            person = persons[sample.start + i * sample.stride]
            beyond += 1
            if notes[person, 1] & _LAST == high:
                notes[person, 1] += _MET
                missing -= 1
    return beyond


@lean
def pooled_children(persons, marks, pooling, sample, strict, child, size):
    """Decide which children of a node become parts of their own and which are pooled.

    child, size  the child of each record of the sample, and the records of each child

    Children with fewer than `need` people are pooled. A pool that has too few itself borrows records from the
    child with most people, if that can spare them (not if strict), else takes in the one with fewest. Writes
    whether each child is a part of its own; returns the child that lends records (or -1), and how many.
    """
    n_children, need = len(size), sample.need
    apart, people = pooling.apart[:n_children], pooling.people[:n_children]
    people_of_parts(persons, marks, sample, child, size, people)
    largest, smallest = -1, -1
    for c in range(n_children):
        apart[c] = people[c] >= need
        if apart[c]:
            if largest < 0 or people[c] > people[largest]:
                largest = c
            if smallest < 0 or people[c] < people[smallest]:
                smallest = c
    pooled = _people_in_pool(persons, marks, sample, child, size, apart)
    if pooled == 0 or pooled >= need or largest < 0:
        return -1, 0
    if not strict and people[largest] - (need - pooled) >= need:
        borrowed = _records_to_borrow(persons, marks, sample, child, largest, need - pooled)
        if people[largest] - borrowed >= need:  # a record takes away one person at most
            return largest, borrowed
    apart[smallest] = False
    return -1, 0


@lean
def _people_in_pool(persons, marks, sample, child, size, apart):
    """The number of different people in children that are not apart; they are stamped."""
    now, pooled = _start_over(marks), 0
    if len(persons):
        for i in range(sample.size):
            if not apart[child[i]]:
                pooled += _is_new(marks, persons[sample.start + i * sample.stride], now)
    else:
        for c in range(len(size)):
            pooled += 0 if apart[c] else size[c]
    return pooled


@lean
def _records_to_borrow(persons, marks, sample, child, donor, missing):
    """How many records of the donor, the first ones, bring `missing` people who are not in the pool yet.

    All of them if there are not as many such people. The people of the pool are stamped, and then these, too.
    """
    if not len(persons):
        return missing
    borrowed, now = 0, marks.current[0]
    for i in range(sample.size):
        if child[i] == donor and missing > 0:
            borrowed += 1
            missing -= _is_new(marks, persons[sample.start + i * sample.stride], now)
    return borrowed


@lean
def people_of_parts(persons, marks, sample, part, size, people):
    """Count the different people in each part of the records of a sample, into `people`. O(records).

    Those are its records, whose number is `size`, where each is of another person. Up to 30 parts are bits of
    a person's note; for more, records are sorted by part first.
    """
    if not len(persons):
        for p in range(len(people)):
            people[p] = size[p]
        return
    notes = marks.notes
    people[:] = 0
    if len(people) > _IN_A_MASK:
        _people_of_many_parts(persons, marks, sample, part, people)
        return
    now = _start_over(marks)
    for i in range(sample.size):
        person = persons[sample.start + i * sample.stride]
        bit = np.int32(1) << part[i]
        if notes[person, 0] != now:
            notes[person, 0] = now
            notes[person, 1] = bit
            people[part[i]] += 1
        elif not notes[person, 1] & bit:
            notes[person, 1] |= bit
            people[part[i]] += 1


@lean
def _people_of_many_parts(persons, marks, sample, part, people):
    ends, ordered = people, marks.ordered  # first counts records, then has the end of each part
    for i in range(sample.size):
        ends[part[i]] += 1
    for p in range(1, len(people)):
        ends[p] += ends[p - 1]
    for i in range(sample.size - 1, -1, -1):
        ends[part[i]] -= 1
        ordered[ends[part[i]]] = persons[sample.start + i * sample.stride]
    for p in range(len(people)):  # now these are the begins
        now, begin = _start_over(marks), ends[p]
        end = ends[p + 1] if p + 1 < len(people) else sample.size
        people[p] = 0
        for i in range(begin, end):
            people[p] += _is_new(marks, ordered[i], now)
