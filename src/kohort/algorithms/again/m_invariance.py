"""m-invariance: the sensitive values around everybody are the same in all releases (Xiao and Tao, 2007).

A person's **signature** is the set of sensitive values in the group of their first release. Later they are
only ever in groups with the same signature, in each of which all values are equally frequent. People are put
together anew in every release, so that groups become finer as the table grows. Where a value is missing among
those who stayed, newcomers who have it join; nobody is invented, so that some people may have to wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kohort.algorithms.again.even_groups import even_groups
from kohort.algorithms.again.history_keeping import refuse_withholding
from kohort.algorithms.again.standing import Standing
from kohort.algorithms.run import Run
from kohort.algorithms.solver import Solver
from kohort.errors import InfeasibleError
from kohort.problem.models import AlphaDeassociation, LDiversity
from kohort.problem.problem import Problem
from kohort.recoding.placed_groups import PlacedGroups
from kohort.recoding.recoding import Recoding

__all__ = ["MInvariance"]

Signature = tuple[int, ...]
_NOTE = "The groups were made by m-invariance: the algorithm of the spec was not used."


@dataclass(frozen=True)
class MInvariance:
    """An algorithm of its own; the one that the spec names is not used.

    inner     refuses what cannot be solved
    standing  what earlier releases say of the records, with the signature of everybody they published
    """

    inner: Solver
    standing: Standing

    def refuse(self, problem: Problem) -> None:
        """Raise UnsupportedError for a problem that the inner algorithm cannot solve."""
        self.inner.refuse(problem)

    def solve(self, problem: Problem, run: Run) -> Recoding:
        """Groups in which every value of a signature is equally frequent, people near each other together."""
        m = values_needed(problem)
        least = max(1, -(-problem.k // m))  # of each value in a group
        buckets = _balanced(self.standing)
        joined = [record for people in buckets.values() for record in people]
        n_joined = int((self.standing.place_of_record[joined] < 0).sum())
        pool = _pool(self.standing, buckets)
        for signature, people in _new_buckets(pool, m, least):
            buckets.setdefault(signature, []).extend(people)
        groups: list[np.ndarray] = []
        for signature in sorted(buckets):
            members = np.array(buckets[signature], dtype=np.int64)
            groups += even_groups(problem, self.standing.kind_of_record, members, least)
        return _placed(problem, self.standing, _valid(problem, groups), n_joined)


def values_needed(problem: Problem) -> int:
    """How many different values a group needs so that equal shares keep every model; at least 2."""
    needed = [2]
    for model in problem.models:
        if isinstance(model, LDiversity):
            needed.append(-(-model.exact_l.numerator // model.exact_l.denominator))
        elif isinstance(model, AlphaDeassociation):
            share = Fraction(model.alpha)
            needed.append(-(-share.denominator // share.numerator))
    return max(needed)


def _balanced(standing: Standing) -> dict[Signature, list[int]]:
    """Those who stayed, by their signature, with newcomers for the values that are missing.

    Of every value there are as many as newcomers allow; of those who are too many, the last wait.
    """
    newcomers: dict[int, list[int]] = {}
    for record in standing.newcomers[::-1].tolist():
        newcomers.setdefault(int(standing.kind_of_record[record]), []).append(record)
    stayed: dict[Signature, dict[int, list[int]]] = {}
    for record in np.flatnonzero(standing.signature_of_record >= 0).tolist():
        signature = standing.signatures[standing.signature_of_record[record]]
        value = int(standing.kind_of_record[record])
        if value in signature:  # else it has changed, and no group fits
            stayed.setdefault(signature, {}).setdefault(value, []).append(record)
    found: dict[Signature, list[int]] = {}
    for signature, by_value in sorted(stayed.items(), key=lambda item: -sum(map(len, item[1].values()))):
        size = min(max(map(len, by_value.values())), *_reach(signature, by_value, newcomers))
        found[signature] = []
        for value in signature:
            there = by_value.get(value, [])[:size]
            missing = size - len(there)
            found[signature] += there + [newcomers[value].pop() for _ in range(missing)]
    return found


def _reach(
    signature: Signature, by_value: dict[int, list[int]], newcomers: dict[int, list[int]]
) -> list[int]:
    """How many people of each value there can be: those who stayed, and all newcomers who have it."""
    return [len(by_value.get(value, ())) + len(newcomers.get(value, ())) for value in signature]


def _pool(standing: Standing, buckets: dict[Signature, list[int]]) -> dict[int, list[int]]:
    """The newcomers who are in no bucket yet, by value."""
    taken = {record for people in buckets.values() for record in people}
    pool: dict[int, list[int]] = {}
    for record in standing.newcomers.tolist():
        if record not in taken:
            pool.setdefault(int(standing.kind_of_record[record]), []).append(record)
    return pool


def _new_buckets(pool: dict[int, list[int]], m: int, least: int) -> list[tuple[Signature, list[int]]]:
    """Newcomers with the m values that most of them have, again and again; at least `least` of each value.

    As many are taken as possible, since large buckets can be cut by nearness, as long as no value of those
    who are left is so frequent that it could not be spread over groups of m values.
    """
    found: list[tuple[Signature, list[int]]] = []
    while True:
        by_size = sorted(pool, key=lambda value: (-len(pool[value]), value))
        if len(by_size) < m or len(pool[by_size[m - 1]]) < least:
            return found
        chosen = by_size[:m]
        size = _bucket_size([len(pool[value]) for value in by_size], m, least)
        people = []
        for value in chosen:
            people += pool[value][:size]
            pool[value] = pool[value][size:]
        found.append((tuple(sorted(chosen)), people))


def _bucket_size(counts: Sequence[int], m: int, least: int) -> int:
    """How many of each of the m most frequent values are taken; `counts` are falling."""
    total, following = sum(counts), counts[m] if len(counts) > m else 0
    for size in range(counts[m - 1], least, -1):
        if max(counts[0] - size, following) * m <= total - m * size:
            return size
    return least


def _valid(problem: Problem, groups: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The groups that keep every model."""
    if not groups:
        return []
    number = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    holds = problem.satisfied(number, np.concatenate(groups), len(groups))
    return [group for group, valid in zip(groups, holds) if valid]


def _placed(
    problem: Problem, standing: Standing, groups: Sequence[np.ndarray], n_joined: int
) -> PlacedGroups:
    group_of_record = np.full(problem.n_records, -1, dtype=np.int32)
    for number, group in enumerate(groups):
        group_of_record[group] = number
    withheld = group_of_record < 0
    refuse_withholding(problem, int(withheld.sum()))
    if not groups:
        raise InfeasibleError("There are too few different sensitive values for any group. Ask for less.")
    newcomers = standing.place_of_record < 0
    told = {
        "passed_on": n_joined,
        "resting": int((withheld & ~newcomers).sum()),
        "waiting": int((withheld & newcomers).sum()),
    }
    place = group_of_record.astype(np.int64)
    return PlacedGroups(group_of_record, notes=(_NOTE,), place_of_record=place, told=told)
