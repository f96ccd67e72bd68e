"""Hierarchies that put rare values together first: a Huffman tree over the values' counts."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from kohort.data.build_order import require_fanout
from kohort.data.builder import values_of
from kohort.data.column import Column
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy

_NAMED_VALUES = 4  # a node of more values than this, or a longer name, gets a number
_NAME_LENGTH = 40


@dataclass(frozen=True)
class ByFrequency:
    """The rarest values are joined first, `fanout` at a time; frequent ones stay close to the root.

    Small nodes are labelled by their values, `{a, b}`, others `Group 3 (12 values)`, also where a value is
    spelled `{a, b}`: no label shows how many records there are.
    """

    fanout: int = 3

    def __post_init__(self) -> None:
        require_fanout(self.fanout)

    def build(self, column: Column) -> Hierarchy:
        values = values_of(column)
        parent = _huffman(column.counts[: len(values)], self.fanout)
        lineage = [_ancestors(parent, leaf) for leaf in range(len(values))]
        label = _labels(values, lineage)
        return Hierarchy.from_paths(
            (value, *(label[node] for node in above), STAR) for value, above in zip(values, lineage)
        )

    def to_spec(self) -> dict[str, Any]:
        return {"frequency": self.fanout}


def by_frequency(fanout: int = 3) -> ByFrequency:
    """Rare values together first, `fanout` at a time."""
    return ByFrequency(fanout)


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
    """The nodes above a leaf but the root."""
    nodes, root = [], len(parent) - 1
    node = parent[leaf]
    while -1 < node < root:
        nodes.append(node)
        node = parent[node]
    return nodes


def _labels(values: list[str], lineage: list[list[int]]) -> dict[int, str]:
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
