"""m-invariance: the sensitive values around everybody are the same in all releases (Xiao and Tao, 2007).

A person's **signature** is the set of sensitive values in the group of their first release. Later they are
only ever in groups with the same signature, in each of which all values are equally frequent. Newcomers
complete groups in which somebody is missing. Others are put together anew: where a value is missing among
them, newcomers who have it join, then counterfeits are published, as many as are allowed; whoever is still
too many waits. The other newcomers form groups of their own, chosen by prices among all signatures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from kohort.algorithms.again.buckets import Bucket, Signature, balanced_buckets
from kohort.algorithms.again.history_keeping import refuse_withholding
from kohort.algorithms.again.joining import enlarged, joined, swapped
from kohort.algorithms.again.kernels.vacancies import fill_vacancies
from kohort.algorithms.again.standing import Standing
from kohort.algorithms.run import Run
from kohort.algorithms.solver import Solver
from kohort.errors import InfeasibleError
from kohort.late import late_function
from kohort.problem.costs import cost_named
from kohort.problem.encoding.coded import Coded
from kohort.problem.problem import Problem
from kohort.problem.promises import AlphaDeassociation, LDiversity
from kohort.recoding.groups import Counterfeits, PlacedGroups
from kohort.recoding.recoding import Recoding

Grouping = late_function("kohort.algorithms.again.newcomers", "Grouping")

_NOTE = "The groups were made by m-invariance: the algorithm of the spec was not used."


@dataclass(frozen=True)
class MInvariance:
    """An algorithm of its own; the one that the spec names is not used.

    inner         refuses what cannot be solved
    standing      what earlier releases say of the records, with the signature of everybody they published
    counterfeits  how many counterfeits may be published
    """

    inner: Solver
    standing: Standing
    counterfeits: int = 0

    def refuse(self, problem: Problem) -> None:
        """Raise UnsupportedError for a problem that the inner algorithm cannot solve."""
        self.inner.refuse(problem)

    def solve(self, problem: Problem, run: Run) -> Recoding:
        """Groups in which every value of a signature is equally frequent, people near each other together."""
        coded = problem.coded if problem.cost.adds_up else Coded(problem.attributes, cost_named("loss"))
        kinds = self.standing.kind_of_record.astype(np.int64)
        search = Grouping(coded, kinds, problem.k, run, problem.seed)
        stayed = self.stayed(coded, problem.k)
        groups, left = joined(coded, kinds, stayed.groups, stayed.vacancies, self.standing.newcomers)
        n_joined = len(self.standing.newcomers) - len(left)
        new, left = search.newcomers(left, values_needed(problem), stayed.known)
        with_false = {group for group, _ in stayed.counterfeits}
        whole = [group for place, group in enumerate(groups) if place not in with_false]
        whole = search.regrouped(enlarged(coded, kinds, [*whole, *new], left))
        groups = [*(groups[place] for place in sorted(with_false)), *whole]
        homes = number_of_each(
            [*(stayed.signature[p] for p in sorted(with_false)), *map(search.signature, whole)]
        )
        bound = self.standing.signature_of_record >= 0
        groups = swapped(coded, kinds, bound, groups, homes, problem.seed, run)
        number = {place: number for number, place in enumerate(sorted(with_false))}
        false = [(number[group], value) for group, value in stayed.counterfeits]
        return placed(problem, self.standing, groups, false, n_joined)

    def stayed(self, coded: Coded, k: int) -> Stayed:
        """The groups of those who stayed, with what is missing in them."""
        found = Stayed()
        for bucket in balanced_buckets(self.standing, k, self.counterfeits):
            made, before = even_groups(coded, bucket, k), len(found.groups)
            found.groups += [*made.members, *(kept.people for kept in bucket.kept)]
            found.signature += [bucket.signature] * (len(made.members) + len(bucket.kept))
            found.vacancies += [(before + group, value) for group, value in made.vacancies]
            for group, kept in enumerate(bucket.kept, before + len(made.members)):
                found.vacancies += [(group, value) for value in kept.missing.elements()]
            found.counterfeits += [(before + group, value) for group, value in made.counterfeits]
        return found


@dataclass
class Stayed:
    """Groups of those who stayed and their signatures; group and value of each vacancy and counterfeit."""

    groups: list[np.ndarray] = field(default_factory=list)
    signature: list[Signature] = field(default_factory=list)
    vacancies: list[tuple[int, int]] = field(default_factory=list)
    counterfeits: list[tuple[int, int]] = field(default_factory=list)

    @property
    def known(self) -> frozenset[Signature]:
        return frozenset(self.signature)


def number_of_each(signatures: Sequence[Signature]) -> np.ndarray:
    """A number for each signature, equal for equal ones."""
    number: dict[Signature, int] = {}
    return np.array([number.setdefault(signature, len(number)) for signature in signatures], dtype=np.int64)


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


def placed(
    problem: Problem,
    standing: Standing,
    groups: Sequence[np.ndarray],
    counterfeits: Sequence[tuple[int, int]],
    n_joined: int,
) -> PlacedGroups:
    """The recoding: a group of people is published with its counterfeits, or not at all."""
    false = _counterfeits(standing, groups, counterfeits)
    valid = _valid(problem, groups, false)
    number = np.cumsum(valid) - 1
    group_of_record = np.full(problem.n_records, -1, dtype=np.int32)
    for place in np.flatnonzero(valid).tolist():
        group_of_record[groups[place]] = number[place]
    withheld = group_of_record < 0
    refuse_withholding(problem, int(withheld.sum()))
    if not valid.any():
        raise InfeasibleError("There are too few different sensitive values for any group. Ask for less.")
    newcomers = standing.place_of_record < 0
    told = {
        "passed_on": n_joined,
        "resting": int((withheld & ~newcomers).sum()),
        "waiting": int((withheld & newcomers).sum()),
    }
    shown = valid[false.group]
    return PlacedGroups(
        group_of_record,
        notes=(_NOTE,),
        place_of_record=group_of_record.astype(np.int64),
        told=told,
        counterfeits=Counterfeits(number[false.group[shown]], false.like[shown], false.value[shown]),
    )


def _counterfeits(
    standing: Standing, groups: Sequence[np.ndarray], pairs: Sequence[tuple[int, int]]
) -> Counterfeits:
    """Counterfeits of these groups and values: each like a person there, with somebody's value."""
    kinds, first = np.unique(standing.kind_of_record, return_index=True)
    holder = dict(zip(kinds.tolist(), first.tolist()))
    group = np.array([group for group, _ in pairs], dtype=np.int64)
    like = np.array([groups[group][0] for group, _ in pairs], dtype=np.int64)
    return Counterfeits(group, like, np.array([holder[value] for _, value in pairs], dtype=np.int64))


def _valid(problem: Problem, groups: Sequence[np.ndarray], false: Counterfeits) -> np.ndarray:
    """Whether each group has k people, and with its counterfeits keeps every model."""
    if not groups:
        return np.zeros(0, dtype=bool)
    sizes = np.array([len(group) for group in groups])
    number = np.concatenate([np.repeat(np.arange(len(groups)), sizes), false.group])
    records = np.concatenate([*groups, false.value])
    return problem.satisfied(number, records, len(groups)) & (sizes >= problem.k)


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
