"""Fill a slot up with records that cheaper slots can spare."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.improve.kernels.assignment import move, price, undo_last
from kohort.algorithms.improve.kernels.open_slots import can_spare
from kohort.algorithms.improve.kernels.promises import shortfall, too_frequent
from kohort.kernels.compiled import kernel, lean
from kohort.kernels.sorting import heap_of, pop_least

EPSILON = 1e-9  # smaller changes are rounding: the cost of a record is at most about 1


@lean
def fillers_pay(offers, promises, state, q, missing, gain):
    """Whether cheaper slots can spare the records that slot q misses, the cheapest of them for less than the
    gain if all cost as little.

    An estimate: it counts all records of slots with more than k, and those that wait or are withheld.
    """
    lowest = offers.cost[q] - gain / missing - EPSILON
    for row in offers.rows[offers.start[q] : offers.start[q + 1]]:
        if state.paid[row] >= lowest and _pays_from(offers, promises, state, q, row, missing, gain):
            return _has_fillers(offers, promises, state, q, missing)
    return False


@lean
def _pays_from(offers, promises, state, q, row, missing, gain):
    """Whether there is a gain if all missing records cost as little as one of this row."""
    for unit in range(offers.unit_start[row], offers.unit_start[row + 1]):
        piece = state.head[unit]
        while piece >= 0:
            slot = state.pieces[piece].slot
            if _may_fill(offers, promises, state, q, unit, slot):
                added = offers.cost[q] - price(offers, state, unit, slot)
                if gain - missing * max(added, 0.0) > EPSILON:
                    return True
            piece = state.pieces[piece].next_of_unit
    return False


@lean
def _has_fillers(offers, promises, state, q, missing):
    """Whether cheaper slots can spare as many records as are missing."""
    n_spare = 0
    for row in offers.rows[offers.start[q] : offers.start[q + 1]]:
        for unit in range(offers.unit_start[row], offers.unit_start[row + 1]):
            piece = state.head[unit]
            while piece >= 0:
                if _may_fill(offers, promises, state, q, unit, state.pieces[piece].slot):
                    n_spare += state.pieces[piece].copies
                piece = state.pieces[piece].next_of_unit
        if n_spare >= missing:
            return True
    return False


@lean
def _may_fill(offers, promises, state, q, unit, slot):
    """Whether a slot is no dearer than q for this unit, and can spare a record."""
    if slot == q or (slot < offers.nowhere and state.slots[slot].n_records <= promises.k):
        return False
    return offers.cost[q] - price(offers, state, unit, slot) >= -EPSILON


@kernel
def fill(offers, promises, state, q, most):
    """Fill slot q with records that others can spare, least cost first, until it satisfies the rules.

    Returns whether it does; records that alone add more than `most` to the searched cost are left
    out, and it gives up once all that were moved add more.
    """
    missing = shortfall(promises, q, state.slots[q].n_records)
    if missing == 0:
        return True
    units, slots, added = _fillers(offers, promises, state, q, most)
    most += state.figures[0].searched_cost
    nowhere, heap = offers.nowhere, heap_of(added)
    for left in range(len(added), 0, -1):
        filler = pop_least(added, heap, left)
        if added[filler] >= 0.0 and state.figures[0].searched_cost > most:
            return False
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
        if now >= missing:  # one more record did not bring it nearer to the rules
            undo_last(offers, promises, state)
        else:
            missing = now
    return False


@kernel
def _fillers(offers, promises, state, q, most):
    """Pieces under q whose slots have more than k records: unit, slot, and how much a record would add.

    Those that would add more than `most` are left out.
    """
    size = 2 * (offers.start[q + 1] - offers.start[q]) + 16
    units, slots, added = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
    n = 0
    for row in offers.rows[offers.start[q] : offers.start[q + 1]]:
        if offers.cost[q] - state.paid[row] > most:
            continue
        for unit in range(offers.unit_start[row], offers.unit_start[row + 1]):
            piece = state.head[unit]
            while piece >= 0 and n < size:
                slot = state.pieces[piece].slot
                if slot != q and (slot >= offers.nowhere or state.slots[slot].n_records > promises.k):
                    units[n], slots[n] = unit, slot
                    added[n] = offers.cost[q] - price(offers, state, unit, slot)
                    n += added[n] <= most
                piece = state.pieces[piece].next_of_unit
    return units[:n], slots[:n], added[:n]


@lean
def trim(offers, promises, state, q):
    """Let records of too frequent values wait again, those of least price first, until q satisfies the rules.

    Returns whether it does. A slot that has fewer than k records, or too few values, is left as it is.
    """
    size = state.slots[q].n_records
    missing = shortfall(promises, q, size)
    while missing > 0:
        value = too_frequent(promises, q) if size > promises.k else -1
        unit = _cheapest_to_wait(offers, promises, state, q, value)
        if unit < 0:
            return False
        move(offers, promises, state, unit, q, offers.nowhere, 1)
        size -= 1
        now = shortfall(promises, q, size)
        if now >= missing:
            return False
        missing = now
    return True


@lean
def _cheapest_to_wait(offers, promises, state, q, value):
    """The unit with this value in slot q that waits at the lowest price; -1 if there is none."""
    found, least, piece = -1, np.inf, state.slots[q].first
    while piece >= 0 and value >= 0:
        unit = state.pieces[piece].unit
        for own in promises.value[unit]:
            if own == value and offers.value[unit] < least:
                found, least = unit, offers.value[unit]
        piece = state.pieces[piece].after
    return found
