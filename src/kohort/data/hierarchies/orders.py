"""Hierarchies over an order, given, natural or by frequency: neighbours grouped step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Annotated, Any, ClassVar

import numpy as np

from kohort.data.column import Column, text_of
from kohort.data.domain import STAR
from kohort.data.hierarchies import Builder, labels_of, values_of
from kohort.data.hierarchies.checks import check
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, did_you_mean
from kohort.parameters import Within, check_option

_ORDERS = ("natural", "frequency", "file", "cooccurrence")


@dataclass(frozen=True)
class Order(Builder):
    """Every `fanout` neighbours make a node, and again every `fanout` nodes, until one root is left.

    values  natural (numbers and dates by size, text by alphabet), frequency (the most frequent first),
            file (as they first appear), cooccurrence (of items only: by frequency, and of similar ones those
            found together), or the values themselves in their order
    fanout  one number, or one per level from the leaves up; the last one is used again

    A node is labelled `[a, b]` where the order is that of numbers or dates, else `a … b`, by its first and
    last value. An order by frequency shows a reader which values are rare.
    """

    key: ClassVar[str] = "order"
    says_all: ClassVar[bool] = True
    values: str | tuple[str, ...] = "natural"
    fanout: int | tuple[int, ...] = 4

    def __post_init__(self) -> None:
        if isinstance(self.values, str):
            if self.values not in _ORDERS:
                raise InputError(f"Unknown order {self.values!r}. {did_you_mean(self.values, _ORDERS)}")
        elif isinstance(self.values, (list, tuple)) and self.values:
            object.__setattr__(self, "values", tuple(text_of(value) for value in self.values))
        else:
            raise InputError(
                "An order must be natural, frequency, file, cooccurrence (of items), or a list of the values."
            )
        if isinstance(self.fanout, list):
            object.__setattr__(self, "fanout", tuple(self.fanout))
        elif isinstance(self.fanout, np.integer):
            object.__setattr__(self, "fanout", int(self.fanout))
        for fanout in self._fanouts:
            require_fanout(fanout)
        if not self._fanouts:
            raise InputError("The 'fanout' must be one or more whole numbers of at least 2. Got none.")

    def build(self, column: Column) -> Hierarchy:
        values = self._in_order(column)
        by_size = self.values == "natural" and column.ordered
        levels = [_labels(values, size, by_size) for size in self._sizes(len(values))]
        paths = list(zip(values, *levels, [STAR] * len(values)))
        if isinstance(self.values, tuple):
            check(paths, column).raise_if_broken(column.name, allow_missing=True)
        return Hierarchy.from_paths(paths)

    @property
    def _fanouts(self) -> tuple[int, ...]:
        return self.fanout if isinstance(self.fanout, tuple) else (self.fanout,)

    def _in_order(self, column: Column) -> Sequence[str]:
        if isinstance(self.values, tuple):
            return self.values
        if self.values == "cooccurrence":
            raise InputError(
                f"Column {column.name!r}: the order cooccurrence is for items. Use frequency or another "
                "order."
            )
        values = values_of(column)
        if self.values == "frequency":
            return [values[i] for i in np.argsort(-column.counts[: len(values)], kind="stable")]
        if self.values == "file":
            codes, first = np.unique(column.codes, return_index=True)
            return [values[code] for code in codes[np.argsort(first)] if code < len(values)]
        return values

    def _sizes(self, n: int) -> Iterator[int]:
        """How many values the nodes of each level cover, from the finest to the last below the root."""
        size, level = 1, 0
        while size * self._fanouts[min(level, len(self._fanouts) - 1)] < n:
            size *= self._fanouts[min(level, len(self._fanouts) - 1)]
            level += 1
            yield size


def order(values: str | Sequence[Any] = "natural", *, fanout: int | Sequence[int] = 4) -> Order:
    """Every `fanout` neighbours in this order make a node.

    >>> order(["none", "mild", "severe"], fanout=2).to_spec()
    {'order': ['none', 'mild', 'severe'], 'fanout': 2}
    """
    return Order(values, fanout)  # type: ignore[arg-type]


def require_fanout(fanout: Any) -> None:
    """Raise InputError unless the fanout is a whole number from 2 on."""
    check_option("fanout", fanout, Annotated[int, Within(2)])


def _end(text: str) -> str:
    """A value as an end of a label: in quotes, as in CSV, where a part of it could be taken for an end."""
    return '"' + text.replace('"', '""') + '"' if "…" in text or text.startswith('"') else text


def _labels(values: Sequence[str], size: int, by_size: bool) -> list[str]:
    def label(node: int) -> str:
        first, last = values[node * size], values[min((node + 1) * size, len(values)) - 1]
        if first == last:
            return first  # alone in its node: the leaf itself
        return f"[{first}, {last}]" if by_size else f"{_end(first)} … {_end(last)}"

    return labels_of(np.arange(len(values)) // size, label)


_NAMED_VALUES = 4  # a node of more values than this, or a longer name, gets a number
_NAME_LENGTH = 40


@dataclass(frozen=True)
class ByFrequency(Builder):
    """The rarest values are joined first, `fanout` at a time; frequent ones stay close to the root.

    Small nodes are labelled by their values, `{a, b}`, others `Group 3 (12 values)`, also where a value is
    spelled `{a, b}`: no label shows how many records there are.
    """

    key: ClassVar[str] = "frequency"
    fanout: int = 3

    def __post_init__(self) -> None:
        require_fanout(self.fanout)

    def build(self, column: Column) -> Hierarchy:
        values = values_of(column)
        parent = _huffman(column.counts[: len(values)], self.fanout)
        lineage = [_ancestors(parent, leaf) for leaf in range(len(values))]
        label = _labels_by_frequency(values, lineage)
        return Hierarchy.from_paths(
            (value, *(label[node] for node in above), STAR) for value, above in zip(values, lineage)
        )


by_frequency = ByFrequency


def _huffman(counts: np.ndarray, fanout: int) -> list[int]:
    """Parents of the nodes of a Huffman tree: first the leaves, last the root; ties by number."""
    n = len(counts)
    parent = [-1] * n
    heap = [(int(count), leaf) for leaf, count in enumerate(counts)]
    heapify(heap)
    take = 2 + (n - 2) % (fanout - 1)  # so that only the deepest node may be short of children
    while len(heap) > 1:
        node, total = len(parent), 0
        for _ in range(take):
            count, child = heappop(heap)
            parent[child], total = node, total + count
        parent.append(-1)
        heappush(heap, (total, node))
        take = fanout
    return parent


def _ancestors(parent: list[int], leaf: int) -> list[int]:
    nodes, root = [], len(parent) - 1
    node = parent[leaf]
    while -1 < node < root:
        nodes.append(node)
        node = parent[node]
    return nodes


def _labels_by_frequency(values: list[str], lineage: list[list[int]]) -> dict[int, str]:
    below: dict[int, int] = {}
    first: dict[int, list[str]] = {}
    for value, nodes in zip(values, lineage):
        for node in reversed(nodes):  # from the root down: groups are numbered as a reader meets them
            below[node] = below.get(node, 0) + 1
            if below[node] <= _NAMED_VALUES:
                first.setdefault(node, []).append(value)
    labels, number, taken = {}, 0, set(values)
    for node, count in below.items():
        labels[node] = f"{{{', '.join(first[node])}}}"
        if count > _NAMED_VALUES or len(labels[node]) > _NAME_LENGTH or labels[node] in taken:
            number += 1
            labels[node] = f"Group {number} ({count} values)"
    return labels
