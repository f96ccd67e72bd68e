"""k-ANON: a greedy cover by all sets of k to 2k-1 records (Gionis and Tassa, 2009): for tiny tables only."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.closed_records.greedy_cover import cover_guarantee
from kohort.algorithms.closed_records.k_anon_cf import KAnonCF
from kohort.algorithms.kernels.costs import part_cost
from kohort.algorithms.out_of_time import SHARE_BEFORE, mondrian_instead
from kohort.algorithms.run import Run
from kohort.errors import UnsupportedError
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

MOST_SETS = 20_000


@dataclass(frozen=True)
class KAnon(Algorithm):
    """The basic O(ln k) algorithm (Kenig and Tassa, Algorithms 1 to 3), literally.

    Covers the table greedily by sets out of all sets of k to 2k-1 records, each time the one of least cost
    per newly covered record, and makes the cover disjoint. O(n^(2k-1)) sets: some dozens of records with
    k = 2 or 3 are the limit. It shows what `k-anon-cf` does without examining every set.
    """

    name: ClassVar[str] = "k-anon"
    summary: ClassVar[str] = (
        "covers the table with sets of k to 2k-1 records, out of all such sets; for tiny tables only"
    )
    paper: ClassVar[str] = "Gionis, Tassa: k-anonymization with minimal loss of information, TKDE 21 (2009)"
    promise: ClassVar[str] = KAnonCF.promise
    theorem: ClassVar[str] = KAnonCF.theorem
    recoding: ClassVar[type[Groups]] = Groups

    def refuse(self, problem: Problem) -> None:
        self.refuse_cost(problem.cost)
        _ = problem.coded.closure_tables  # raises for a cost that is not known for these columns
        sets = sum(comb(problem.n_records, size) for size in _sizes(problem))
        if sets > MOST_SETS:
            raise UnsupportedError(
                f"k-anon looks at every set of {problem.k} to {2 * problem.k - 1} records, here "
                f"{float(sets):.2g} sets: it is for tiny tables. k-anon-cf gives the same guarantee."
            )

    def solve(self, problem: Problem, run: Run) -> Groups:
        sets = [
            frozenset(s) for size in _sizes(problem) for s in combinations(range(problem.n_records), size)
        ]
        cover = greedy_cover(sets, _costs(problem, sets), problem.n_records, run.share_of_time(SHARE_BEFORE))
        if cover is None:
            return mondrian_instead(problem, run, "all records were covered")
        group_of_record = np.empty(problem.n_records, dtype=np.int32)
        for number, cluster in enumerate(disjoint(cover, problem.k)):
            group_of_record[list(cluster)] = number
        return Groups(group_of_record, guarantee=cover_guarantee(problem))


def greedy_cover(
    sets: list[frozenset[int]], costs: list[float], n_records: int, run: Run
) -> list[set[int]] | None:
    """A greedy cover by GEN-COVER (Algorithm 1); ties go to the first set. None when the time is up."""
    uncovered = set(range(n_records))
    cover = []
    while uncovered:
        if run.out_of_time:
            return None
        best = min(
            (s for s in range(len(sets)) if sets[s] & uncovered),
            key=lambda s: (costs[s] / len(sets[s] & uncovered), s),
        )
        cover.append(set(sets[best]))
        uncovered -= sets[best]
    return cover


def disjoint(cover: list[set[int]], k: int) -> list[set[int]]:
    """A clustering from a cover (Algorithm 2): a shared record leaves a set of more than k, or they unite."""
    clusters: list[set[int]] = []
    for chosen in cover:
        current = set(chosen)
        for other in clusters:
            for record in sorted(current & other):
                if len(other) > k:
                    other.discard(record)
                elif len(current) > k:
                    current.discard(record)
                else:  # both have exactly k
                    current |= other
                    other.clear()
                    break
        clusters = [other for other in clusters if other] + [current]
    return clusters


def _costs(problem: Problem, sets: list[frozenset[int]]) -> list[float]:
    """The cost of one record published as the closure of each set."""
    tables = problem.coded.closure_tables
    leaves = problem.leaves
    no_words = np.zeros(0, dtype=np.uint64)
    costs = []
    for records in sets:
        rows = leaves[list(records)]
        costs.append(float(part_cost(tables, rows.min(axis=0), rows.max(axis=0), no_words)))
    return costs


def _sizes(problem: Problem) -> range:
    return range(problem.k, min(2 * problem.k - 1, problem.n_records) + 1)
