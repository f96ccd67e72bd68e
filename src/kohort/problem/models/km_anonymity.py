"""k^m-anonymity: m known items leave at least k records (Terrovitis, Mamoulis and Kalnis, 2008)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kohort.problem.models.exact import whole_number

__all__ = ["ItemsetSurvey", "KmAnonymity", "RareItemset"]

_PAIRS = 5_000_000  # pairs of items that are looked at together


class RareItemset(NamedTuple):
    """A set of items that too few records of a class have."""

    class_: int
    items: tuple[int, ...]
    support: int


@dataclass
class ItemsetSurvey:
    """What was found in looking at every itemset: the least support of any, and the rare ones.

    `listed` holds the first of the rare ones, at most as many as were wanted.
    """

    least: int | None = None
    rare: int = 0
    failing_classes: set[int] = field(default_factory=set)
    listed: list[RareItemset] = field(default_factory=list)


@dataclass(frozen=True)
class KmAnonymity:
    """Any m items or fewer that some record of a class has, at least k records of that class have.

    Baskets alone are one class. Beside quasi-identifiers, a class is what looks alike in them, so that they
    and m known items together leave k records.

    >>> fig_2 = [[0, 2, 3], [1, 2], [1, 2, 3], [0, 1, 3]]  # a1 = 0, a2 = 1, b1 = 2, b2 = 3
    >>> sorted(found.items for found in KmAnonymity(2, 2).rare_itemsets_in(fig_2))
    [(0, 1), (0, 2)]
    """

    name: ClassVar[str] = "km-anonymity"
    k: int
    m: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number("KmAnonymity", "k", self.k, least=1))
        object.__setattr__(self, "m", whole_number("KmAnonymity", "m", self.m, least=1))

    def describe(self, *, classes: bool = False) -> str:
        """The promise in words, without a full stop."""
        known = "one known item" if self.m == 1 else f"up to {self.m} known items"
        inside = " of a class" if classes else ""
        return f"{known}{inside} leave at least {self.k} records"

    def to_dict(self) -> dict[str, Any]:
        """The parameters as JSON holds them."""
        return {"k": self.k, "m": self.m}

    def rare_itemsets_in(self, baskets: list[list[int]]) -> list[RareItemset]:
        """The rare itemsets of baskets that form one class."""
        offsets = np.cumsum([0, *map(len, baskets)])
        items = np.array([item for basket in baskets for item in basket], dtype=np.int64)
        return self.survey(np.zeros(len(baskets), dtype=np.int64), offsets, items).listed

    def survey(
        self, class_of_record: np.ndarray, offsets: np.ndarray, items: np.ndarray, *, most: int = 100_000
    ) -> ItemsetSurvey:
        """Look at every itemset of up to m items of every record; list up to `most` that break the rule.

        Record r has the distinct items items[offsets[r]:offsets[r + 1]]. O(itemsets of up to m items in all
        records), with memory for a part of them at a time. Smaller itemsets are listed first.
        """
        table, order = _Table.of(class_of_record, offsets, items)
        found = ItemsetSurvey()
        for size in range(1, min(self.m, int(np.diff(offsets).max(initial=0))) + 1):
            for itemset in _rare(table, size, self.k, found):
                found.rare += 1
                found.failing_classes.add(itemset.class_)
                if len(found.listed) < most:
                    items_ = tuple(sorted(order[list(itemset.items)].tolist()))
                    found.listed.append(RareItemset(itemset.class_, items_, itemset.support))
        return found


class _Table(NamedTuple):
    """Items by rank, the most frequent first, ascending in each record; empty records are left out."""

    class_of_record: np.ndarray
    offsets: np.ndarray
    items: np.ndarray
    n_items: int

    @classmethod
    def of(
        cls, class_of_record: np.ndarray, offsets: np.ndarray, items: np.ndarray
    ) -> tuple[_Table, np.ndarray]:
        """The table, and the item of each rank."""
        sizes = np.diff(offsets)
        counts = np.bincount(items) if len(items) else np.zeros(0, dtype=np.int64)
        order = np.argsort(-counts, kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        record = np.repeat(np.arange(len(sizes)), sizes)
        by_rank = np.lexsort((rank[items], record))
        some = sizes > 0
        new_offsets = np.concatenate([[0], np.cumsum(sizes[some])])
        ranked = rank[items[by_rank]]
        return cls(class_of_record[some], new_offsets, ranked, len(order)), order

    def with_item(self, item: int, at: np.ndarray) -> _Table:
        """The records that have an item, at these places, and of each the items before it."""
        record = np.searchsorted(self.offsets, at, side="right") - 1
        sizes = at - self.offsets[record]
        record, sizes = record[sizes > 0], sizes[sizes > 0]
        places = _ranges(self.offsets[record], sizes)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return _Table(self.class_of_record[record], offsets, self.items[places], item)


def _rare(table: _Table, size: int, k: int, survey: ItemsetSurvey) -> Iterator[RareItemset]:
    """The rare itemsets of exactly this size."""
    if size == 1:
        yield from _rare_among(
            _class_of_item(table), table.items, np.zeros_like(table.items), 1, k, table.n_items, survey
        )
    elif size == 2 and _n_pairs(table) <= _PAIRS:
        record, first, second = _pairs(table)
        yield from _rare_among(table.class_of_record[record], first, second, 2, k, table.n_items, survey)
    else:
        by_item = np.argsort(table.items, kind="stable")
        ends = np.cumsum(np.bincount(table.items, minlength=table.n_items))
        start = 0
        for item, end in enumerate(ends):
            if end > start:
                below = table.with_item(item, by_item[start:end])
                for found in _rare(below, size - 1, k, survey):
                    yield RareItemset(found.class_, (*found.items, item), found.support)
            start = end


def _rare_among(
    class_of: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    size: int,
    k: int,
    n_items: int,
    survey: ItemsetSurvey,
) -> Iterator[RareItemset]:
    """The rare ones of itemsets that are given once for each record that has them."""
    if not len(first):
        return
    n = max(n_items, 1)
    key = (class_of * n + first) * (n if size == 2 else 1) + second
    if int(key.max()) < 4 * len(key) + 1024:
        support = np.bincount(key)
        keys = np.flatnonzero(support)
        support = support[keys]
    else:
        keys, support = np.unique(key, return_counts=True)
    least = int(support.min())
    survey.least = least if survey.least is None else min(survey.least, least)
    rare = support < k
    keys, support = keys[rare], support[rare]
    for key_, support_ in zip(keys.tolist(), support.tolist()):
        rest, last = divmod(key_, n) if size == 2 else (key_, 0)
        class_, item = divmod(rest, n)
        yield RareItemset(class_, (item, last) if size == 2 else (item,), support_)


def _class_of_item(table: _Table) -> np.ndarray:
    return np.repeat(table.class_of_record, np.diff(table.offsets))


def _n_pairs(table: _Table) -> int:
    sizes = np.diff(table.offsets)
    return int((sizes * (sizes - 1) // 2).sum())


def _pairs(table: _Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every pair of items of a record, the one of smaller rank first, and its record."""
    sizes = np.diff(table.offsets)
    place = np.arange(len(table.items))
    before = place - np.repeat(table.offsets[:-1], sizes)
    second = np.repeat(place, before)
    first = _ranges(np.repeat(table.offsets[:-1], sizes), before)
    record = np.repeat(np.repeat(np.arange(len(sizes)), sizes), before)
    return record, table.items[first], table.items[second]


def _ranges(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The numbers start, start + 1, ... of several ranges, one after another."""
    ends = np.cumsum(sizes)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - sizes - starts, sizes)
