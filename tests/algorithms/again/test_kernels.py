"""Vacancies are filled, groups grown and people swapped as the definitions say."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.growing import grown, most_groups
from by_definition.vacancies import filled, group_cost
from kohort.algorithms.again.kernels.growing import grow_columns, part_people
from kohort.algorithms.again.kernels.swaps import swap_alike
from kohort.algorithms.again.kernels.vacancies import fill_vacancies
from kohort.job.prepare import prepare
from kohort.statement import Column, Statement
from kohort.tables.memory import MemoryTable

N = 24


def problem_of(seed):
    """A problem with a hierarchy and an order: the two kinds of costs."""
    rng = np.random.default_rng(seed)
    table = pa.table({"age": rng.integers(0, 20, N), "size": rng.integers(0, 9, N)})
    columns = {"age": Column("quasi-identifier", ko.intervals(5, 10)), "size": Column("quasi-identifier")}
    request = Statement.of(columns=columns, promises=[ko.KAnonymity(2)])
    return prepare(MemoryTable(table), request).problem


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
    bound = np.random.default_rng(seed).random(N) < 0.5
    home = np.arange(6) % 2
    leaves = problem.coded.searched_leaves()
    after = swap_alike(problem.coded.cell_costs, leaves, members, kind_of, bound, home, 500, seed)
    assert sorted(after.ravel()) == sorted(members.ravel())
    for one, other in zip(members, after):
        assert sorted(kind_of[one[one >= 0]]) == sorted(kind_of[other[other >= 0]])
    assert total(problem, after) <= total(problem, members) + 1e-9
    home_before, home_after = homes_of(members, home), homes_of(after, home)
    assert all(home_before[r] == home_after[r] for r in home_before if bound[r])


def homes_of(members, home):
    """The home of the group of each record."""
    return {r: int(home[place]) for place, group in enumerate(members) for r in group.tolist() if r >= 0}


SHAPES = st.sampled_from([(2, 1), (3, 1), (2, 2), (3, 2), (2, 3)])
FAMILIES = st.sampled_from([[], [{0, 1}, {1, 2}, {2, 3}], [{0, 1, 2}, {1, 2, 3}]])


@given(st.integers(0, 10_000), SHAPES, FAMILIES)
def test_groups_are_grown_as_the_definition_says(seed, shape, family):
    problem = problem_of(seed)
    rng = np.random.default_rng(seed)
    value_of, price = rng.integers(0, 4, N), rng.random(N)
    value_of[:4] = range(4)
    family = [signature for signature in family if len(signature) == shape[0]]
    allowed = np.array([[value in s for value in range(4)] for s in family], dtype=bool).reshape(-1, 4)
    seeds = np.arange(6)
    leaves = problem.coded.searched_leaves()
    found = grow_columns(problem.coded.cell_costs, leaves, value_of, price, seeds, shape, allowed)
    for first, group in zip(seeds.tolist(), found.tolist()):
        expected = grown(problem, value_of.tolist(), price, first, shape, family)
        assert group == (expected or [-1] * len(group))


@given(st.integers(0, 10_000), SHAPES, st.integers(2, 5))
def test_people_are_parted_into_as_many_groups_as_there_can_be(seed, shape, n_values):
    problem = problem_of(seed)
    rng = np.random.default_rng(seed)
    value_of, price = np.minimum(rng.geometric(0.4, N), n_values) - 1, rng.random(N)
    value_of[:n_values] = range(n_values)
    m, q = shape
    seeds = np.full((N, m * q), -1)
    seeds[:, 0] = rng.permutation(N)
    leaves, costs = problem.coded.searched_leaves(), problem.coded.cell_costs
    free = np.empty((0, n_values), dtype=bool)
    grown_ones = grow_columns(costs, leaves, value_of, price, np.arange(N), shape, free)
    columns = np.concatenate([grown_ones[grown_ones[:, -1] >= 0], seeds])
    found = part_people(costs, leaves, value_of, price, columns, shape, free)
    assert len(set(found.ravel().tolist())) == found.size
    for group in found:
        assert sorted(np.unique(value_of[group], return_counts=True)[1]) == [q] * m
    assert len(found) == most_groups((np.bincount(value_of) // q).tolist(), m)


def total(problem, members):
    return sum(len(g) * group_cost(problem, g) for g in (row[row >= 0].tolist() for row in members))
