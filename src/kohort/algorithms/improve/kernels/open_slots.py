"""The open slots that a row could go to, the cost of closing a slot, and what a slot can take or spare.

Every row remembers the cheapest open slots over it. The lists are brought up to date with the log of moves.
"""

from __future__ import annotations

import numpy as np

from kohort.algorithms.improve.kernels.promises import recount, shortfall
from kohort.kernels.compiled import lean

LIST = 24  # open slots that a row remembers, the cheapest ones
_NO_PLACE = 1e3  # more than any record costs, and finite, so that it can be subtracted from a sum again


@lean
def sync_lists(offers, state, entry):
    """Update the lists of rows with the slots that were opened or closed since this entry of the log."""
    for e in range(entry, state.figures[0].logged):
        for slot in (state.log[e].old, state.log[e].new):
            is_open = state.slots[slot].n_records > 0
            if slot >= offers.nowhere or is_open == (state.slots[slot].in_lists > 0):
                continue
            state.slots[slot].in_lists = is_open
            for row in offers.rows[offers.start[slot] : offers.start[slot + 1]]:
                place = _list_slot(offers, state, row, slot) if is_open else _unlist_slot(state, row, slot)
                if place < 2:
                    _forget_closing(offers, state, row)


@lean
def _list_slot(offers, state, row, slot):
    """Insert an open slot into a row's list by cost; a full list drops the dearest. Returns its place."""
    listed, n = state.listed[row], state.listed[row, LIST]
    place = n
    while place > 0 and _dearer(offers, listed[place - 1], slot):
        place -= 1
    if place == LIST:
        return place
    for p in range(min(n, LIST - 1), place, -1):
        listed[p] = listed[p - 1]
    listed[place] = slot
    state.listed[row, LIST] = min(n + 1, LIST)
    return place


@lean
def _dearer(offers, one, other):
    a, b = offers.cost[one], offers.cost[other]
    return a > b or (a == b and one > other)


@lean
def _unlist_slot(state, row, slot):
    listed, n = state.listed[row], state.listed[row, LIST]
    for place in range(n):
        if listed[place] == slot:
            for p in range(place, n - 1):
                listed[p] = listed[p + 1]
            state.listed[row, LIST] = n - 1
            return place
    return n


@lean
def _forget_closing(offers, state, row):
    """Mark the closing costs of a row's slots as unknown, since its cheapest places have changed."""
    for unit in range(offers.unit_start[row], offers.unit_start[row + 1]):
        piece = state.head[unit]
        while piece >= 0:
            state.adds[state.pieces[piece].slot].closing = np.nan
            piece = state.pieces[piece].next_of_unit


@lean
def leaving(offers, state, row, slot):
    """A lower bound on what a record of a row adds to the cost if it leaves a slot for another place."""
    withheld = offers.withheld
    least = offers.cost[withheld] if offers.most_withheld > 0 else _NO_PLACE
    for place in range(min(state.listed[row, LIST], 2)):
        other = state.listed[row, place]
        if other != slot:
            return min(offers.cost[other], least) - offers.cost[slot]
    return least - offers.cost[slot]


@lean
def closing(offers, state, slot):
    """A lower bound on the cost of closing a slot. O(records of the slot), or O(1) if it is still known."""
    if np.isnan(state.adds[slot].closing):
        total = 0.0
        piece = state.slots[slot].first
        while piece >= 0:
            row = offers.row_of_unit[state.pieces[piece].unit]
            total += state.pieces[piece].copies * leaving(offers, state, row, slot)
            piece = state.pieces[piece].after
        state.adds[slot].closing = total
    return state.adds[slot].closing


@lean
def cheapest_place(offers, promises, state, unit, copies, slot, avoided):
    """The cheapest other open slot for copies of a unit in `slot`; if there is none, WITHHELD, or -1.

    Slots whose `touched` is `avoided`, and those that would break a rule, are left out.
    """
    row, withheld = offers.row_of_unit[unit], offers.withheld
    for place in range(state.listed[row, LIST]):
        other = state.listed[row, place]
        wanted = other != slot and state.slots[other].touched != avoided and state.slots[other].n_records > 0
        if wanted and can_take(promises, state, unit, copies, other):
            return other
    if slot != withheld and state.slots[withheld].n_records + copies <= offers.most_withheld:
        return withheld
    return -1


@lean
def can_take(promises, state, unit, copies, slot):
    """Whether an open slot still satisfies the rules after it takes these copies."""
    if len(promises.tally) == 0:
        return True
    recount(promises, unit, slot, copies)
    kept = shortfall(promises, slot, state.slots[slot].n_records + copies) == 0
    recount(promises, unit, slot, -copies)
    return kept


@lean
def can_spare(promises, state, unit, copies, slot):
    """How many of these copies a slot can spare without breaking a rule: all, half, a quarter, ..., or 0."""
    copies = min(copies, state.slots[slot].n_records - promises.k)
    if len(promises.tally) == 0 or copies <= 0:
        return max(copies, 0)
    while copies > 0:
        recount(promises, unit, slot, -copies)
        kept = shortfall(promises, slot, state.slots[slot].n_records - copies) == 0
        recount(promises, unit, slot, copies)
        if kept:
            break
        copies //= 2
    return copies
