"""m-invariance with newcomers assigned as its authors do: to buckets of the most frequent values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kohort.algorithms.again.buckets import Bucket, Signature
from kohort.algorithms.again.joining import joined, swapped
from kohort.algorithms.again.m_invariance import (
    MInvariance,
    even_groups,
    number_of_each,
    placed,
    values_needed,
)
from kohort.algorithms.run import Run
from kohort.problem.problem import Problem
from kohort.recoding.recoding import Recoding

__all__ = ["Classic"]


@dataclass(frozen=True)
class Classic(MInvariance):
    """Xiao and Tao (2007): division, balancing, assignment; then groups of near people in every bucket."""

    def solve(self, problem: Problem, run: Run) -> Recoding:
        """Groups within the buckets, grown and improved as with prices; nobody changes buckets."""
        coded, kinds = problem.coded, self.standing.kind_of_record.astype(np.int64)
        stayed = self.stayed(coded, problem.k)
        newcomers = self.standing.newcomers
        groups, left = joined(coded, kinds, stayed.groups, stayed.vacancies, newcomers)
        signature = list(stayed.signature)
        pool: dict[int, list[int]] = {}
        for record in left.tolist():
            pool.setdefault(int(kinds[record]), []).append(record)
        m = values_needed(problem)
        for bucket in _buckets(pool, m, max(1, -(-problem.k // m))):
            made = even_groups(coded, bucket, problem.k).members
            groups = [*groups, *made]
            signature += [bucket.signature] * len(made)
        bound = np.ones(problem.n_records, dtype=bool)
        homes = number_of_each(signature)
        groups = swapped(coded, kinds, bound, groups, homes, problem.seed, run)
        return placed(problem, self.standing, groups, stayed.counterfeits, len(newcomers) - len(left))


def _buckets(pool: dict[int, list[int]], m: int, least: int) -> list[Bucket]:
    """Newcomers with the m values that most of them have, again and again; at least `least` of each value.

    As many are taken as possible, since large buckets can be cut by nearness, as long as no value of those
    who are left is so frequent that it could not be spread over groups of m values.
    """
    found: dict[Signature, dict[int, list[int]]] = {}
    while True:
        by_size = sorted(pool, key=lambda value: (-len(pool[value]), value))
        if len(by_size) < m or len(pool[by_size[m - 1]]) < least:
            return [Bucket(s, people, min(map(len, people.values()))) for s, people in found.items()]
        size = _size([len(pool[value]) for value in by_size], m, least)
        bucket = found.setdefault(tuple(sorted(by_size[:m])), {})
        for value in by_size[:m]:
            bucket.setdefault(value, []).extend(pool[value][:size])
            pool[value] = pool[value][size:]


def _size(counts: Sequence[int], m: int, least: int) -> int:
    """How many of each of the m most frequent values are taken; `counts` are falling."""
    total, following = sum(counts), counts[m] if len(counts) > m else 0
    for size in range(counts[m - 1], least, -1):
        if max(counts[0] - size, following) * m <= total - m * size:
            return size
    return least
