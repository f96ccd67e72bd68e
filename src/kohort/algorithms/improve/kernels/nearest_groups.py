"""The groups that a record could join at the least cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.improve.kernels.group_counts import BLOCK
from kohort.kernels.compiled import kernel, lean


class NearGroups(NamedTuple):
    """The groups that were found, nearest first, and scratch arrays to look for them."""

    group: np.ndarray
    added: np.ndarray  # how much the total cost would rise if the record joined each
    low: np.ndarray  # per block of groups
    seen: np.ndarray  # per group of a block
    low_bits: np.ndarray  # of `low` and `seen`, in the order of numbers from 0 on, and faster to compare
    seen_bits: np.ndarray


@kernel
def new_near_groups(groups, most):
    """Empty arrays for up to `most` nearest groups."""
    low, seen = np.empty(groups.lowest.shape[1], np.float32), np.empty(BLOCK, np.float32)
    added = np.empty(most, np.float32)
    return NearGroups(np.empty(most, np.int64), added, low, seen, low.view(np.int32), seen.view(np.int32))


@lean
def nearest_groups(cells, groups, rows, record, near, wanted, above, most):
    """Find up to `wanted` groups, other than the record's own, to which it would add the least cost.

    above  only groups with more records than this
    most   only groups to which it adds less than this

    Returns how many were found; they are in `near`. Blocks are visited by their lower bounds, and those
    where no group can be near enough are skipped. O(groups * attributes), much less where similar groups have
    neighbouring numbers.
    """
    home, n_found, farthest = groups.group[record], 0, np.float32(most)
    n_blocks = groups.lowest.shape[1]
    near.low[:] = 0.0
    for a in range(rows.shape[1]):
        lowest = groups.lowest[cells.attribute[a].leaf_start + rows[record, a]]
        for block in range(n_blocks):
            near.low[block] += lowest[block]
    while True:
        block = _place_of_least(near.low_bits)
        if near.low[block] >= farthest:
            return n_found
        near.low[block] = np.inf
        _look(cells, groups, rows, record, block, near)
        if block == home // BLOCK:
            near.seen[home % BLOCK] = np.inf
        if above > 0:
            _leave_out(groups, block, above, near)
        while True:
            lane = _place_of_least(near.seen_bits)
            if near.seen[lane] >= farthest:
                break
            place = n_found if n_found < wanted else wanted - 1
            n_found = place + 1
            while place > 0 and near.added[place - 1] > near.seen[lane]:
                near.added[place], near.group[place] = near.added[place - 1], near.group[place - 1]
                place -= 1
            near.added[place], near.group[place] = near.seen[lane], block * BLOCK + lane
            near.seen[lane] = np.inf
            if n_found == wanted:
                farthest = near.added[wanted - 1]


@lean
def _look(cells, groups, rows, record, block, near):
    """Fill `near.seen`: how much the cost would rise if the record joined each group of a block.

    Infinite for numbers that no group has.
    """
    seen, begin = near.seen[:BLOCK], block * BLOCK  # references are not counted here, so views are free
    one_more, paid = (
        groups.one_more[begin : begin + BLOCK],
        groups.paid[begin : begin + BLOCK],
    )
    seen[:] = 0.0
    for a in range(rows.shape[1]):
        joined = groups.joined[block, cells.attribute[a].leaf_start + rows[record, a]]
        for lane in range(BLOCK):
            seen[lane] += joined[lane]
    for lane in range(BLOCK):
        seen[lane] = one_more[lane] * seen[lane] - paid[lane]


@lean
def _leave_out(groups, block, above, near):
    """Set `near.seen` to infinity for the groups of a block that have `above` records or fewer."""
    for lane in range(BLOCK):
        if groups.one_more[block * BLOCK + lane] <= np.float32(above + 1):
            near.seen[lane] = np.inf


@lean
def _place_of_least(bits):
    least = bits[0]
    for place in range(len(bits)):
        least = min(least, bits[place])
    place = 0
    while bits[place] != least:
        place += 1
    return place
