"""Classes of rows that are generalized alike, found without sorting."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["number_classes", "sum_by_class"]


@njit(cache=True, nogil=True)
def number_classes(values, rows, columns, start, mapped):
    """Number rows by what they are mapped to in some columns: the class of each row, the first of each class.

    Row rows[i] has the value values[rows[i], c] in column c, which is mapped to mapped[start[c] + value].
    Classes are numbered by first appearance; `first` holds places in `rows`. O(rows * columns).
    """
    n_slots = 16
    while n_slots < 2 * len(rows):
        n_slots *= 2
    class_at = np.full(n_slots, -1, np.int32)
    class_of = np.empty(len(rows), np.int32)
    first = np.empty(len(rows), np.int32)
    mix_of = np.empty(len(rows), np.uint64)
    n_classes = 0
    for i in range(len(rows)):
        row = rows[i]
        mix = np.uint64(14695981039346656037)
        for c in columns:
            mix = (mix ^ np.uint64(mapped[start[c] + values[row, c]])) * np.uint64(1099511628211)
            mix ^= mix >> np.uint64(29)
        slot = np.int64(mix & np.uint64(n_slots - 1))
        while True:
            found = class_at[slot]
            if found < 0:
                class_at[slot] = n_classes
                class_of[i] = n_classes
                first[n_classes] = i
                mix_of[n_classes] = mix
                n_classes += 1
                break
            if mix_of[found] == mix and _alike(values, row, rows[first[found]], columns, start, mapped):
                class_of[i] = found
                break
            slot = (slot + 1) & (n_slots - 1)
    return class_of, first[:n_classes].copy()


@njit(cache=True, nogil=True)
def _alike(values, row, other, columns, start, mapped):
    for c in columns:  # noqa: SIM110 (numba knows no generators)
        if mapped[start[c] + values[row, c]] != mapped[start[c] + values[other, c]]:
            return False
    return True


@njit(cache=True, nogil=True)
def sum_by_class(class_of, counts, n_classes):
    """The sum of the counts of each class."""
    total = np.zeros(n_classes, np.int64)
    for i in range(len(class_of)):
        total[class_of[i]] += counts[i]
    return total
