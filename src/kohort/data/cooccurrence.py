"""An order of items for a hierarchy: items of similar support, and of these the ones found together."""

from __future__ import annotations

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.counting import count_pairs


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
