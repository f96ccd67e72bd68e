"""A set-valued column: per record a set of items, coded once."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.column import Column, code_column
from kohort.data.counting import count_nearly_sorted, count_pairs
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, counted

if TYPE_CHECKING:
    from kohort.tables.table import Table


@dataclass(frozen=True, eq=False)
class Baskets:
    """Record r holds the items items.codes[offsets[r]:offsets[r + 1]], each once, by ascending code.

    `missing` marks records without a list; they hold no items.
    """

    name: str
    items: Column
    offsets: np.ndarray
    missing: np.ndarray
    repeated: int = 0  # items that a basket named more than once, and that count once

    def __len__(self) -> int:
        return len(self.missing)

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many items each record has."""
        return np.diff(self.offsets)

    def holders(self, names: Sequence[str], *, multiset: bool = False) -> list[np.ndarray]:
        """Whether each record holds the item of each name, however often: an array per name."""
        number = {name: i for i, name in enumerate(names)}
        name_of_item = np.array([number.get(name, -1) for name in self.names(multiset)], dtype=np.int64)
        has = np.zeros((len(names) + 1, len(self)), dtype=bool)
        has[name_of_item[self.items.codes], self.record_of_item] = True
        return list(has[:-1])

    def parted(self, names: Sequence[str], *, multiset: bool = False) -> tuple[Baskets, Baskets]:
        """The baskets without the items of these names, and the baskets with these items only.

        multiset  whether an item is written with its number, as in `milk ×2`, which has the name `milk`
        """
        wanted = set(names)
        chosen = np.array([name in wanted for name in self.names(multiset)], dtype=bool)
        return self._with(~chosen), self._with(chosen)

    def names(self, multiset: bool) -> list[str]:
        """The name of each distinct item, without its number where that is written."""
        texts = [str(text) for text in self.items.texts]
        return [text.rpartition(" ×")[0] or text for text in texts] if multiset else texts

    def _with(self, chosen: np.ndarray) -> Baskets:
        new_code = np.cumsum(chosen, dtype=np.int32) - 1
        kept = chosen[self.items.codes]
        before = np.concatenate([[0], np.cumsum(kept)])
        numbers = None if self.items.numbers is None else self.items.numbers[chosen]
        items = replace(
            self.items,
            codes=new_code[self.items.codes[kept]],
            texts=tuple(text for text, wanted in zip(self.items.texts, chosen) if wanted),
            numbers=numbers,
        )
        return replace(self, items=items, offsets=before[self.offsets])

    @cached_property
    def record_of_item(self) -> np.ndarray:
        """The record of each occurrence of an item."""
        return np.repeat(np.arange(len(self)), self.sizes)


def code_baskets(name: str, values: pa.ChunkedArray | pa.Array, *, multiset: bool = False) -> Baskets:
    """Code a column of lists. O(n log n) for n items in all.

    An item that a list repeats counts once; with `multiset`, an item that occurs twice is another item,
    `milk ×2`, than one that occurs once (Terrovitis et al., the footnote of section 3).
    """
    if isinstance(values, pa.Array):
        values = pa.chunked_array([values])
    if not _is_list(values.type):
        raise InputError(
            f"Column {name!r} has the role items, but does not hold lists. If a cell is text such as "
            "'a;b;c', name its separator: {role: items, separator: ';'}."
        )
    flat, missing = pc.list_flatten(values), pc.is_null(values).to_numpy(zero_copy_only=False)
    if flat.null_count:
        raise InputError(
            f"Column {name!r}: {counted(flat.null_count, 'item')} in its lists are missing. Remove them."
        )
    items = code_column(name, flat)
    sizes = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    n_items = max(len(items.texts), 1)
    keys, counts = count_nearly_sorted(np.repeat(np.arange(len(sizes)), sizes) * n_items + items.codes)
    record, codes = keys // n_items, (keys % n_items).astype(np.int32)
    column = Column(name, items.kind, codes, items.texts, items.numbers)
    if multiset:
        pairs, new = np.unique(np.column_stack([codes, counts]), axis=0, return_inverse=True)
        texts = tuple(counted_item(str(items.texts[code]), count) for code, count in pairs)
        column = Column(name, "string", new.ravel().astype(np.int32), texts, None)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(record, minlength=len(sizes)))]).astype(np.int64)
    return Baskets(name, column, offsets, missing, 0 if multiset else int((counts > 1).sum()))


def counted_item(text: str, count: int) -> str:
    """The name of an item that occurs `count` times in one basket."""
    return f"{text} ×{count}"


def with_counts_above(hierarchy: Hierarchy, baskets: Baskets) -> Hierarchy:
    """A hierarchy of items to which those of a multiset, `milk ×2`, are added, each under its item."""
    counts: dict[str, list[str]] = {}
    for text in baskets.items.texts:
        counts.setdefault(str(text).rpartition(" ×")[0], []).append(str(text))
    return Hierarchy.from_paths(
        (below, *path) for path in hierarchy.paths() for below in counts.get(str(path[0]), [f"{path[0]} ×1"])
    )


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def read_baskets(
    dataset: Table, name: str, *, separator: str | None = None, multiset: bool = False
) -> Baskets:
    """The items column in codes; with a separator, its cells are texts, split as in a CSV file."""
    dataset.require([name])
    values = dataset.arrow(name)
    if separator is not None:
        values = split(name, values, separator)
    return code_baskets(name, values, multiset=multiset)


def split(name: str, values: pa.ChunkedArray | pa.Array, separator: str) -> pa.ChunkedArray:
    """Split texts into lists of items, without the spaces around them; quotes protect a separator."""
    if not (
        pa.types.is_string(values.type)
        or pa.types.is_large_string(values.type)
        or pa.types.is_dictionary(values.type)
    ):
        raise InputError(
            f"Column {name!r} has a separator, but its cells are not text. Leave the separator out."
        )
    texts = values.cast(pa.string())
    chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
    return pa.chunked_array([split_texts(chunk, separator) for chunk in chunks])


def split_texts(texts: pa.Array, separator: str) -> pa.ListArray:
    """Split texts into lists of items, each without the spaces around it and none of them empty.

    O(characters); Python touches single texts only where one has a quote.
    """
    if pc.any(pc.match_substring(texts, '"')).as_py():
        lists = [None if text is None else split_text(text, separator) for text in texts.to_pylist()]
        return pa.array(lists, pa.list_(pa.string()))
    parts = pc.split_pattern(texts, separator) if separator.strip() else pc.utf8_split_whitespace(texts)
    items, record = pc.utf8_trim_whitespace(parts.flatten()), pc.list_parent_indices(parts)
    filled = pc.greater(pc.binary_length(items), 0)
    sizes = np.bincount(record.filter(filled).to_numpy(), minlength=len(texts))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), items.filter(filled), mask=pc.is_null(texts))


def split_text(text: str, separator: str) -> list[str]:
    """The items of one text.

    >>> split_text('a;"b; c"; d', ";")
    ['a', 'b; c', 'd']
    """
    cells = next(csv.reader([text], delimiter=separator, skipinitialspace=True), [])
    return [cell.strip() for cell in cells if cell.strip()]


def joined(lists: pa.ListArray, separator: str) -> pa.Array:
    """Join lists into texts; items with a separator or a quote are quoted. A missing list stays missing."""
    values = pc.dictionary_encode(lists.flatten())
    texts = [_quoted(text, separator) for text in values.dictionary.to_pylist()]
    quoted = pa.DictionaryArray.from_arrays(values.indices, pa.array(texts, pa.string())).cast(pa.string())
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    plain = pa.ListArray.from_arrays(pa.array(offsets), quoted, mask=pc.is_null(lists))
    return pc.binary_join(plain, separator)


def _quoted(text: str, separator: str) -> str:
    if separator not in text and '"' not in text and text == text.strip():
        return text
    return '"' + text.replace('"', '""') + '"'


def by_cooccurrence(baskets: Baskets, fanout: int) -> tuple[str, ...]:
    """The items by frequency, but of every fanout ** 2 neighbours those found together side by side.

    A node begins with the most frequent item left; the others follow by the share of their baskets that they
    have in common with those in the node already. O(items in all baskets * fanout ** 2).
    """
    counts, window = baskets.items.counts, fanout**2
    ranked = np.argsort(-counts, kind="stable")
    rank = np.empty(len(ranked), dtype=np.int64)
    rank[ranked] = np.arange(len(ranked))
    together = _together(baskets, rank, window)
    places: list[int] = []
    for start in range(0, len(ranked), window):
        left = list(range(start, min(start + window, len(ranked))))
        while left:
            node = [left.pop(0)]
            for _ in range(min(fanout - 1, len(left))):
                share = [
                    together[place, np.array(node) % window].sum() / counts[ranked[place]] for place in left
                ]
                node.append(left.pop(int(np.argmax(share))))
            places += node
    return tuple(str(baskets.items.texts[item]) for item in ranked[places])


def _together(baskets: Baskets, rank: np.ndarray, window: int) -> np.ndarray:
    """The number of baskets that hold each item, by rank, together with each item of its window."""
    places = rank[baskets.items.codes]
    order = np.lexsort((places, baskets.record_of_item))
    places, record = places[order], baskets.record_of_item[order]
    found = np.zeros((len(rank), window), dtype=np.int64)
    for step in range(1, window):  # neighbours by rank within a basket: at most window - 1 apart
        near = (record[step:] == record[:-step]) & (places[step:] // window == places[:-step] // window)
        if not near.any():
            break
        first, second = places[:-step][near], places[step:][near] % window
        item, other, count = count_pairs(first, second, len(rank), window)
        found[item, other] += count
        found[item // window * window + other, item % window] += count
    return found
