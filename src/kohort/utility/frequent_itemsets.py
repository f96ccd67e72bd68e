"""The most frequent itemsets of baskets, mined size by size with a rising threshold."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from kohort.verification.promises.itemsets import Occurrences, itemsets

__all__ = ["FrequentSets", "frequent_sets"]

LONGEST = 3
_MOST_SETS = 30_000_000  # sets of one size in all baskets; larger sizes are left out where there are more


@dataclass(frozen=True)
class FrequentSets:
    """The sets of up to `size` nodes that at least `least` baskets have, with their supports.

    `least` is the support of number K by frequency, or 1 where there are fewer sets than that.
    """

    supports: dict[tuple[int, ...], int]
    least: int
    size: int

    def top(self, wanted: int) -> list[tuple[int, ...]]:
        """The most frequent sets: of equal ones the smaller, then the first by its nodes."""
        ranked = sorted(self.supports, key=lambda nodes: (-self.supports[nodes], len(nodes), nodes))
        return ranked[:wanted]


def frequent_sets(
    offsets: np.ndarray,
    nodes: np.ndarray,
    wanted: int,
    *,
    last: np.ndarray | None = None,
    size: int = LONGEST,
) -> FrequentSets:
    """The `wanted` most frequent sets of up to `size` nodes, and all that are as frequent as the last one.

    Basket b has the distinct nodes nodes[offsets[b]:offsets[b + 1]]. A set of size s is counted only if its
    nodes are frequent enough by what is known from smaller sets. Sizes are left out, and `size` of the result
    says so, where all baskets together have more than 30 million sets.

    last  per node the last one below it: sets with a node above another one do not count; None: all count
    """
    found: dict[tuple[int, ...], int] = {}
    counts = np.bincount(nodes)
    for node in np.flatnonzero(counts).tolist():
        found[(node,)] = int(counts[node])
    found, least = _best(found, wanted)
    for length in range(2, size + 1):
        kept = counts[nodes] >= least
        before = np.concatenate([[0], np.cumsum(kept)])
        offsets, nodes = before[offsets], nodes[kept]
        if sum(comb(n, length) * times for n, times in _sizes(offsets)) > _MOST_SETS:
            return FrequentSets(found, least, length - 1)
        for part in itemsets(np.zeros(len(offsets) - 1, dtype=np.int64), offsets, nodes, length):
            if part.sets.shape[1] < length:
                continue
            found |= _counted(part, least, last)
            if len(found) > 4 * wanted:
                found, least = _best(found, wanted)
        found, least = _best(found, wanted)
    return FrequentSets(found, least, size)


def _sizes(offsets: np.ndarray) -> list[tuple[int, int]]:
    """How many baskets have each number of nodes."""
    sizes, times = np.unique(np.diff(offsets), return_counts=True)
    return list(zip(sizes.tolist(), times.tolist()))


def _best(found: dict[tuple[int, ...], int], wanted: int) -> tuple[dict[tuple[int, ...], int], int]:
    """The sets that are as frequent as number `wanted` by frequency, and how frequent that one is."""
    if len(found) < wanted:
        return found, 1
    supports = np.fromiter(found.values(), dtype=np.int64, count=len(found))
    least = int(np.partition(supports, len(supports) - wanted)[len(supports) - wanted])
    return {nodes: support for nodes, support in found.items() if support >= least}, least


def _counted(part: Occurrences, least: int, last: np.ndarray | None) -> dict[tuple[int, ...], int]:
    """The sets of one part that are frequent enough."""
    enough = part.support >= least
    sets = map(tuple, part.sets[enough].tolist())
    counted = dict(zip(sets, part.support[enough].tolist()))
    if last is None:
        return counted
    return {nodes: n for nodes, n in counted.items() if not _nested(nodes, last)}


def _nested(nodes: tuple[int, ...], last: np.ndarray) -> bool:
    """Whether a node lies above another one; they are ascending, in depth-first order."""
    return any(low <= last[high] for i, high in enumerate(nodes) for low in nodes[i + 1 :])
