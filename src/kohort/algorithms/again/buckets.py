"""Who stayed, by signature: how many people of each value there will be, and who or what makes up for others.

A **bucket** is all people of a signature. In every release it has as many records of each of its values. A
group of the last release is kept where newcomers can complete it. Where the others have some values more
often than others, newcomers join who have the missing ones, then counterfeits are published, as far as they
are allowed, and whoever is still too many has to wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kohort.algorithms.again.standing import Standing

Signature = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class KeptGroup:
    """Those who stayed of a group, and how many newcomers of each value join them."""

    people: np.ndarray
    missing: Counter


@dataclass(frozen=True)
class Bucket:
    """The people of a signature who stayed, and how many records of each value are published.

    people        those who stayed, by value
    size          records of each value
    counterfeits  how many of them are counterfeits, by value
    kept          groups of the last release, of further people, with what is missing in them
    """

    signature: Signature
    people: dict[int, list[int]]
    size: int
    counterfeits: Counter = field(default_factory=Counter)
    kept: tuple[KeptGroup, ...] = ()

    @property
    def largest(self) -> int:
        return max(map(len, self.people.values()), default=0)

    def shown(self, value: int) -> list[int]:
        """Those who stayed and are published; the last ones of a value wait where they are too many."""
        return self.people.get(value, [])[: self.size]

    def missing(self, value: int) -> int:
        """How many newcomers with a value join."""
        return self.size - len(self.shown(value)) - self.counterfeits[value]

    def n_shown(self, k: int) -> int:
        """How many people who stayed are published; none where they are too few for a group."""
        real = self.size * len(self.signature) - self.counterfeits.total()
        return sum(len(self.shown(value)) for value in self.signature) if self.size and real >= k else 0


def balanced_buckets(standing: Standing, k: int, allowed: int) -> list[Bucket]:
    """The buckets of those who stayed; newcomers suffice for all that is missing.

    allowed  how many counterfeits may be published
    """
    newcomers = Counter(standing.kind_of_record[standing.newcomers].tolist())
    found = []
    spare = Counter({value: number // 2 for value, number in newcomers.items()})  # others balance buckets
    for signature, records in sorted(_stayed(standing).items(), key=lambda item: (-len(item[1]), item[0])):
        bucket = _parted(standing, signature, records, k, spare)
        joining = sum((group.missing for group in bucket.kept), Counter())
        spare, newcomers = spare - joining, newcomers - joining
        reach = [len(bucket.people.get(value, ())) + newcomers[value] for value in signature]
        bucket = replace(bucket, size=min(bucket.largest, *reach))
        newcomers -= Counter({value: bucket.missing(value) for value in signature})
        found.append(bucket)
    if allowed:
        found = _with_counterfeits(found, newcomers, frozenset(standing.kind_of_record.tolist()), k, allowed)
    return [bucket for bucket in found if bucket.kept or bucket.n_shown(k)]


def _stayed(standing: Standing) -> dict[Signature, list[int]]:
    """The records of those who were published before, by signature."""
    found: dict[Signature, list[int]] = {}
    for record in np.flatnonzero(standing.signature_of_record >= 0).tolist():
        signature = standing.signatures[standing.signature_of_record[record]]
        if int(standing.kind_of_record[record]) in signature:  # else it has changed, and no group fits
            found.setdefault(signature, []).append(record)
    return found


def _parted(
    standing: Standing, signature: Signature, records: Sequence[int], k: int, spare: Counter
) -> Bucket:
    """The people of a signature: in groups that newcomers can complete, and the others with one of these.

    With one of them the others are enough for a group, whoever else is missing.

    spare  the newcomers of each value who may complete groups
    """
    groups: dict[int, list[int]] = {}
    for record in records:
        groups.setdefault(int(standing.group_of_record[record]), []).append(record)
    kept: list[KeptGroup] = []
    others: list[int] = []
    for group in sorted(groups.values(), key=lambda group: -len(group)):
        times = Counter(standing.kind_of_record[group].tolist())
        missing = Counter({value: max(times.values()) - times[value] for value in signature})
        if len(group) + missing.total() >= k and missing <= spare:
            kept.append(KeptGroup(np.array(group, dtype=np.int64), +missing))
            spare = spare - missing
        else:
            others += group
    if others and kept:
        others += kept.pop(0).people.tolist()  # the largest
    people: dict[int, list[int]] = {}
    for record in others:
        people.setdefault(int(standing.kind_of_record[record]), []).append(record)
    return Bucket(signature, people, 0, kept=tuple(kept))


def _with_counterfeits(
    buckets: Sequence[Bucket], newcomers: Counter, there: frozenset[int], k: int, allowed: int
) -> list[Bucket]:
    """The buckets, enlarged step by step where that shows most people for each counterfeit.

    newcomers  by value those who have not joined a bucket
    there      the values that somebody in the table has: a counterfeit has one of them
    """
    found = list(buckets)
    steps: dict[int, Bucket | None] = {}
    stale = set(range(len(found)))
    while True:
        steps |= {place: _larger(found[place], newcomers, there, k) for place in sorted(stale)}
        fitting = {p: step for p, step in steps.items() if step and _more(found[p], step) <= allowed}
        if not fitting:
            return found
        best = max(fitting, key=lambda place: _worth(found[place], fitting[place], k))
        before, found[best] = found[best], fitting[best]
        allowed -= _more(before, found[best])
        joining = +Counter({v: found[best].missing(v) - before.missing(v) for v in before.signature})
        newcomers = newcomers - joining
        stale = set(range(len(found))) if joining else {best}


def _larger(bucket: Bucket, newcomers: Counter, there: frozenset[int], k: int) -> Bucket | None:
    """The bucket in the next size that shows more people, with counterfeits for that; None: none does."""
    able = {value: bucket.missing(value) + newcomers[value] for value in bucket.signature}
    for size in range(bucket.size + 1, bucket.largest + 1):
        larger = replace(bucket, size=size, counterfeits=Counter())
        lacking = +Counter({value: larger.missing(value) - able[value] for value in bucket.signature})
        if not set(lacking) <= there:
            return None
        larger = replace(larger, counterfeits=lacking)
        if larger.n_shown(k) > bucket.n_shown(k):
            return larger
    return None


def _more(bucket: Bucket, larger: Bucket) -> int:
    """How many more counterfeits a larger bucket takes."""
    return larger.counterfeits.total() - bucket.counterfeits.total()


def _worth(bucket: Bucket, larger: Bucket, k: int) -> float:
    """How many more people are shown for each further counterfeit."""
    return (larger.n_shown(k) - bucket.n_shown(k)) / max(_more(bucket, larger), 0.5)
