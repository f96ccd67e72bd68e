"""List every itemset of every record in plain NumPy, a part at a time, for the models of items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

__all__ = ["ItemTable", "Itemsets", "itemsets_of"]

_PAIRS = 5_000_000  # pairs of items that are handled at once


class Itemsets(NamedTuple):
    """All occurrences of some itemsets: `key` tells them apart, `group` is that of the record.

    Where all records are of one group, that stands there once. The items are those of the key, one or two,
    and those in `tail`.
    """

    group: np.ndarray
    key: np.ndarray
    n_items: int
    pairs: bool
    tail: tuple[int, ...]

    @property
    def n_keys(self) -> int:
        return self.n_items**2 if self.pairs else self.n_items

    def items(self, key: int) -> tuple[int, ...]:
        """The items of the itemset with this key, by rank."""
        return (*(divmod(key, self.n_items) if self.pairs else (key,)), *self.tail)

    def contain(self, keys: np.ndarray, ranks: np.ndarray) -> np.ndarray:
        """Whether the itemset of each key has an item of one of these ranks."""
        if np.isin(self.tail, ranks).any():
            return np.ones(len(keys), dtype=bool)
        own = np.divmod(keys, self.n_items) if self.pairs else (keys,)
        return np.any([np.isin(part, ranks) for part in own], axis=0)


class ItemTable(NamedTuple):
    """Items by rank, the most frequent first, ascending in each record; empty records are left out.

    group   per record; or once, where it is the same for all
    record  per item
    """

    group: np.ndarray
    offsets: np.ndarray
    items: np.ndarray
    record: np.ndarray
    n_items: int

    def group_of(self, record: np.ndarray) -> np.ndarray:
        """The group of some records; once, where it is the same for all."""
        return self.group if self.one_group else self.group[record]

    @property
    def one_group(self) -> bool:
        return len(self.group) < len(self.offsets) - 1

    @classmethod
    def of(
        cls, group_of_record: np.ndarray, offsets: np.ndarray, items: np.ndarray
    ) -> tuple[ItemTable, np.ndarray]:
        """The table, and the item of each rank."""
        sizes = np.diff(offsets)
        counts = np.bincount(items) if len(items) else np.zeros(0, dtype=np.int64)
        order = np.argsort(-counts, kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        n = max(len(order), 1)
        keys = np.sort(np.repeat(np.arange(len(sizes)), sizes) * n + rank[items], kind="stable")
        some = sizes > 0
        offsets = np.concatenate([[0], np.cumsum(sizes[some])])
        of_item = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), sizes[some])
        group = group_of_record[some]
        if len(group) > 1 and (group == group[0]).all():
            group = group[:1]
        return cls(group, offsets, (keys % n).astype(np.int32), of_item, len(order)), order

    def with_item(self, item: int, at: np.ndarray) -> ItemTable:
        """The records that have an item, at these places, and of each the items before it."""
        record = self.record[at]
        sizes = at - self.offsets[record]
        record, sizes = record[sizes > 0], sizes[sizes > 0]
        places = _ranges(self.offsets[record], sizes)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        of_item = np.repeat(np.arange(len(record), dtype=np.int32), sizes)
        return ItemTable(self.group_of(record), offsets, self.items[places], of_item, item)


def itemsets_of(table: ItemTable, size: int, tail: tuple[int, ...] = ()) -> Iterator[Itemsets]:
    """The itemsets of exactly this size; every occurrence of one is in the same part."""
    n = max(table.n_items, 1)
    if size == 1:
        yield Itemsets(table.group_of(table.record), table.items, n, False, tail)
    elif size == 2 and _n_pairs(table) <= _PAIRS:
        group, first, second = _pairs(table)
        yield Itemsets(group, first.astype(np.int64) * n + second, n, True, tail)
    else:
        by_item = np.argsort(_as_small(table), kind="stable")
        ends = np.cumsum(np.bincount(table.items, minlength=table.n_items))
        start = 0
        for item, end in enumerate(ends):
            if end > start:
                yield from itemsets_of(table.with_item(item, by_item[start:end]), size - 1, (item, *tail))
            start = end


def _as_small(table: ItemTable) -> np.ndarray:
    """The items as numbers of two bytes, where they fit: NumPy sorts these in a fraction of the time."""
    return table.items.astype(np.uint16) if table.n_items <= 2**16 else table.items


def _n_pairs(table: ItemTable) -> int:
    sizes = np.diff(table.offsets)
    return int((sizes * (sizes - 1) // 2).sum())


def _pairs(table: ItemTable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The group of every pair of items of a record, and the items, the one of smaller rank first."""
    begin = np.repeat(table.offsets[:-1], np.diff(table.offsets))
    before = np.arange(len(table.items)) - begin
    first, second = table.items[_ranges(begin, before)], np.repeat(table.items, before)
    group = table.group if table.one_group else table.group[np.repeat(table.record, before)]
    return group, first, second


def _ranges(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The numbers start, start + 1, ... of several ranges, one after another."""
    ends = np.cumsum(sizes)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - sizes - starts, sizes)
