"""k^m-anonymity: m known items leave at least k records (Terrovitis, Mamoulis and Kalnis, 2008)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kohort.errors import counted
from kohort.problem.models.exact import whole_number
from kohort.problem.models.itemsets import Itemsets, ItemTable, itemsets_of

__all__ = ["ItemsetSurvey", "KmAnonymity", "RareItemset", "known_items"]


class RareItemset(NamedTuple):
    """A set of items that too few records of a class have."""

    class_: int
    items: tuple[int, ...]
    support: int


@dataclass
class ItemsetSurvey:
    """The result of counting every itemset: the least support of any, and the rare ones.

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
    spec_key: ClassVar[str] = "m"
    stops: ClassVar[str] = "finding the basket of a person by m of its items"
    leaves: ClassVar[str] = "whoever knows more items, and learning an item that all these baskets have"
    typical: ClassVar[str] = "m: 2, with k: 5"
    only_counts: ClassVar[bool] = True
    k: int
    m: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number("KmAnonymity", "k", self.k, least=1))
        object.__setattr__(self, "m", whole_number("KmAnonymity", "m", self.m, least=1))

    def describe(self, *, classes: bool = False, sensitive: bool = False) -> str:
        """The promise in words, without a full stop: within `classes`, and with `sensitive` items aside."""
        inside = " of a class" if classes else ""
        match = "matches" if self.m == 1 else "match"
        return (
            f"{known_items(self.m, sensitive=sensitive)}{inside} {match} at least {counted(self.k, 'record')}"
        )

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
        table, order = ItemTable.of(class_of_record, offsets, items)
        found = ItemsetSurvey()
        for size in range(1, min(self.m, int(np.diff(offsets).max(initial=0))) + 1):
            for part in itemsets_of(table, size):
                for itemset in _rare_among(part, self.k, found):
                    found.rare += 1
                    found.failing_classes.add(itemset.class_)
                    if len(found.listed) < most:
                        items_ = tuple(sorted(order[list(itemset.items)].tolist()))
                        found.listed.append(RareItemset(itemset.class_, items_, itemset.support))
        return found


def known_items(m: int, *, sensitive: bool) -> str:
    """The items that an attacker may know, in words.

    >>> known_items(2, sensitive=True)
    'up to 2 known items that are not sensitive'
    """
    known = "one known item" if m == 1 else f"up to {m} known items"
    others = " that is not sensitive" if m == 1 else " that are not sensitive"
    return known + (others if sensitive else "")


def _rare_among(found: Itemsets, k: int, survey: ItemsetSurvey) -> Iterator[RareItemset]:
    """The itemsets among these that are rare."""
    if not len(found.key):
        return
    key = found.group * found.n_keys + found.key
    if int(key.max()) < 4 * len(key) + 1024:
        support = np.bincount(key)
        keys = np.flatnonzero(support)
        support = support[keys]
    else:
        keys, support = np.unique(key, return_counts=True)
    least = int(support.min())
    survey.least = least if survey.least is None else min(survey.least, least)
    rare = support < k
    for key_, support_ in zip(keys[rare].tolist(), support[rare].tolist()):
        class_, itemset = divmod(key_, found.n_keys)
        yield RareItemset(class_, found.items(itemset), support_)
