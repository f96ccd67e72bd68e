"""People with the same signature in groups in each of which all values are equally frequent."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.again.kernels.swaps import swap_alike
from kohort.algorithms.again.kernels.vacancies import fill_vacancies
from kohort.problem.costs import cost_named
from kohort.problem.encoding.coded import Coded
from kohort.problem.problem import Problem

__all__ = ["even_groups"]

_TRIALS = 1000  # swaps that are tried for each person


def even_groups(problem: Problem, kinds: np.ndarray, people: np.ndarray, least: int) -> list[np.ndarray]:
    """Groups with at least `least` people of each kind, near each other; none where there are too few.

    Seeds of one kind, spread over their order, each take the nearest people until they have enough of every
    kind; then people of the same kind change groups where that lowers the cost.

    kinds   the kind of each record of the table
    people  some of the records, as many of each kind
    """
    there = np.unique(kinds[people])
    n_each = len(people) // max(len(there), 1)
    n_groups = n_each // least
    if not n_groups:
        return []
    coded = problem.coded if problem.cost.adds_up else Coded(problem.attributes, cost_named("loss"))
    leaves = coded.searched_leaves()[people]
    kind = np.searchsorted(there, kinds[people])
    members = _grown(coded, leaves, kind, _sizes(n_each, n_groups))
    trials = _TRIALS * len(people)
    members = swap_alike(coded.cell_costs, leaves, members, kind, trials, problem.seed)
    return [people[group[group >= 0]] for group in members]


def _sizes(n_each: int, n_groups: int) -> np.ndarray:
    """How many people of each kind every group has; they differ by one at most."""
    return np.full(n_groups, n_each // n_groups) + (np.arange(n_groups) < n_each % n_groups)


def _grown(coded: Coded, leaves: np.ndarray, kind: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Groups by places: a seed of the first kind, and the nearest people of every kind."""
    n_kinds, n_groups = int(kind.max()) + 1, len(sizes)
    first = np.flatnonzero(kind == 0)
    first = first[np.lexsort(leaves[first].T)]
    seeds = first[np.arange(n_groups) * len(first) // n_groups]
    ranges = np.stack([leaves[seeds], leaves[seeds]]).astype(np.int32)
    wanted = np.repeat(sizes[:, None], n_kinds, axis=1)
    wanted[:, 0] -= 1
    cell = np.repeat(np.arange(n_groups), wanted.sum(axis=1))
    of_kind = np.repeat(np.tile(np.arange(n_kinds), n_groups), wanted.ravel())
    pool = np.setdiff1d(np.arange(len(kind)), seeds)
    pool = pool[np.argsort(kind[pool], kind="stable")]
    start = np.searchsorted(kind[pool], np.arange(n_kinds + 1)).astype(np.int64)
    vacancies = np.stack([cell, of_kind]).astype(np.int64)
    found = fill_vacancies(coded.cell_costs, leaves, ranges, vacancies, (start, pool), len(pool) + 1)
    members = np.full((n_groups, int(sizes.max()) * n_kinds), -1, dtype=np.int64)
    members[:, 0] = seeds
    place = np.arange(len(cell)) - np.searchsorted(cell, cell) + 1
    members[cell, place] = found
    return members
