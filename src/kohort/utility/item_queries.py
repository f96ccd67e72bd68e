"""Query error of items: how many baskets hold an item or two, answered from the release.

A published label stands for each item under it with the same probability; a withheld basket for none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kohort.errors import percent
from kohort.pipeline.before_after import BasketPair
from kohort.utility.queries import relative_errors
from kohort.verification.item_coverage import published_nodes


def item_query_error(pair: BasketPair, *, queries: int, seed: int) -> dict[str, Any] | None:
    """The relative errors of queries for one item, or for two of the same basket.

    O(queries * baskets with an asked item).
    """
    filled = np.flatnonzero(pair.original.sizes > 0)
    if not queries or not len(filled):
        return None
    rng = np.random.default_rng(seed)
    asked = []
    for basket in rng.choice(filled, queries):
        items = pair.original.items.codes[pair.original.offsets[basket] : pair.original.offsets[basket + 1]]
        wanted = min(int(rng.integers(1, 3)), len(items))
        asked.append(rng.choice(items, wanted, replace=False))
    true, estimated = item_answers(pair, asked)
    figures = relative_errors(true, estimated)
    sentence = (
        f"Of {queries:,} random queries for the number of baskets that hold one or two items, half are "
        "answered from the "
        f"release with an error of at most {percent(figures['median_relative_error'])}."
    )
    return {"queries": queries, **figures, "sentence": sentence}


def item_answers(pair: BasketPair, asked: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """How many baskets hold all items (codes) of each query, and how many the release suggests."""
    distinct = np.unique(np.concatenate(asked))
    n = len(pair.original)
    holds = {item: _holding(pair, item) for item in distinct.tolist()}
    suggests = _suggested(pair, distinct)
    true = [_together([(holds[i], np.ones(len(holds[i]))) for i in items.tolist()], n) for items in asked]
    estimated = [_together([suggests[i] for i in items.tolist()], n) for items in asked]
    return np.array(true), np.array(estimated)


def _holding(pair: BasketPair, item: int) -> np.ndarray:
    return pair.original.record_of_item[pair.original.items.codes == item]


def _suggested(pair: BasketPair, items: np.ndarray) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """The published baskets that may hold each item, and how probably: by the narrowest label."""
    hierarchy, published = pair.hierarchy, pair.published
    observed = np.zeros(len(hierarchy.leaves) + 1, dtype=np.int64)
    leaf = np.array([hierarchy.leaf_of[text] for text in pair.original.items.texts], dtype=np.int64)
    observed[leaf + 1] = 1
    before = np.cumsum(observed)
    occurrence, node, _ = published_nodes(published, hierarchy)
    record = published.record_of_item[occurrence]
    lo, hi = hierarchy.lo[node], hierarchy.hi[node]
    share = 1 / np.maximum(before[hi + 1] - before[lo], 1)
    order = np.lexsort((-share, record))
    found = {}
    for item in items.tolist():
        covering = order[(lo[order] <= leaf[item]) & (leaf[item] <= hi[order])]
        records, first = np.unique(record[covering], return_index=True)
        found[item] = records, share[covering[first]]
    return found


def _together(parts: list[tuple[np.ndarray, np.ndarray]], n_records: int) -> float:
    """The sum over records of the product of their probabilities in each part; 0 where one has none."""
    product = np.ones(n_records)
    for records, share in parts:
        own = np.zeros(n_records)
        own[records] = share
        product *= own
    return float(product.sum())
