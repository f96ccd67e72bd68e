"""The loops that count people beside cuts, against sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_definition import people as slow
from kohort.algorithms.mondrian.kernels.cut_table import MAX_BINS, Edges, Marks, Pooling, Sample
from kohort.algorithms.mondrian.kernels.people import (
    cuts_for_people,
    people_beside,
    people_of_parts,
    pooled_children,
)

pytestmark = pytest.mark.usefixtures("interpreted")


def sample_of(persons, need, before=0):
    """A sample whose records begin after some others, the persons of all, and marks for them."""
    whose = np.array([0] * before + list(persons), dtype=np.int32)
    notes, current = np.zeros((8, 2), dtype=np.int32), np.zeros(1, dtype=np.int32)
    marks = Marks(notes, current, np.empty(len(whose), dtype=np.int32))
    return Sample(before, 1, len(persons), need), whose, marks


def edges():
    numbers = [np.empty(MAX_BINS, dtype=np.int64) for _ in range(4)]
    return Edges(numbers[0], numbers[1], np.empty(MAX_BINS + 1), numbers[2], numbers[3])


@st.composite
def parted(draw, most_parts=5):
    n = draw(st.integers(1, 25))
    persons = draw(st.lists(st.integers(0, 7), min_size=n, max_size=n))
    n_parts = draw(st.integers(1, most_parts))
    parts = draw(st.lists(st.integers(0, n_parts - 1), min_size=n, max_size=n))
    return persons, parts, n_parts


@given(case=parted(), before=st.integers(0, 2), need=st.integers(1, 5))
def test_people_beside_every_bin(case, before, need):
    persons, bins, n_bins = case
    (sample, whose, marks), beside = sample_of(persons, need, before), edges()
    for _ in range(2):  # the marks of an earlier call do not matter
        people_beside(whose, marks, beside, sample, np.array(bins, dtype=np.int32), n_bins)
        found = beside.left[:n_bins].tolist(), beside.right[:n_bins].tolist()
        assert found == slow.people_beside(persons, bins, n_bins)


@given(case=parted(), need=st.integers(1, 5))
def test_cuts_inside_a_bin_leave_enough_people(case, need):
    persons, bins, n_bins = case
    (sample, whose, marks), beside = sample_of(persons, need), edges()
    bin_of = np.array(bins, dtype=np.int32)
    people_beside(whose, marks, beside, sample, bin_of, n_bins)
    found = cuts_for_people(whose, marks, beside, sample, bin_of, n_bins)
    if len(set(persons)) >= need:
        assert found == slow.cuts_for_people(persons, bins, n_bins, need)


@given(case=parted(most_parts=40))
def test_people_of_parts(case):
    persons, parts, n_parts = case
    expected = [len({p for p, part in zip(persons, parts) if part == number}) for number in range(n_parts)]
    (sample, whose, marks), people = sample_of(persons, 1), np.empty(n_parts, dtype=np.int64)
    size, part_of = np.bincount(parts, minlength=n_parts), np.array(parts, dtype=np.int32)
    people_of_parts(whose, marks, sample, part_of, size, people)
    assert people.tolist() == expected
    people_of_parts(whose[:0], marks, sample, part_of, size, people)  # each record is of another person
    assert people.tolist() == size.tolist()


@given(case=parted(), need=st.integers(1, 4), strict=st.booleans())
def test_pooled_children_have_enough_people(case, need, strict):
    """A child that stays apart, less what it lends, has `need` people, and so has the pool, if possible."""
    persons, child, n_children = case
    size = np.bincount(child, minlength=n_children)
    sample, whose, marks = sample_of(persons, need)
    apart = np.empty(n_children, dtype=bool)
    pooling = Pooling(apart, np.empty(n_children, dtype=np.int32), np.empty(n_children, dtype=np.int64))
    child_of = np.array(child, dtype=np.int32)
    donor, borrowed = pooled_children(whose, marks, pooling, sample, strict, child_of, size)
    pool, lent = set(), 0
    left = {c: set() for c in range(n_children)}
    for person, c in zip(persons, child):
        if not apart[c] or (c == donor and lent < borrowed):
            lent += int(c == donor)
            pool.add(person)
        else:
            left[c].add(person)
    assert strict is False or donor == -1
    for c in range(n_children):
        assert not apart[c] or len(left[c]) >= need
    if len(set(persons)) >= need and apart.any():
        assert not pool or len(pool) >= need or donor >= 0


def test_small_children_are_pooled_with_records_that_others_can_spare():
    apart, child = np.empty(3, dtype=bool), np.repeat(np.arange(3, dtype=np.int32), [9, 1, 4])
    pooling = Pooling(apart, np.empty(3, dtype=np.int32), np.empty(3, dtype=np.int64))
    sample, _, marks = sample_of(child, 3)
    nobody, size = np.zeros(0, dtype=np.int32), np.array([9, 1, 4])
    assert pooled_children(nobody, marks, pooling, sample, False, child, size) == (0, 2)
    assert apart.tolist() == [True, False, True]
    assert pooled_children(nobody, marks, pooling, sample, True, child, size) == (-1, 0)
    assert apart.tolist() == [True, False, False]  # whole children, the smallest first
