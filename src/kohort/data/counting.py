"""Counting pairs of codes: distinct pairs are few even where records are many."""

from __future__ import annotations

import numpy as np

__all__ = ["count_nearly_sorted", "count_pairs"]


def count_pairs(
    left: np.ndarray, right: np.ndarray, n_left: int, n_right: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct pairs of two columns of codes, and how often each occurs. O(n), or O(n log n) if sparse.

    >>> count_pairs(np.array([0, 1, 0]), np.array([2, 0, 2]), 2, 3)
    (array([0, 1]), array([2, 0]), array([2, 1]))
    """
    key = left.astype(np.int64) * n_right
    key += right
    if n_left * n_right <= 4 * len(key) + 1024:
        counts = np.bincount(key, minlength=n_left * n_right)
        pairs = np.flatnonzero(counts)
        return pairs // n_right, pairs % n_right, counts[pairs]
    pairs, counts = np.unique(key, return_counts=True)
    return pairs // n_right, pairs % n_right, counts


def count_nearly_sorted(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys, ascending, and how often each occurs; O(n) where they are almost in order.

    As keys of records and their items are, one record after another.

    >>> count_nearly_sorted(np.array([1, 0, 2, 2, 3]))
    (array([0, 1, 2, 3]), array([1, 1, 2, 1]))
    """
    keys = np.sort(keys, kind="stable")
    first = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    if first.all():
        return keys, np.ones(len(keys), dtype=np.int64)
    places = np.flatnonzero(first)
    return keys[places], np.diff(np.append(places, len(keys)))
