"""Vacancies are filled by the nearest newcomers, and swaps lower the cost, both as the definition says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.vacancies import filled, group_cost
from kohort.algorithms.again.kernels.swaps import swap_alike
from kohort.algorithms.again.kernels.vacancies import fill_vacancies
from kohort.data.dataset import Dataset
from kohort.pipeline import Request
from kohort.pipeline.prepare import prepare
from kohort.problem.roles import Roles

N = 24


def problem_of(seed):
    """A problem with a hierarchy and an order: the two kinds of costs."""
    rng = np.random.default_rng(seed)
    table = pa.table({"age": rng.integers(0, 20, N), "size": rng.integers(0, 9, N)})
    request = Request(
        roles=Roles({"age": "quasi-identifier", "size": "quasi-identifier"}),
        models=(ko.KAnonymity(2),),
        hierarchies={"age": ko.intervals(5, 10), "size": None},
    )
    return prepare(Dataset(table), request).problem


@given(st.integers(0, 10_000), st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=8))
def test_vacancies_are_filled_as_the_definition_says(seed, vacancies):
    problem = problem_of(seed)
    cells = [[0, 1], [2, 3, 4], [5]]
    vacancies = sorted(vacancies)
    newcomers = {kind: list(range(6 + kind, N, 3))[:3] for kind in range(3)}
    pool = np.concatenate([newcomers[kind] for kind in range(3)])
    leaves = problem.coded.searched_leaves()
    ranges = np.stack(
        [
            np.array([leaves[cell].min(axis=0) for cell in cells], dtype=np.int32),
            np.array([leaves[cell].max(axis=0) for cell in cells], dtype=np.int32),
        ]
    )
    asked = np.array(vacancies, dtype=np.int64).reshape(-1, 2).T.copy()
    start = np.array([0, 3, 6, 9])
    found = fill_vacancies(problem.coded.cell_costs, leaves, ranges, asked, (start, pool), 99)
    expected = filled(problem, cells, vacancies, newcomers)
    assert [None if record < 0 else record for record in found.tolist()] == expected


@given(st.integers(0, 10_000))
def test_swaps_keep_the_kinds_of_every_group_and_never_cost_more(seed):
    problem = problem_of(seed)
    kind_of = np.arange(N) % 2
    members = np.arange(N).reshape(6, 4)
    members[5, 3] = -1
    after = swap_alike(problem.coded.cell_costs, problem.coded.searched_leaves(), members, kind_of, 500, seed)
    assert sorted(after.ravel()) == sorted(members.ravel())
    for one, other in zip(members, after):
        assert sorted(kind_of[one[one >= 0]]) == sorted(kind_of[other[other >= 0]])
    assert total(problem, after) <= total(problem, members) + 1e-9


def total(problem, members):
    return sum(len(g) * group_cost(problem, g) for g in (row[row >= 0].tolist() for row in members))
