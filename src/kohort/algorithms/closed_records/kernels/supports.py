"""Supports of closed records, and how many records in them are uncovered.

Supports are lists of rows or, to save memory, recomputed each time as the intersection of the bit sets of a
record's nodes. Both are in the order of the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.kernels.costs import ones
from kohort.kernels.compiled import kernel

BLOCK = 32  # words that are intersected at a time


class Sets(NamedTuple):
    """The sets to cover with.

    Either `start` and `rows` hold them (set i is rows[start[i]:start[i + 1]]), or `rows` is empty, and row
    number b is in set i if bit b is set in words[node] for every node in nodes[i], up to the first -1.
    """

    cost: np.ndarray
    weight: np.ndarray
    start: np.ndarray
    rows: np.ndarray
    nodes: np.ndarray
    words: np.ndarray


class Uncovered(NamedTuple):
    """The records that no chosen set covers. `bits` and `active` may still hold rows without any."""

    left: np.ndarray  # per row: its uncovered records
    bits: np.ndarray  # per row a bit: whether it may have uncovered records
    active: np.ndarray  # numbers of the words of `bits` that are not 0; the rest is unused
    n_active: np.ndarray  # how many words are active, in an array of one
    block: np.ndarray  # scratch for words


@kernel
def bit_sets(node_of_row, number, n_numbers):
    """The rows under each numbered node, as bits.

    node_of_row  the node of each row at each level: levels by rows

    O(levels * rows).
    """
    n_rows = node_of_row.shape[1]
    words = np.zeros((n_numbers, (n_rows + 63) // 64), np.uint64)
    for level in range(len(node_of_row)):
        for row in range(n_rows):
            node = node_of_row[level, row]
            if node >= 0 and number[node] >= 0:
                words[number[node], row >> 6] |= np.uint64(1) << np.uint64(row & 63)
    return words


@kernel
def rarest_first(nodes, number, n_rows, total):
    """The numbers of the nodes of each set, fewest rows first; -1 for nodes that all rows are under."""
    ordered = np.full(nodes.shape, -1, np.int32)
    for s in range(len(nodes)):
        size = 0
        for node in nodes[s]:
            if n_rows[node] == total:
                continue
            place = size
            while place > 0 and n_rows[ordered[s, place - 1]] > n_rows[node]:
                ordered[s, place] = ordered[s, place - 1]
                place -= 1
            ordered[s, place] = node
            size += 1
        for place in range(size):
            ordered[s, place] = number[ordered[s, place]]
    return ordered


@kernel
def note_covered(uncovered):
    """Clear the bits of rows that are fully covered by now."""
    bits, n = uncovered.bits, 0
    bits[:] = 0
    for row in range(len(uncovered.left)):
        if uncovered.left[row] > 0:
            bits[row >> 6] |= np.uint64(1) << np.uint64(row & 63)
    for word in range(len(bits)):
        if bits[word]:
            uncovered.active[n] = word
            n += 1
    uncovered.n_active[0] = n


@kernel
def _lowest_bit(word):
    return ones((word & (~word + np.uint64(1))) - np.uint64(1))


@kernel
def support(sets, s, buffer):
    """The rows of a set. O(rows), or O(words * nodes)."""
    if len(sets.rows):
        return sets.rows[sets.start[s] : sets.start[s + 1]]
    size = 0
    for w in range(sets.words.shape[1]):
        word = ~np.uint64(0)
        for node in sets.nodes[s]:
            if node < 0 or word == 0:
                break
            word &= sets.words[node, w]
        while word and 64 * w + _lowest_bit(word) < len(buffer):
            buffer[size] = 64 * w + _lowest_bit(word)
            size += 1
            word &= word - np.uint64(1)
    return buffer[:size]


@kernel
def uncovered_in(sets, s, uncovered, enough):
    """The number of uncovered records of a set, at most `enough`. O(rows), or O(active words * nodes)."""
    total = 0
    if len(sets.rows):
        for row in sets.rows[sets.start[s] : sets.start[s + 1]]:
            total += uncovered.left[row]
            if total >= enough:
                return enough
        return total
    block, bits = uncovered.block, uncovered.bits
    for first in range(0, uncovered.n_active[0], BLOCK):
        some = uncovered.active[first : min(first + BLOCK, uncovered.n_active[0])]
        for i in range(len(some)):
            block[i] = bits[some[i]]
        found = np.uint64(1)
        for node in sets.nodes[s]:
            if node < 0 or found == 0:
                break
            of_node = sets.words[node]
            found = np.uint64(0)
            for i in range(len(some)):
                block[i] &= of_node[some[i]]
                found |= block[i]
        if found == 0:
            continue
        for i in range(len(some)):
            word = block[i]
            while word:
                total += uncovered.left[64 * some[i] + _lowest_bit(word)]
                if total >= enough:
                    return enough
                word &= word - np.uint64(1)
    return total
