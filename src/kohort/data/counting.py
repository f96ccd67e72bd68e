"""Counting codes, pairs of codes and rows of codes: distinct ones are few even where records are many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from kohort.data.column import Column

AT_ONCE = 1 << 20  # records that are counted at a time, since counting needs eight bytes for each
_IN_CACHE = 1 << 17  # records that are counted quickest at a time: 2.5 ns each, against 4.3 ns in millions
_DENSE = 1 << 22  # pairs up to which each has a counter of its own

Codes = np.ndarray | Column
Pairs = tuple[np.ndarray, np.ndarray, np.ndarray]


def codes_at(codes: Codes, rows: np.ndarray | slice) -> np.ndarray:
    """The codes of some records."""
    return codes.at(rows) if isinstance(codes, Column) else codes[rows]


def count_codes(codes: Codes, n_codes: int, weights: np.ndarray | None = None) -> np.ndarray:
    """How often each code occurs, or how much its records weigh together. O(n).

    >>> count_codes(np.array([2, 0, 2]), 3)
    array([1, 0, 2])
    """
    counts = np.zeros(n_codes, dtype=np.int64 if weights is None else np.float64)
    for rows in stretches_of(len(codes)):
        counts += np.bincount(codes_at(codes, rows), None if weights is None else weights[rows], n_codes)
    return counts


def count_pairs(
    left: Codes,
    right: Codes,
    n_left: int,
    n_right: int,
    chosen: np.ndarray | None = None,
    rows: np.ndarray | None = None,
) -> Pairs:
    """The distinct pairs of two columns of codes, and how often each occurs. O(n), or O(n log n) if sparse.

    chosen  per record whether it is counted; None: all are
    rows    per record of the left column the one of the right column; None: both are in one order

    >>> count_pairs(np.array([0, 1, 0]), np.array([2, 0, 2]), 2, 3)
    (array([0, 1]), array([2, 0]), array([2, 1]))
    """
    n_pairs = n_left * n_right
    at_once = min(max(n_pairs, _IN_CACHE), AT_ONCE)
    count = _count_densely if n_pairs <= _DENSE else _count_sparsely
    pairs, counts = count(_pair_keys(left, right, n_right, chosen, rows, at_once), n_pairs)
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


def stretches_of(n_records: int, at_once: int = AT_ONCE) -> Iterator[slice]:
    """Stretches of records that together are all of them."""
    for start in range(0, n_records, at_once):
        yield slice(start, min(start + at_once, n_records))


def _pair_keys(
    left: Codes, right: Codes, n_right: int, chosen: np.ndarray | None, rows: np.ndarray | None, at_once: int
) -> Iterator[np.ndarray]:
    for part in stretches_of(len(left), at_once):
        key = codes_at(left, part).astype(np.int64)
        key *= n_right
        key += codes_at(right, part if rows is None else rows[part])
        yield key if chosen is None else key[chosen[part]]


def _count_densely(keys: Iterator[np.ndarray], n_keys: int) -> tuple[np.ndarray, np.ndarray]:
    counts = np.zeros(n_keys, dtype=np.int64)
    for part in keys:
        counts += np.bincount(part, minlength=n_keys)
    found = np.flatnonzero(counts)
    return found, counts[found]


def _count_sparsely(keys: Iterator[np.ndarray], n_keys: int) -> tuple[np.ndarray, np.ndarray]:
    counted = [np.unique(part, return_counts=True) for part in keys]
    if not counted:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if len(counted) == 1:
        return counted[0]
    every, which = np.unique(np.concatenate([found for found, _ in counted]), return_inverse=True)
    counts = np.zeros(len(every), dtype=np.int64)
    np.add.at(counts, which, np.concatenate([count for _, count in counted]))
    return every, counts


def distinct_rows(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct rows, how often each occurs, and the row of each record. O(n log n)."""
    key = row_keys(codes.T) if codes.shape[1] else np.zeros(len(codes), dtype=np.int64)
    place_bits = len(key).bit_length()
    if len(key) and int(key.max()) >> (62 - place_bits):  # no room for the places
        _, first, row_of_record, counts = np.unique(
            key, return_index=True, return_inverse=True, return_counts=True
        )
    else:
        first, row_of_record, counts = _distinct_keys(key, place_bits)
    return codes[first], counts, row_of_record


def _distinct_keys(key: np.ndarray, place_bits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each distinct key is first, the number of each key among them, and how often each occurs.

    Keys are sorted with their places in the lowest bits: that is faster than sorting places by key.
    """
    n = len(key)
    ordered = (key << place_bits) | np.arange(n)
    ordered.sort()
    place = ordered & ((1 << place_bits) - 1)
    ordered >>= place_bits
    is_first = np.ones(n, dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    number = np.empty(n, dtype=np.int64)
    number[place] = is_first.cumsum() - 1
    return place[starts], number, np.diff(starts, append=n)


def row_keys(columns: Iterable[np.ndarray]) -> np.ndarray:
    """A number for each row of some columns of codes: equal for equal rows, and in the order of the rows."""
    key, size = np.zeros(1, dtype=np.int64), 1
    for column in columns:
        width = int(column.max()) + 1 if len(column) else 1
        if size * width > 2**62:
            _, key = np.unique(key, return_inverse=True)
            size = int(key.max()) + 1
        key = key * width + column
        size *= width
    return key
