"""Groups of cells split into children: the compiled code on tables that can be checked by hand."""

import numpy as np
import pytest

import kohort as ko
from kohort.algorithms.alpha_k.kernels.top_down import by_child, specialize
from kohort.algorithms.alpha_k.top_down import cell_table
from kohort.problem.counted_cells import CountedCells
from small_problems import problem_of

pytestmark = pytest.mark.usefixtures("interpreted")


def test_places_are_listed_child_by_child_without_those_in_none():
    place, start = by_child(np.array([1, -1, 0, 1]), 2)
    assert place.tolist() == [2, 0, 3] and start.tolist() == [0, 1, 3]


def test_groups_are_specialized_down_to_k_records():
    problem = problem_of({"zip": ["4351", "4351", "4352", "4352", "9999"]}, {"zip": ko.mask()}, 2)
    cells = CountedCells.of(problem)
    every = np.arange(len(cells.counts), dtype=np.int32)
    whole = every, cells.counts, np.zeros(1, dtype=np.int64)
    *_, left, _, counts, sizes = specialize(cell_table(cells), problem.coded.trees, *whole, 10**9)
    assert len(left) == 0 and counts.sum() == 5
    groups = np.split(counts, np.cumsum(sizes)[:-1])
    assert sorted(int(group.sum()) for group in groups) == [2, 3]
