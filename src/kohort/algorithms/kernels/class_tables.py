"""Classes of rows that are generalized alike, found without sorting."""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel

__all__ = ["number_classes", "sum_by_class"]


@kernel
def number_classes(values, rows, columns, start, mapped, radix):
    """Number rows by what they are mapped to in some columns: the class of each row, the first of each class.

    Row rows[i] has the value values[rows[i], c] in column c, which is mapped to mapped[start[c] + value], a
    number below radix[c]. Classes are numbered by first appearance; `first` holds places in `rows`.
    Where all combinations can be numbered in 62 bits, a row is known by its key alone. O(rows * columns).
    """
    combinations = 1.0
    for c in columns:
        combinations *= radix[c]
    keys_tell = combinations < 2.0**62
    bits = 4
    while 1 << bits < 2 * len(rows):
        bits += 1
    class_at = np.full(1 << bits, -1, np.int32)
    class_of = np.empty(len(rows), np.int32)
    first = np.empty(len(rows), np.int32)
    key_of = np.empty(len(rows), np.uint64)
    shift, last_slot = np.uint64(64 - bits), (1 << bits) - 1
    n_classes = 0
    for i in range(len(rows)):
        row = rows[i]
        key = np.uint64(0)
        for c in columns:
            key = key * np.uint64(radix[c]) + np.uint64(mapped[start[c] + values[row, c]])
        slot = np.int64((key ^ (key >> np.uint64(32))) * np.uint64(11400714819323198485) >> shift)
        while True:
            found = class_at[slot]
            if found < 0:
                class_at[slot] = n_classes
                class_of[i] = n_classes
                first[n_classes] = i
                key_of[n_classes] = key
                n_classes += 1
                break
            if key_of[found] == key and (
                keys_tell or _alike(values, row, rows[first[found]], columns, start, mapped)
            ):
                class_of[i] = found
                break
            slot = (slot + 1) & last_slot
    return class_of, first[:n_classes].copy()


@kernel
def _alike(values, row, other, columns, start, mapped):
    for c in columns:  # noqa: SIM110 (numba knows no generators)
        if mapped[start[c] + values[row, c]] != mapped[start[c] + values[other, c]]:
            return False
    return True


@kernel
def sum_by_class(class_of, counts, n_classes):
    """The sum of the counts of each class."""
    total = np.zeros(n_classes, np.int64)
    for i in range(len(class_of)):
        total[class_of[i]] += counts[i]
    return total
