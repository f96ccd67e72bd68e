"""Newcomers who join groups, and people who change groups: what values a group has stays the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kohort.algorithms.again.kernels.swaps import swap_alike
from kohort.algorithms.again.kernels.vacancies import fill_vacancies
from kohort.algorithms.kernels.costs import costs_by_group
from kohort.algorithms.run import Run
from kohort.problem.encoding.coded import Coded

Groups = list[np.ndarray]
_COMPARED = 4096  # newcomers that are compared for one vacancy
_TRIALS = 400  # swaps that are tried for each person


def joined(
    coded: Coded,
    kinds: np.ndarray,
    groups: Groups,
    vacancies: Sequence[tuple[int, int]],
    newcomers: np.ndarray,
) -> tuple[Groups, np.ndarray]:
    """The groups with the nearest newcomers in their vacancies, and the newcomers who are left.

    vacancies  group and value of each; there are newcomers for all of them
    """
    if not vacancies:
        return groups, newcomers
    leaves = coded.searched_leaves()
    pool = newcomers[np.argsort(kinds[newcomers], kind="stable")].astype(np.int64)
    start = np.searchsorted(kinds[pool], np.arange(int(kinds.max()) + 2)).astype(np.int64)
    ranges = np.stack(
        [
            np.array([leaves[group].min(axis=0) for group in groups], dtype=np.int32),
            np.array([leaves[group].max(axis=0) for group in groups], dtype=np.int32),
        ]
    )
    asked = np.array(sorted(vacancies), dtype=np.int64).T.copy()
    found = fill_vacancies(coded.cell_costs, leaves, ranges, asked, (start, pool), _COMPARED)
    extended = list(groups)
    affected, first = np.unique(asked[0], return_index=True)
    for group, entering in zip(affected.tolist(), np.split(found, first[1:])):
        extended[group] = np.append(groups[group], entering)
    return extended, np.setdiff1d(newcomers, found)


def enlarged(coded: Coded, kinds: np.ndarray, groups: Groups, left: np.ndarray) -> Groups:
    """The groups with those of the people left who can join: one of each value of a group, where that costs
    least, again and again."""
    found = list(groups)
    values = [frozenset(kinds[group].tolist()) for group in groups]
    waiting: dict[int, list[int]] = {}
    for person in left.tolist():
        waiting.setdefault(int(kinds[person]), []).append(person)
    while True:
        fitting = [place for place, needed in enumerate(values) if needed <= waiting.keys()]
        if not fitting:
            return found
        larger = [
            np.append(found[place], [waiting[v][0] for v in sorted(values[place])]) for place in fitting
        ]
        before = _costs(coded, [found[place] for place in fitting])
        best = int(np.argmin(_costs(coded, larger) - before))
        found[fitting[best]] = larger[best]
        for value in values[fitting[best]]:
            waiting[value].pop(0)
            if not waiting[value]:
                del waiting[value]


def cost_of(coded: Coded, groups: Groups) -> float:
    """The cost of all records of some groups."""
    return float(_costs(coded, groups).sum()) if groups else 0.0


def _costs(coded: Coded, groups: Groups) -> np.ndarray:
    """The cost of all records of each group."""
    sizes = np.array([len(group) for group in groups])
    start = np.concatenate([[0], np.cumsum(sizes)])
    order = np.concatenate(groups)
    return costs_by_group(coded.tables, coded.searched_leaves(), order, start) * sizes


def swapped(
    coded: Coded, kinds: np.ndarray, bound: np.ndarray, groups: Groups, homes: np.ndarray, seed: int, run: Run
) -> Groups:
    """The groups after swaps of people of the same kind, where that lowers the cost.

    kinds  the kind of each record; -1: it stays where it is
    bound  whether each record's person stays in groups of the same home
    homes  a number for the home of each group
    """
    if len(groups) < 2 or run.out_of_time:
        return groups
    members = np.full((len(groups), max(map(len, groups))), -1, dtype=np.int64)
    for place, group in enumerate(groups):
        members[place, : len(group)] = group
    there = members[members >= 0]
    trials = _TRIALS * int((kinds[there] >= 0).sum())
    leaves = coded.searched_leaves()
    found = swap_alike(coded.cell_costs, leaves, members, kinds, bound, homes, trials, seed)
    return [group[group >= 0] for group in found]
