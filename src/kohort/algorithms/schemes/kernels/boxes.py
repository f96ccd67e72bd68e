"""Boxes around records that hold fewer than k: a record is withheld, or its class sticks out of them.

A box has a set of parts in each attribute. The parts of all attributes share one numbering.
"""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import stable_order


@kernel
def part_bits(parts, n_parts):
    """The cells in each part, as bits. `parts[c, j]` is the part of cell c in attribute j."""
    found = np.zeros((n_parts, (len(parts) + 63) // 64), np.uint64)
    for cell in range(len(parts)):
        for j in range(parts.shape[1]):
            found[parts[cell, j], cell >> 6] |= np.uint64(1) << np.uint64(cell & 63)
    return found


@kernel
def grow_boxes(owners, parts, sizes, bits, start, block_of, distance, k):
    """A largest box of fewer than k records around the class of each owner, and whether there is one.

    Its class has the parts with the same `block_of` as the owner's. `distance[p, q]` says how far from the
    part p another of the same attribute is (start[j] to start[j + 1]): the nearest that fit are taken in
    first, and none at an infinite distance. O(owners * parts * cells / 64).
    """
    n_attributes = parts.shape[1]
    n_words = bits.shape[1]
    boxes = np.zeros((len(owners), len(block_of)), np.bool_)
    found = np.zeros(len(owners), np.bool_)
    spans = np.zeros((n_attributes, n_words), np.uint64)
    far = np.empty(len(block_of))
    attribute = np.empty(len(block_of), np.int64)
    for j in range(n_attributes):
        attribute[start[j] : start[j + 1]] = j
    everything = np.full(n_words, ~np.uint64(0))
    for i in range(len(owners)):
        spans[:] = np.uint64(0)
        for j in range(n_attributes):
            own = parts[owners[i], j]
            for part in range(start[j], start[j + 1]):
                far[part] = distance[own, part]
                if block_of[part] == block_of[own]:
                    far[part] = np.inf
                    boxes[i, part] = True
                    spans[j] |= bits[part]
        held = _records(everything, spans, -1, sizes, k)
        found[i] = held < k
        if not found[i]:
            continue
        for part in stable_order(far):
            if far[part] == np.inf:
                break
            more = _records(bits[part], spans, attribute[part], sizes, k - held)
            if held + more < k:
                held += more
                boxes[i, part] = True
                spans[attribute[part]] |= bits[part]
    return boxes, found


@kernel
def _records(cells, spans, but, sizes, enough):
    """The number of records in some cells and in the spans of all attributes but one; at most `enough`."""
    total = 0
    for word in range(len(cells)):
        left = cells[word]
        for j in range(len(spans)):
            if not left:
                break
            if j != but:
                left &= spans[j, word]
        while left:
            lowest = left & (~left + np.uint64(1))
            place = 0
            while lowest > np.uint64(1):
                lowest >>= np.uint64(1)
                place += 1
            total += sizes[(word << 6) + place]
            if total >= enough:
                return enough
            left &= left - np.uint64(1)
    return total


@kernel
def inside_costs(blocks, own, boxes, prices):
    """For each block of one attribute, the sum of the prices of boxes that hold it and whose owner is in it.

    Blocks, own values and boxes are sets of values, as bits. O(blocks * boxes).
    """
    costs = np.zeros(len(blocks))
    for box in range(len(boxes)):
        if prices[box] > 0.0:
            outside = ~boxes[box]
            for block in range(len(blocks)):
                if own[box] & blocks[block] and not blocks[block] & outside:
                    costs[block] += prices[box]
    return costs


@kernel
def number_pairs(parts, boxes):
    """Number the distinct pairs of a part and a box; return the pair of each, and each pair's part and box.

    O(boxes), by hashing.
    """
    bits = 4
    while 1 << bits < 2 * len(parts):
        bits += 1
    at = np.full(1 << bits, -1, np.int64)
    shift, last_slot = np.uint64(64 - bits), (1 << bits) - 1
    pair_of = np.empty(len(parts), np.int64)
    first = np.empty(len(parts), np.int64)
    n_pairs = 0
    for i in range(len(parts)):
        key = np.uint64(boxes[i]) * np.uint64(11400714819323198485) + np.uint64(parts[i])
        slot = np.int64((key ^ (key >> np.uint64(32))) * np.uint64(11400714819323198485) >> shift)
        while at[slot] >= 0 and (parts[first[at[slot]]] != parts[i] or boxes[first[at[slot]]] != boxes[i]):
            slot = (slot + 1) & last_slot
        if at[slot] < 0:
            at[slot] = n_pairs
            first[n_pairs] = i
            n_pairs += 1
        pair_of[i] = at[slot]
    return pair_of, parts[first[:n_pairs]], boxes[first[:n_pairs]]
