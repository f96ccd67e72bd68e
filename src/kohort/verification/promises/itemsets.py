"""Promises about sets of known items: how many records have them, and what these records hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from typing import NamedTuple

import numpy as np

from kohort.verification.promises.promise import at_most, greatest_share

_AT_ONCE = 1_000_000  # occurrences of itemsets that are held at a time
_LISTED = 100_000


class Occurrences(NamedTuple):
    """Sets of items, of one size, and where they occur: every record that has one of them is here.

    group   per set, the group of records in which it is counted
    sets    per set its items
    number  per occurrence the number of the set; record, the record; place, where its last item stands
    shown   per occurrence whether the record shows all items of the set, rather than others above them
    """

    group: np.ndarray
    sets: np.ndarray
    number: np.ndarray
    record: np.ndarray
    place: np.ndarray
    shown: np.ndarray

    @property
    def support(self) -> np.ndarray:
        """How many records have each set."""
        return np.bincount(self.number, minlength=len(self.sets))

    def weighed(self, times: np.ndarray) -> np.ndarray:
        """The same where each record stands for several."""
        return np.bincount(self.number, times[self.record], len(self.sets)).astype(np.int64)


def itemsets(
    group_of_record: np.ndarray,
    offsets: np.ndarray,
    items: np.ndarray,
    most: int,
    shown: np.ndarray | bool = True,
) -> Iterator[Occurrences]:
    """All sets of up to `most` items that records of a group have, smaller ones of the same items first.

    Record r has the items items[offsets[r]:offsets[r + 1]], each once. A set is extended by items that stand
    after its own in a record, in ascending order, so that each is found once.

    shown  per item whether its record shows it; sets of which no record shows all items are left out
    """
    if not len(items) or most < 1:
        return
    width = int(items.max()) + 1
    record = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    keys = np.sort((record * np.int64(width) + items) * 2 + shown)
    items, visible = keys // 2 % width, keys % 2 > 0
    keys, number = _numbered(group_of_record[record] * width + items)
    group, item = np.divmod(keys, width)
    place = np.arange(len(items), dtype=np.int32)
    found = _shown_by_some(Occurrences(group, item[:, None], number, record, place, visible))
    if len(found.sets):
        yield found
        yield from _extended(found, items, visible, offsets, most - 1)


def _extended(
    found: Occurrences, items: np.ndarray, visible: np.ndarray, offsets: np.ndarray, more: int
) -> Iterator[Occurrences]:
    """Sets of up to so many more items that begin with those that were found."""
    if not more:
        return
    after = offsets[found.record + 1] - found.place - 1
    if int(after.sum()) > _AT_ONCE and len(found.sets) > 1:
        for part in _halves(found, after):
            yield from _extended(part, items, visible, offsets, more)
        return
    parent = np.repeat(np.arange(len(after), dtype=np.int32), after)
    place = np.arange(len(parent)) + np.repeat(found.place + 1 - (np.cumsum(after) - after), after)
    if not len(parent):
        return
    width = int(items.max()) + 1
    keys, number = _numbered(found.number[parent] * np.int64(width) + items[place])
    of, item = np.divmod(keys, width)
    sets, shown = np.column_stack([found.sets[of], item]), found.shown[parent] & visible[place]
    where = found.record[parent], place.astype(np.int32)
    larger = _shown_by_some(Occurrences(found.group[of], sets, number, *where, shown))
    if len(larger.sets):
        yield larger
        yield from _extended(larger, items, visible, offsets, more - 1)


def _shown_by_some(found: Occurrences) -> Occurrences:
    """The sets of which some record shows all items."""
    if found.shown.all():
        return found
    there = np.zeros(len(found.sets), dtype=bool)
    there[found.number[found.shown]] = True
    return _chosen(found, there)


def _chosen(found: Occurrences, sets: np.ndarray) -> Occurrences:
    """Some of the sets, each with all of its occurrences."""
    here = sets[found.number]
    number = (np.cumsum(sets) - 1)[found.number[here]]
    of_sets, of_occurrences = (found.group[sets], found.sets[sets]), (found.record, found.place, found.shown)
    return Occurrences(*of_sets, number, *(array[here] for array in of_occurrences))


def _numbered(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys, ascending, and for each key which of them it is."""
    if int(keys.max()) > 4 * len(keys) + 1024:
        return np.unique(keys, return_inverse=True)
    there = np.zeros(int(keys.max()) + 1, dtype=bool)
    there[keys] = True
    return np.flatnonzero(there), (np.cumsum(there, dtype=np.int32) - 1)[keys]


def _halves(found: Occurrences, after: np.ndarray) -> tuple[Occurrences, Occurrences]:
    """The sets in two parts of about the same work, each with all of its occurrences."""
    work = np.cumsum(np.bincount(found.number, weights=after, minlength=len(found.sets)))
    cut = min(max(int(np.searchsorted(work, work[-1] / 2)), 1), len(found.sets) - 1)
    first = np.arange(len(found.sets)) < cut
    return _chosen(found, first), _chosen(found, ~first)


class Itemset(NamedTuple):
    """A set of items that too few records of a group have."""

    class_: int
    items: tuple[int, ...]
    support: int


@dataclass
class Rare:
    """The least support of any set, None without any; the sets that too few have, and some of them."""

    least: int | None = None
    rare: int = 0
    failing_classes: set[int] = field(default_factory=set)
    listed: list[Itemset] = field(default_factory=list)


def support(
    k: int,
    m: int,
    group_of_record: np.ndarray,
    offsets: np.ndarray,
    items: np.ndarray,
    *,
    times: np.ndarray | None = None,
    shown: np.ndarray | bool = True,
) -> Rare:
    """Count the records of each group that have each set of up to m items; fewer than k are too few.

    O(itemsets of up to m items in all records), a part of them at a time. Smaller sets are listed first.

    times  how many records are alike, of which one is listed
    shown  see `itemsets`
    """
    found = Rare()
    for sets in itemsets(group_of_record, offsets, items, m, shown):
        records = sets.support if times is None else sets.weighed(times)
        least = int(records.min())
        found.least = least if found.least is None else min(found.least, least)
        few = np.flatnonzero(records < k)
        found.rare += len(few)
        found.failing_classes |= set(sets.group[few].tolist())
        listed = few[:_LISTED]
        rows = zip(sets.group[listed].tolist(), sets.sets[listed].tolist(), records[listed].tolist())
        found.listed += [Itemset(group, tuple(known), n) for group, known, n in rows]
    found.listed = sorted(found.listed, key=lambda one: len(one.items))[:_LISTED]
    return found


class Implied(NamedTuple):
    """Of the `support` records that have some items, `holders` hold something sensitive: too many."""

    items: tuple[int, ...]
    sensitive: int
    support: int
    holders: int


@dataclass
class Inferences:
    """The highest confidence that known items give, and the inferences that are too sure, some listed.

    limit  the highest confidence that is allowed; `strict`: it must stay below
    """

    limit: Fraction
    strict: bool
    highest: Fraction | None = None
    telling: int = 0
    listed: list[Implied] = field(default_factory=list)

    def judge(self, sets: np.ndarray, records: np.ndarray, holders: np.ndarray, sensitive: int) -> None:
        """Judge sets of known items, given how many records have each, and how many of these hold it."""
        if not len(sets):
            return
        highest = greatest_share(holders, records)
        self.highest = highest if self.highest is None else max(self.highest, highest)
        fine = at_most(holders, records, self.limit)
        if self.strict:
            fine &= ~at_most(records, holders, 1 / self.limit)
        telling = np.flatnonzero(~fine)
        self.telling += len(telling)
        for place in telling[: max(_LISTED - len(self.listed), 0)].tolist():
            known = tuple(sets[place].tolist())
            self.listed.append(Implied(known, sensitive, int(records[place]), int(holders[place])))


def infer(
    found: Inferences,
    m: int,
    offsets: np.ndarray,
    items: np.ndarray,
    holds: Sequence[np.ndarray],
    sensitive_of: np.ndarray | None = None,
) -> Inferences:
    """Find how sure of each sensitive thing a set of up to m known items makes, among some records.

    Somebody may also know nothing, or that a record has items besides sensitive ones.

    holds         per sensitive thing whether each record holds it
    sensitive_of  per item the number of the sensitive thing that it is, or -1: a set does not imply what is
                  in it, and that there are other items is one known item. None: no item is sensitive
    """
    n = len(offsets) - 1
    record = np.repeat(np.arange(n), np.diff(offsets))
    other = np.ones(len(items), dtype=bool) if sensitive_of is None else sensitive_of[items] < 0
    filled = np.bincount(record[other], minlength=n) > 0
    everybody = np.zeros(n, dtype=np.int64)
    for number, held in enumerate(holds):
        for known in (held, held[filled]):
            if len(known):
                found.judge(np.zeros((1, 0)), np.array([len(known)]), np.array([known.sum()]), number)
    several = [itemsets(everybody, offsets, items, m)]
    if sensitive_of is not None:
        secret = ~other & filled[record]
        ends = np.concatenate([[0], np.cumsum(np.bincount(record[secret], minlength=n))])
        several.append(itemsets(everybody, ends, items[secret], m - 1))
    for sets in chain.from_iterable(several):
        records = sets.support
        for number, held in enumerate(holds):
            holders = np.bincount(sets.number[held[sets.record]], minlength=len(records))
            may = np.ones(len(records), dtype=bool)
            if sensitive_of is not None:
                may = (sensitive_of[sets.sets] != number).all(axis=1)
            found.judge(sets.sets[may], records[may], holders[may], number)
    return found
