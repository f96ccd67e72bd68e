"""What baskets lose for mining: tKd, tKd-ML2, and the relative error of pair supports.

By the names that Terrovitis, Liagouris, Mamoulis and Skiadopoulos (Privacy preservation by disassociation,
PVLDB 2012) gave such measures. Several levels: Han and Fu (Discovery of multiple-level association rules from
large databases, VLDB 1995). Numbers of sets and pairs, ties, and the counting of labels are our own choice.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.hierarchy import Hierarchy
from kohort.errors import percent
from kohort.pipeline.before_after import BasketPair
from kohort.utility.frequent_itemsets import LONGEST, FrequentSets, frequent_sets
from kohort.utility.item_queries import item_answers
from kohort.verification.item_coverage import published_nodes

__all__ = ["TOP", "itemset_loss", "pair_error", "top_lost"]

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
    return _lost(before, after, top), before.size


def _lost(before: FrequentSets, after: FrequentSets, top: int) -> float:
    wanted = before.top(top)
    return sum(nodes not in after.supports for nodes in wanted) / len(wanted)


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
