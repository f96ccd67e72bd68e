"""People with the same signature in groups in each of which all values are equally frequent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kohort.algorithms.again.buckets import Bucket
from kohort.algorithms.again.kernels.vacancies import fill_vacancies
from kohort.problem.encoding.coded import Coded

__all__ = ["EvenGroups", "even_groups"]


@dataclass(frozen=True, eq=False)
class EvenGroups:
    """Groups of people who stayed, and what is missing in them.

    members       the records of each group
    vacancies     group and value of each place that a newcomer takes
    counterfeits  group and value of each counterfeit
    """

    members: list[np.ndarray]
    vacancies: list[tuple[int, int]]
    counterfeits: list[tuple[int, int]]


def even_groups(coded: Coded, bucket: Bucket, k: int) -> EvenGroups:
    """The groups of a bucket, as many as there can be of at least k people; none where they are too few.

    Seeds of the most frequent value, spread over their order, each take the nearest people who stayed.
    """
    width = len(bucket.signature)
    real = bucket.size * width - bucket.counterfeits.total()
    for n_groups in range(min(bucket.size // -(-k // width), real // k), 0, -1):
        plan = _plan(bucket, n_groups, k)
        if plan is not None:
            return _grown(coded, bucket, plan)
    return EvenGroups([], [], [])


class _Plan(NamedTuple):
    """Per group and value of the signature: people who stayed, newcomers who join, and counterfeits."""

    stayed: np.ndarray
    joining: np.ndarray
    false: np.ndarray


def _plan(bucket: Bucket, n_groups: int, k: int) -> _Plan | None:
    """How many of whom each group gets; None if a group had fewer than k people.

    Counterfeits are in as few groups as possible, since the others can be put together anew. Newcomers join
    the groups that have most people who stayed.
    """
    sizes = np.full(n_groups, bucket.size // n_groups) + (np.arange(n_groups) < bucket.size % n_groups)
    people = np.repeat(sizes[:, None], len(bucket.signature), axis=1)
    false = _taken(people, [bucket.counterfeits[value] for value in bucket.signature], k, fewest_first=True)
    if false is None:
        return None
    stayed = people - false
    joining = _taken(stayed, [bucket.missing(value) for value in bucket.signature], 0, fewest_first=False)
    assert joining is not None
    return _Plan(stayed - joining, joining, false)


def _taken(people: np.ndarray, numbers: list[int], least: int, *, fewest_first: bool) -> np.ndarray | None:
    """From which groups so many people of each value are taken, each of which keeps the `least` people.

    fewest_first  whether the group with the fewest people that can spare one comes first, or that with most
    """
    taken = np.zeros_like(people)
    for place, number in enumerate(numbers):
        for _ in range(number):
            left = (people - taken).sum(axis=1)
            able = np.flatnonzero((people[:, place] > taken[:, place]) & (left > least))
            if not len(able):
                return None
            order = left[able] if fewest_first else -left[able]
            taken[able[order.argmin()], place] += 1
    return taken


def _grown(coded: Coded, bucket: Bucket, plan: _Plan) -> EvenGroups:
    """Seeds of the value that most of the people have, and the nearest people who stayed, as planned."""
    values, leaves, stayed = bucket.signature, coded.searched_leaves(), plan.stayed
    first = int(np.argmax(stayed.min(axis=0)))
    seeds = np.array(bucket.shown(values[first]), dtype=np.int64)
    seeds = seeds[np.lexsort(leaves[seeds].T)]
    seeds = seeds[np.arange(len(stayed)) * len(seeds) // len(stayed)]
    wanted = stayed.copy()
    wanted[:, first] -= 1
    cell = np.repeat(np.arange(len(stayed)), wanted.sum(axis=1))
    kind = np.repeat(np.tile(np.arange(len(values)), len(stayed)), wanted.ravel())
    people = [np.setdiff1d(bucket.shown(value), seeds) for value in values]
    start = np.concatenate([[0], np.cumsum([len(part) for part in people])]).astype(np.int64)
    ranges = np.stack([leaves[seeds], leaves[seeds]]).astype(np.int32)
    pool = (start, np.concatenate(people).astype(np.int64))
    found = fill_vacancies(coded.cell_costs, leaves, ranges, np.stack([cell, kind]), pool, len(pool[1]) + 1)
    parts = np.split(found, np.cumsum(wanted.sum(axis=1))[:-1])
    members = [np.append(first_one, others) for first_one, others in zip(seeds, parts)]
    return EvenGroups(members, _listed(plan.joining, values), _listed(plan.false, values))


def _listed(counts: np.ndarray, values: tuple[int, ...]) -> list[tuple[int, int]]:
    """Group and value of every one that is counted."""
    pairs = Counter({(g, values[v]): int(counts[g, v]) for g, v in zip(*np.nonzero(counts))})
    return sorted((int(g), v) for g, v in pairs.elements())
