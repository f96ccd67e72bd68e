"""Supports of sets of nodes by rows of bits: a row per node, a bit per basket."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.kernels.compiled import kernel, lean

_LARGEST_KEY = 2.0**56


class BitRows(NamedTuple):
    """Rows of bits, which baskets count (`among`), and a table of the sets that are known to have enough.

    A set that has enough keeps it: bits are only ever added to `among`.
    """

    rows: np.ndarray
    among: np.ndarray
    known: np.ndarray
    n_known: np.ndarray


@lean
def one_bit(i):
    """The bit of basket number i within its word."""
    return np.uint64(1) << np.uint64(i & 63)


@lean
def first_places(places):
    """The first combination: 0, 1, 2, ..."""
    for i in range(len(places)):
        places[i] = i


@lean
def next_places(places, n):
    """Turn a combination of the numbers below n into the next one; False after the last."""
    i = len(places) - 1
    while i >= 0 and places[i] == n - len(places) + i:
        i -= 1
    if i < 0:
        return False
    places[i] += 1
    for j in range(i + 1, len(places)):
        places[j] = places[j - 1] + 1
    return True


@lean
def sorted_in_place(values, n):
    """Sort values[:n] by insertion, since baskets are short."""
    for i in range(1, n):
        value, j = values[i], i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@kernel
def enough(bits, rows, places, k):
    """Whether at least k baskets that count have all of rows[places]; O(1) where this is known already."""
    key = _key(bits, rows, places)
    slot = np.int64(0)
    if key > 0:
        slot = _slot(bits.known, key)
        if bits.known[slot] == key:
            return True
    if count_up_to(bits, rows, places, k) < k:
        return False
    if key > 0 and 2 * bits.n_known[0] < len(bits.known):
        bits.known[slot] = key
        bits.n_known[0] += 1
    return True


@lean
def _key(bits, rows, places):
    """A positive number that tells sets of rows of one size apart; 0 where there is no room for it."""
    n, largest, key = len(bits.rows), 1.0, np.int64(0)
    for place in places:
        largest *= n
        if largest > _LARGEST_KEY:
            return np.int64(0)
        key = key * n + rows[place]
    return key * 64 + len(places) + 1


@lean
def _slot(known, key):
    """The slot of a key in a table of a power of two, or the free one where it would be."""
    mask = np.uint64(len(known) - 1)
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = (mixed ^ (mixed >> np.uint64(31))) & mask
    while known[slot] != 0 and known[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot)


@lean
def count_up_to(bits, rows, places, k):
    """How many baskets that count have all of rows[places]; stops once there are k."""
    total = np.int64(0)
    for word in range(len(bits.among)):
        common = bits.among[word]
        for place in places:
            common &= bits.rows[rows[place], word]
        if common:
            total += ones(common)
            if total >= k:
                break
    return total


@lean
def ones(word):
    """How many bits of a word are 1."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
