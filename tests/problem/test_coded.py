"""The encoding of a problem: how many distinct rows there are, told without collapsing a large table."""

import numpy as np
import pytest

from kohort.problem.encoding.coded import _SAMPLED
from small_problems import problem_of


@pytest.mark.parametrize("distinct", [3, 5, 6, 40])
@pytest.mark.parametrize("copies", [1, 3, 50])
def test_it_knows_whether_there_are_more_distinct_rows_than_a_limit(distinct, copies):
    values = np.tile(np.arange(distinct), copies).tolist()
    problem = problem_of({"a": values}, {"a": None}, 1)
    assert problem.coded.has_more_rows_than(5) == (distinct > 5)


def test_a_large_table_of_different_records_is_not_collapsed():
    problem = problem_of({"a": list(range(_SAMPLED * 5 * 20))}, {"a": None}, 1)
    assert problem.coded.has_more_rows_than(5)
    assert "rows" not in vars(problem.coded)


def test_a_large_table_of_few_different_records_is_collapsed():
    problem = problem_of({"a": [1, 2] * 1000}, {"a": None}, 1)
    assert not problem.coded.has_more_rows_than(5)
    assert "rows" in vars(problem.coded)
