"""The loops that count people beside cuts, against sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from by_definition import people as slow
from kohort.algorithms.mondrian.kernels.cut_parts import people_in_parts
from kohort.algorithms.mondrian.kernels.group_summaries import Sample
from kohort.algorithms.mondrian.kernels.people import (
    cuts_for_people,
    new_marks,
    people_beside,
    people_of_parts,
    pooled_children,
)

NO_ROWS = np.zeros((0, 1), dtype=np.int32)


def sample_of(persons, need, strict=False, before=0):
    """A sample whose rows begin after some others."""
    whose = np.array([0] * before + list(persons), dtype=np.int32)
    return Sample(NO_ROWS, before, 1, len(persons), need, strict, whose, new_marks(8), np.zeros(0))


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
    sample = sample_of(persons, need, before=before)
    for _ in range(2):  # the marks of an earlier call do not matter
        left, right = people_beside(sample, np.array(bins), n_bins)
        expected = slow.people_beside(persons, bins, n_bins)
        assert (left.tolist(), right.tolist()) == expected


@given(case=parted(), need=st.integers(1, 5))
def test_cuts_inside_a_bin_leave_enough_people(case, need):
    persons, bins, n_bins = case
    sample = sample_of(persons, need)
    left, right = people_beside(sample, np.array(bins), n_bins)
    found = cuts_for_people(sample, np.array(bins), left, right)
    if len(set(persons)) >= need:
        assert found == slow.cuts_for_people(persons, bins, n_bins, need)


@given(case=parted(most_parts=40))
def test_people_of_parts(case):
    persons, parts, n_parts = case
    expected = [len({p for p, part in zip(persons, parts) if part == number}) for number in range(n_parts)]
    assert people_of_parts(sample_of(persons, 1), np.array(parts), n_parts).tolist() == expected


@given(cases=st.lists(parted(), min_size=1, max_size=3))
def test_people_in_the_parts_of_several_groups(cases):
    persons = np.array([person for case in cases for person in case[0]], dtype=np.int32)
    parts = np.array([part for case in cases for part in case[1]], dtype=np.int32)
    ends = np.cumsum([len(case[0]) for case in cases])
    starts = ends - [len(case[0]) for case in cases]
    n_parts = np.array([case[2] for case in cases])
    found = people_in_parts(NO_ROWS, persons, starts, ends, parts, n_parts).tolist()
    expected = [
        len({p for p, part in zip(whose, part_of) if part == number})
        for whose, part_of, n in cases
        for number in range(n)
    ]
    assert found == expected


@given(case=parted(), need=st.integers(1, 4), strict=st.booleans())
def test_pooled_children_have_enough_people(case, need, strict):
    """A child that stays apart, less what it lends, has `need` people, and so has the pool, if possible."""
    persons, child, n_children = case
    size = np.bincount(child, minlength=n_children)
    apart, donor, borrowed = pooled_children(sample_of(persons, need, strict), np.array(child), size)
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
