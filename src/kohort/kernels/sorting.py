"""Sorting and searching for kernels.

numba builds `np.sort`, `np.argsort` and `np.searchsorted` from inner functions that differ by what they
capture, not by their names. The functions here are plain: their names distinguish their compiled code.
"""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel, lean

_SHORT = 16  # runs of at most this many elements are sorted by insertion


@kernel
def sorted_copy(values):
    """The values of a one-dimensional array in ascending order. O(n log n)."""
    n = len(values)
    here = np.empty(n, values.dtype)
    for i in range(n):
        here[i] = values[i]
    for start in range(0, n, _SHORT):
        insert_values(here, start, min(start + _SHORT, n))
    if n <= _SHORT:
        return here
    there = np.empty(n, values.dtype)
    width = _SHORT
    while width < n:
        for start in range(0, n, 2 * width):
            merge_values(here, there, start, min(start + width, n), min(start + 2 * width, n))
        here, there = there, here
        width *= 2
    return here


@lean
def insert_values(values, start, end):
    """Sort values[start:end] in place by insertion."""
    for i in range(start + 1, end):
        value = values[i]
        j = i
        while j > start and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@lean
def merge_values(source, target, start, middle, end):
    """Merge two neighbouring sorted runs of `source` into the same place of `target`."""
    left, right = start, middle
    for place in range(start, end):
        if right >= end or (left < middle and source[left] <= source[right]):
            target[place] = source[left]
            left += 1
        else:
            target[place] = source[right]
            right += 1


@kernel
def stable_order(keys):
    """The positions of a one-dimensional array in ascending order of its values, ties as they came.

    O(n log n). NaN is not expected.
    """
    n = len(keys)
    here = np.empty(n, np.int64)
    for i in range(n):
        here[i] = i
    for start in range(0, n, _SHORT):
        insert_positions(keys, here, start, min(start + _SHORT, n))
    if n <= _SHORT:
        return here
    there = np.empty(n, np.int64)
    width = _SHORT
    while width < n:
        for start in range(0, n, 2 * width):
            merge_positions(keys, here, there, start, min(start + width, n), min(start + 2 * width, n))
        here, there = there, here
        width *= 2
    return here


@lean
def insert_positions(keys, order, start, end):
    """Sort order[start:end] in place by the keys at these positions, by insertion."""
    for i in range(start + 1, end):
        position = order[i]
        key = keys[position]
        j = i
        while j > start and keys[order[j - 1]] > key:
            order[j] = order[j - 1]
            j -= 1
        order[j] = position


@lean
def merge_positions(keys, source, target, start, middle, end):
    """Merge two neighbouring runs of positions, each sorted by key, into the same place of `target`."""
    left, right = start, middle
    for place in range(start, end):
        if right >= end or (left < middle and keys[source[left]] <= keys[source[right]]):
            target[place] = source[left]
            left += 1
        else:
            target[place] = source[right]
            right += 1


@lean
def place_among(ordered, value):
    """How many elements of a sorted array are below a value. O(log n)."""
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def distinct_values(values):
    """The different values of a one-dimensional array in ascending order. O(n log n)."""
    ordered = sorted_copy(values)
    count = 0
    for i in range(len(ordered)):
        if i == 0 or ordered[i] != ordered[i - 1]:
            ordered[count] = ordered[i]
            count += 1
    return ordered[:count]


@kernel
def heap_of(keys):
    """The positions of a one-dimensional array as a heap for `pop_least`. O(n)."""
    heap = np.arange(len(keys))
    for place in range(len(keys) // 2 - 1, -1, -1):
        _sift_down(keys, heap, place, len(keys))
    return heap


@lean
def pop_least(keys, heap, size):
    """The position of the least key among the first `size` of a heap, of equal ones the first one.

    The rest are a heap of `size` - 1. Popped one after the other, positions come in their stable order;
    this is faster than sorting them where few are needed. O(log n).
    """
    least = heap[0]
    heap[0] = heap[size - 1]
    _sift_down(keys, heap, 0, size - 1)
    return least


@lean
def _sift_down(keys, heap, place, size):
    """Let a position sink in a heap until no key beneath it comes before its own."""
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _comes_before(keys, heap[child + 1], heap[child]):
            child += 1
        if not _comes_before(keys, heap[child], heap[place]):
            return
        heap[place], heap[child] = heap[child], heap[place]
        place = child


@lean
def _comes_before(keys, one, other):
    return keys[one] < keys[other] or (keys[one] == keys[other] and one < other)
