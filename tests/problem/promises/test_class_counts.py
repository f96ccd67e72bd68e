"""Counting values by class."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_definition.class_tables import class_tables, counts_of
from kohort.errors import InternalError
from kohort.problem.promises import ClassCounts
from kohort.problem.promises import counts as class_counts


def cells(counts):
    return list(zip(counts.class_of.tolist(), counts.value_of.tolist(), counts.count.tolist()))


def as_records(classes):
    return [(i, value) for i, row in enumerate(classes) for value, n in enumerate(row) for _ in range(n)]


@given(class_tables, st.randoms(use_true_random=False), st.sampled_from([0, 4]))
def test_records_in_any_order_give_the_cells(classes, random, dense):
    records = as_records(classes)
    random.shuffle(records)
    class_of, value_of = np.array(records, dtype=np.int32).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_counts, "DENSE_CELLS_PER_RECORD", dense)
        counts = ClassCounts.from_records(class_of, value_of, len(classes), len(classes[0]))
    expected = [(i, v, n) for i, row in enumerate(classes) for v, n in enumerate(row) if n]
    assert cells(counts) == expected
    assert counts.sizes.tolist() == [sum(row) for row in classes]
    assert {array.dtype for array in (counts.sizes, counts.class_of, counts.value_of, counts.count)} == {
        np.dtype(np.int64)
    }


@given(class_tables, st.randoms(use_true_random=False))
def test_cells_may_be_split_zero_and_in_any_order(classes, random):
    pieces = [
        (i, v, n) for i, row in enumerate(classes) for v, m in enumerate(row) for n in (m // 2, m - m // 2)
    ]
    random.shuffle(pieces)
    counts = ClassCounts.from_cells(*np.array(pieces).T, len(classes), len(classes[0]))
    assert cells(counts) == cells(counts_of(classes))
    assert counts.sizes.tolist() == [sum(row) for row in classes]


@given(class_tables)
def test_summaries(classes):
    counts = counts_of(classes)
    assert counts.n_classes == len(classes)
    assert counts.largest.tolist() == [max(row) for row in classes]
    assert counts.distinct.tolist() == [sum(n > 0 for n in row) for row in classes]
    assert counts.overall().tolist() == np.sum(classes, axis=0).tolist()
    assert [cells(counts)[start][0] for start in counts.starts] == list(range(len(classes)))


@given(class_tables, st.integers(1, 6))
def test_pieces_are_the_classes_in_order(classes, size):
    pieces = list(counts_of(classes).pieces(size))
    rows = [[0] * len(classes[0]) for _ in classes]
    first = 0
    for piece in pieces:
        assert len(piece.count) <= size or piece.n_classes == 1
        for i, value, n in cells(piece):
            rows[first + i][value] = n
        assert piece.sizes.tolist() == [sum(row) for row in classes[first : first + piece.n_classes]]
        first += piece.n_classes
    assert rows == [list(row) for row in classes]


def test_recoded_values_are_counted_together():
    counts = counts_of([[1, 2, 3], [0, 0, 4]]).recoded(np.array([1, 0, 1]), 2)
    assert cells(counts) == [(0, 0, 2), (0, 1, 4), (1, 1, 4)]


def test_a_table_without_records():
    counts = ClassCounts.from_records([], [], 0, 0)
    assert (counts.n_classes, counts.largest.tolist(), counts.overall().tolist()) == (0, [], [])
    assert list(counts.pieces(10)) == []


def test_sizes_alone():
    counts = ClassCounts.of_sizes([3, 1])
    assert (counts.n_classes, counts.distinct.tolist()) == (2, [0, 0])


@pytest.mark.parametrize(
    ("class_of", "value_of", "count", "message"),
    [
        ([0, 2], [0, 0], [1, 1], "no records"),
        ([0, 1, 2], [0, 0, 0], [1, 0, 1], "no records"),
        ([0, 1, 2], [0, -1, 0], [1, 1, 1], "outside its range"),
        ([0, 1, 2], [0, 5, 0], [1, 1, 1], "outside its range"),
        ([0, 1, 3], [0, 1, 0], [1, 1, 1], "outside its range"),
        ([0, 1, 2], [0, 1, 0], [1, -1, 1], "negative"),
    ],
)
def test_wrong_codes_are_our_bug(class_of, value_of, count, message):
    with pytest.raises(InternalError, match=message):
        ClassCounts.from_cells(class_of, value_of, count, n_classes=3, n_values=2)
