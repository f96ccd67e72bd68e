"""Rare patterns of slots lose slots, until every published one is that of k people."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kohort.algorithms.histories.patterns import WITHHELD, settled_patterns

PATTERNS = st.dictionaries(
    st.frozensets(st.integers(0, 5), min_size=1), st.integers(1, 12), min_size=1, max_size=20
)


def slots(*numbers: int) -> frozenset[int]:
    return frozenset(numbers)


@given(PATTERNS, st.integers(1, 10))
def test_every_published_pattern_is_that_of_k_people_and_a_part_of_their_own(people, k):
    becomes = settled_patterns(people, k)
    published = Counter()
    for own, kept in becomes.items():
        assert kept <= own
        published[kept] += people[own]
    del published[WITHHELD]
    assert all(count >= k for count in published.values())
    assert all(becomes[own] == own for own, count in people.items() if count >= k)


def test_a_closed_pattern_is_not_published_however_many_have_it():
    many, fewer = slots(1, 2), slots(1)
    assert settled_patterns({many: 50, fewer: 20}, 10, closed={many}) == {many: fewer, fewer: fewer}


def test_a_rare_pattern_becomes_the_longest_part_that_enough_people_have():
    becomes = settled_patterns({slots(1, 2, 3, 5): 2, slots(1, 2, 3): 90, slots(1): 40}, 10)
    assert becomes[slots(1, 2, 3, 5)] == slots(1, 2, 3)


def test_what_two_rare_patterns_share_is_published_where_both_together_are_enough():
    becomes = settled_patterns({slots(1, 2, 3): 5, slots(1, 3, 4): 5}, 10)
    assert set(becomes.values()) == {slots(1, 3)}


def test_rare_patterns_in_a_chain_meet_in_the_shortest():
    becomes = settled_patterns({slots(1, 2, 3): 4, slots(1, 2): 4, slots(1): 4}, 10)
    assert set(becomes.values()) == {slots(1)}


def test_people_who_share_no_slots_with_others_are_withheld():
    becomes = settled_patterns({slots(1): 20, slots(2): 3}, 10)
    assert becomes[slots(2)] == WITHHELD
