"""Fill a slot up with records that cheaper slots can spare."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.improve.kernels.assignment import move, price, undo_last
from kohort.algorithms.improve.kernels.open_slots import can_spare
from kohort.algorithms.improve.kernels.promises import shortfall
from kohort.kernels.compiled import kernel, lean
from kohort.kernels.sorting import stable_order

__all__ = ["EPSILON", "cheapest_filler", "fill"]

EPSILON = 1e-9  # costs are at most about 1 a record; less than this is rounding


@lean
def cheapest_filler(offers, promises, state, q, missing):
    """What a record of a cheaper slot would add at least; infinite where too few can be spared.

    An estimate: all records of a slot with more than k count, and such as wait or are withheld.
    """
    least, n_spare = np.inf, 0
    for row in offers.rows[offers.start[q] : offers.start[q + 1]]:
        for unit in range(offers.unit_start[row], offers.unit_start[row + 1]):
            piece = state.head[unit]
            while piece >= 0:
                slot = state.pieces[piece].slot
                if slot != q and (slot >= offers.nowhere or state.slots[slot].n_records > promises.k):
                    added = offers.cost[q] - price(offers, state, row, slot)
                    if added >= -EPSILON:
                        least = min(least, max(added, 0.0))
                        n_spare += state.pieces[piece].copies
                piece = state.pieces[piece].next_of_unit
    return least if n_spare >= missing else np.inf


@kernel
def fill(offers, promises, state, q):
    """Take records that others can spare, those that add least first, until q keeps its promises."""
    missing = shortfall(promises, q, state.slots[q].n_records)
    if missing == 0:
        return True
    units, slots, added = _fillers(offers, promises, state, q)
    nowhere = offers.nowhere
    for filler in stable_order(added):
        unit, slot = units[filler], slots[filler]
        piece = state.head[unit]
        while piece >= 0 and state.pieces[piece].slot != slot:
            piece = state.pieces[piece].next_of_unit
        copies = min(state.pieces[piece].copies, max(1, promises.k - state.slots[q].n_records))
        if slot < nowhere:
            copies = can_spare(promises, state, unit, copies, slot)
        if copies <= 0:
            continue
        move(offers, promises, state, unit, slot, q, copies)
        now = shortfall(promises, q, state.slots[q].n_records)
        if now == 0:
            return True
        if now >= missing:  # one more record, and no nearer to the promises
            undo_last(offers, promises, state)
        else:
            missing = now
    return False


@kernel
def _fillers(offers, promises, state, q):
    """Pieces under q whose slots have more than k records: unit, slot, and what a record would add."""
    size = 2 * (offers.start[q + 1] - offers.start[q]) + 16
    units, slots, added = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
    n = 0
    for row in offers.rows[offers.start[q] : offers.start[q + 1]]:
        for unit in range(offers.unit_start[row], offers.unit_start[row + 1]):
            piece = state.head[unit]
            while piece >= 0 and n < size:
                slot = state.pieces[piece].slot
                if slot != q and (slot >= offers.nowhere or state.slots[slot].n_records > promises.k):
                    units[n], slots[n] = unit, slot
                    added[n] = offers.cost[q] - price(offers, state, row, slot)
                    n += 1
                piece = state.pieces[piece].next_of_unit
    return units[:n], slots[:n], added[:n]
