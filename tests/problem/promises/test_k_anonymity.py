"""k-anonymity against its definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_definition.class_tables import class_tables, counts_of
from by_definition.models import k_anonymous
from kohort.errors import InputError
from kohort.problem.promises import ClassCounts, KAnonymity


@given(class_tables, st.integers(1, 12))
def test_definition(classes, k):
    counts = counts_of(classes)
    assert KAnonymity(k).holds(counts).tolist() == [k_anonymous(cells, k) for cells in classes]


def test_sizes_suffice():
    assert KAnonymity(2).holds(ClassCounts.of_sizes([1, 2])).tolist() == [False, True]


def test_words():
    assert KAnonymity(10).describe() == "every class has at least 10 records"
    assert KAnonymity(1).describe() == "every class has at least 1 record"
    assert not KAnonymity(10).attribute


def test_refusal():
    assert KAnonymity(5).refusal(ClassCounts.of_sizes([5])) is None
    assert (
        KAnonymity(6).refusal(ClassCounts.of_sizes([5]))
        == "k = 6 is impossible: the table has 5 records, so k can be at most 5"
    )


@pytest.mark.parametrize("k", [0, -1, 2.5, "3", True, None])
def test_wrong_k(k):
    with pytest.raises(InputError, match=r"The 'k' parameter of KAnonymity must be an integer >= 1\. Got"):
        KAnonymity(k)
