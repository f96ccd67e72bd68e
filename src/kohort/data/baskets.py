"""A set-valued column: per record a set of items, coded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.column import Column, code_column
from kohort.data.counting import count_nearly_sorted
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, counted


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
        """Whether each record holds the item of each name, however often: an array per name.

        O(names * records): for a few items.
        """
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
        """A copy of the baskets that keeps some of the items."""
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
    if multiset:
        codes, texts = _with_counts(codes, counts, items.texts)
        column = Column(name, "string", codes, texts, None)
    else:
        column = Column(name, items.kind, codes, items.texts, items.numbers)
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


def _with_counts(
    codes: np.ndarray, counts: np.ndarray, texts: tuple[str | None, ...]
) -> tuple[np.ndarray, tuple[str, ...]]:
    pairs, new = np.unique(np.column_stack([codes, counts]), axis=0, return_inverse=True)
    return new.ravel().astype(np.int32), tuple(counted_item(str(texts[code]), n) for code, n in pairs)


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
