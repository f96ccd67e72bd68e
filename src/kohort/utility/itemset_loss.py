"""What baskets lose for mining: tKd, tKd-ML2, and the relative error of pair supports.

By the names that Terrovitis, Liagouris, Mamoulis and Skiadopoulos (Privacy preservation by disassociation,
PVLDB 2012) gave such measures. Several levels: Han and Fu (Discovery of multiple-level association rules from
large databases, VLDB 1995). Numbers of sets and pairs, ties, and the counting of labels are our own choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.hierarchy import Hierarchy
from kohort.errors import percent
from kohort.job.sides import BasketPair
from kohort.utility.queries import item_answers
from kohort.verification.item_coverage import published_nodes
from kohort.verification.promises.itemsets import Occurrences, itemsets

TOP = 1_000
_FIRST_RANK = 200  # the items of the papers' pairs: neither the most frequent ones nor rare ones
_N_ITEMS = 20


def itemset_loss(pair: BasketPair, *, top: int = TOP) -> dict[str, Any] | None:
    """The three measures, and a sentence; None where no basket has items."""
    if not len(pair.original.items.codes):
        return None
    tkd, size = top_lost(pair, top)
    ml2, size_ml2 = top_lost(pair, top, levels=True)
    error, pairs = pair_error(pair)
    sentence = (
        f"Of the {top:,} most frequent sets of items (up to {size}), {percent(tkd)} are not among the most "
        f"frequent of the release (tKd); {percent(ml2)} where groups of items count, too (tKd-ML2, sets of "
        f"up to {size_ml2})."
    )
    if error is not None:
        sentence += f" The supports of {pairs:,} pairs of items are off by {percent(error)} on average."
    return {
        "top": top,
        "tkd": tkd,
        "tkd_sizes": size,
        "tkd_ml2": ml2,
        "tkd_ml2_sizes": size_ml2,
        "pair_error": error,
        "pairs": pairs,
        "sentence": sentence,
    }


def top_lost(pair: BasketPair, top: int, *, levels: bool = False) -> tuple[float, int]:
    """The share of the original's `top` most frequent sets that are not among those of the release.

    Labels are items like any others. With `levels`, an item or label stands for every node above it as well,
    except the root, and sets with a node above another one do not count. Returns the share, and the largest
    size of the sets. A set that is as frequent as the last of the release's most frequent ones is among them.
    """
    hierarchy = pair.hierarchy
    last = hierarchy.leaf_node[hierarchy.hi] if levels else None
    sides = [_original(pair), _published(pair)]
    sides = [_with_levels(hierarchy, *side) if levels else side for side in sides]
    size = LONGEST
    before, after = (frequent_sets(*side, top, last=last, size=size) for side in sides)
    if before.size != after.size:
        size = min(before.size, after.size)
        before, after = (frequent_sets(*side, top, last=last, size=size) for side in sides)
    wanted = before.top(top)
    return sum(nodes not in after.supports for nodes in wanted) / len(wanted), before.size


def _original(pair: BasketPair) -> tuple[np.ndarray, np.ndarray]:
    """The offsets of the original baskets, and the node of every item."""
    hierarchy = pair.hierarchy
    node = [int(hierarchy.leaf_node[hierarchy.leaf_of[text]]) for text in pair.original.items.texts]
    return pair.original.offsets, np.array(node, dtype=np.int64)[pair.original.items.codes]


def _published(pair: BasketPair) -> tuple[np.ndarray, np.ndarray]:
    """The same of the published baskets; the root says nothing and is left out."""
    occurrence, node, _ = published_nodes(pair.published, pair.hierarchy)
    n_nodes = len(pair.hierarchy.parent)
    says = node > 0 if n_nodes > 1 else node == 0
    record = pair.published.record_of_item[occurrence]
    return _distinct(record[says], node[says], len(pair.published), n_nodes)


def _distinct(
    record: np.ndarray, node: np.ndarray, n_records: int, n_nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    keys = np.unique(record * n_nodes + node)
    sizes = np.bincount(keys // n_nodes, minlength=n_records)
    return np.concatenate([[0], np.cumsum(sizes)]), keys % n_nodes


def _with_levels(
    hierarchy: Hierarchy, offsets: np.ndarray, nodes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The baskets with all nodes above theirs, except the root."""
    record = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    records, found = [], []
    while len(nodes):
        records.append(record)
        found.append(nodes)
        above = hierarchy.parent[nodes].astype(np.int64)
        record, nodes = record[above > 0], above[above > 0]
    every, of = (np.concatenate([*part, np.zeros(0, dtype=np.int64)]) for part in (found, records))
    return _distinct(of, every, len(offsets) - 1, len(hierarchy.parent))


def pair_error(pair: BasketPair) -> tuple[float | None, int]:
    """The mean of |s - s'| / ((s + s') / 2) over pairs of items, and the number of pairs.

    s is the support of a pair in the original, s' the one that the release suggests. The items are numbers
    201 to 220 by their support, or the last 20 where there are fewer. Pairs that neither side has are left
    out.
    """
    chosen = _middling(pair.original)
    asked = [np.array(two) for two in combinations(chosen, 2)]
    if not asked:
        return None, 0
    true, estimated = item_answers(pair, asked)
    some = true + estimated > 0
    if not some.any():
        return None, 0
    errors = np.abs(true - estimated)[some] / ((true + estimated)[some] / 2)
    return float(errors.mean()), int(some.sum())


def _middling(baskets: Baskets) -> list[int]:
    """The items (codes) whose pairs are compared."""
    support = np.bincount(baskets.items.codes, minlength=len(baskets.items.texts))
    order = np.lexsort((np.arange(len(support)), -support))
    first = max(min(_FIRST_RANK, len(order) - _N_ITEMS), 0)
    return order[first : first + _N_ITEMS].tolist()


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
        sizes, baskets = np.unique(np.diff(offsets), return_counts=True)
        if sum(comb(n, length) * times for n, times in zip(sizes.tolist(), baskets.tolist())) > _MOST_SETS:
            return FrequentSets(found, least, length - 1)
        for part in itemsets(np.zeros(len(offsets) - 1, dtype=np.int64), offsets, nodes, length):
            if part.sets.shape[1] < length:
                continue
            found |= _counted(part, least, last)
            if len(found) > 4 * wanted:
                found, least = _best(found, wanted)
        found, least = _best(found, wanted)
    return FrequentSets(found, least, size)


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
