"""Which groups a record could join at least cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.improve.kernels.group_counts import BLOCK
from kohort.kernels.compiled import kernel, lean

__all__ = ["NearGroups", "nearest_groups", "new_near_groups"]


class NearGroups(NamedTuple):
    """Groups that were found, nearest first, and room to look for them."""

    group: np.ndarray
    added: np.ndarray  # what it would add to the cost of all if the record joined each
    low: np.ndarray  # per block of groups
    seen: np.ndarray  # per group of a block
    low_bits: np.ndarray  # of `low` and `seen`, in the order of numbers from 0 on, and faster to compare
    seen_bits: np.ndarray


@kernel
def new_near_groups(groups, most):
    """Room for so many groups."""
    low, seen = np.empty(groups.lowest.shape[1], np.float32), np.empty(BLOCK, np.float32)
    added = np.empty(most, np.float32)
    return NearGroups(np.empty(most, np.int64), added, low, seen, low.view(np.int32), seen.view(np.int32))


@lean
def nearest_groups(cells, groups, rows, record, near, wanted, above, most):
    """Find up to so many groups but that of the record to which it would add least; how many were found.

    above  only groups with more than so many records
    most   only groups to which it adds less than this
    The blocks that may have the nearest come first, and those where no group can be near enough are passed
    over. O(groups * attributes), much less where alike groups have like numbers.
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
    """What it would add if the record joined each group of a block; infinite where there is none."""
    seen, begin = near.seen[:BLOCK], block * BLOCK  # where references are not counted, views cost nothing
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
    """Let it be infinite in groups of so many records or fewer."""
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
