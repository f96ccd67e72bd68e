"""Classes of rows that are generalized alike, found without sorting."""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel

_SLOTS_PER_ROW = 4  # so many combinations per row at most have a slot each, without hashing


@kernel
def roll_up(values, rows, counts, columns, start, mapped, radix):
    """The first row of each class and the sum of its counts, for classes as `number_classes` finds them.

    O(rows * columns).
    """
    class_of, first = number_classes(values, rows, columns, start, mapped, radix)
    return rows[first], sum_by_class(class_of, counts, len(first))


@kernel
def number_classes(values, rows, columns, start, mapped, radix):
    """Number rows by what they are mapped to in some columns: the class of each row, the first of each class.

    Row rows[i] has the value values[rows[i], c] in column c, which is mapped to mapped[start[c] + value], a
    number below radix[c]. Classes are numbered by first appearance; `first` holds places in `rows`.
    Where there are few combinations of numbers, each has a slot of its own; otherwise their keys are hashed,
    and where all combinations can be numbered in 62 bits, a row is known by its key alone. O(rows * columns);
    fastest where `values` is stored column by column.
    """
    n_rows = len(rows)
    combinations = 1.0
    for c in columns:
        combinations *= radix[c]
    keys_tell = combinations < 2.0**62
    own_slots = combinations <= _SLOTS_PER_ROW * n_rows
    bits = 4
    while 1 << bits < 2 * n_rows:
        bits += 1
    shift, last_slot = np.uint64(64 - bits), np.uint64((1 << bits) - 1)
    class_at = np.full(np.int64(combinations) if own_slots else 1 << bits, -1, np.int32)
    class_of = np.empty(n_rows, np.int32)
    first = np.empty(n_rows, np.int32)
    keys = _row_keys(values, rows, columns, start, mapped, radix)
    n_classes = 0
    for i in range(n_rows):
        key = keys[i]
        slot = key
        if not own_slots:
            slot = (key ^ (key >> np.uint64(32))) * np.uint64(11400714819323198485) >> shift
        while True:
            found = class_at[slot]
            if found < 0:
                class_at[slot] = n_classes
                class_of[i] = n_classes
                first[n_classes] = i
                n_classes += 1
                break
            if own_slots or (
                keys[first[found]] == key
                and (keys_tell or _alike(values, rows[i], rows[first[found]], columns, start, mapped))
            ):
                class_of[i] = found
                break
            slot = (slot + np.uint64(1)) & last_slot
    return class_of, first[:n_classes].copy()


@kernel
def _row_keys(values, rows, columns, start, mapped, radix):
    """The combination of numbers that each row is mapped to, as one number; column by column."""
    keys = np.zeros(len(rows), np.uint64)
    for c in columns:
        column, numbers, n_numbers = values[:, c], mapped[start[c] :], np.uint64(radix[c])
        for i in range(len(rows)):
            number = numbers[np.uint64(column[np.uint64(rows[i])])]
            keys[i] = keys[i] * n_numbers + np.uint64(number)
    return keys


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
