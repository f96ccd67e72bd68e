"""Steps of a local search over assignments: open or fill a slot, or close one, if that lowers the cost."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.improve.kernels.assignment import log_is_full, move, price, undo, undo_last
from kohort.algorithms.improve.kernels.open_slots import (
    can_spare,
    cheapest_place,
    closing,
    leaving,
    sync_lists,
)
from kohort.algorithms.improve.kernels.slot_filling import EPSILON, fill, fillers_pay, trim
from kohort.kernels.compiled import kernel, lean
from kohort.kernels.sorting import sorted_copy


@kernel
def try_open(offers, promises, state, q, scratch):
    """Let slot q take every record that is cheaper there if that lowers the total cost; return whether so.

    A slot that would be left with too few records gives only what it can spare, or gives all and is closed:
    its other records go to their cheapest open slots. If too few come, cheaper slots that can spare some fill
    it up; this is not tried if it would add more than is gained. O(rows under the slot + records of the slots
    that lose some).
    """
    gain, waiting, n_donors = _look(offers, state, q, scratch)
    if gain <= EPSILON:
        return False
    gain, n_coming = _hope(offers, promises, state, q, scratch[:n_donors])
    if not _pays(offers, promises, state, q, gain + waiting, n_coming):
        return False
    gain, n_coming = _plan(offers, promises, state, q, scratch[:n_donors])
    if not _pays(offers, promises, state, q, gain + waiting, n_coming):
        return False
    if log_is_full(state, 3 * len(state.pieces)):  # each piece is taken, or placed, or fills up, at most once
        return False
    entry, before = state.figures[0].logged, state.figures[0].searched_cost
    n_waiting = state.slots[offers.nowhere].n_records
    _take(offers, promises, state, q)
    done = _close_donors(offers, promises, state, scratch[:n_donors])
    done = done and _keeps_rules(offers, promises, state, q, before, n_waiting)
    if not done or state.figures[0].searched_cost - before > -EPSILON:
        undo(offers, promises, state, entry)
        return False
    sync_lists(offers, state, entry)
    return True


@kernel
def _keeps_rules(offers, promises, state, q, before, n_waiting):
    """Make slot q satisfy the rules; return whether it does.

    Records of too frequent values wait again if the cost is then still below `before`, and fewer than
    `n_waiting` records wait; else it is filled up.
    """
    entry = state.figures[0].logged
    if len(promises.rules) > 0 and n_waiting > 0:
        kept = trim(offers, promises, state, q) and state.slots[offers.nowhere].n_records < n_waiting
        if kept and state.figures[0].searched_cost - before < -EPSILON:
            return True
        while state.figures[0].logged > entry:
            undo_last(offers, promises, state)
    return fill(offers, promises, state, q, before - state.figures[0].searched_cost)


@lean
def _look(offers, state, q, scratch):
    """An upper bound on the gain, the part of it from waiting or withheld records, and the number of slots
    that records would come from. These slots are listed in `scratch`."""
    state.figures[0].stamp += 2
    stamp, nowhere = state.figures[0].stamp, offers.nowhere
    gain, waiting, n_donors = 0.0, 0.0, 0
    for row in offers.rows[offers.start[q] : offers.start[q + 1]]:
        if state.paid[row] - offers.cost[q] <= EPSILON:
            continue
        for unit in range(offers.unit_start[row], offers.unit_start[row + 1]):
            piece = state.head[unit]
            while piece >= 0:
                slot = state.pieces[piece].slot
                won = price(offers, state, unit, slot) - offers.cost[q]
                if won > EPSILON and slot != q:
                    copies = state.pieces[piece].copies
                    if state.slots[slot].touched != stamp:
                        state.slots[slot].touched = stamp
                        state.slots[slot].taken = 0
                        state.adds[slot].coming = 0.0
                        scratch[n_donors] = slot
                        n_donors += 1
                    state.slots[slot].taken += copies
                    gain += won * copies
                    if slot >= nowhere:
                        waiting += won * copies
                    else:
                        state.adds[slot].coming += copies * leaving(offers, state, row, slot)
                piece = state.pieces[piece].next_of_unit
    return gain, waiting, n_donors


@lean
def _hope(offers, promises, state, q, donors):
    """An upper bound on the gain from open slots, which are closed as cheaply as possible, and how many
    records come."""
    total, n_coming = 0.0, 0
    for slot in donors:
        taken = state.slots[slot].taken
        if slot < offers.nowhere:
            won = offers.cost[slot] - offers.cost[q]
            spare = state.slots[slot].n_records - promises.k
            added = 0.0
            if taken > spare:
                added = closing(offers, state, slot) - state.adds[slot].coming
                if added > (taken - spare) * won:
                    taken, added = spare, 0.0
            total += taken * won - added
        n_coming += taken
    return total, n_coming


@lean
def _pays(offers, promises, state, q, gain, n_coming):
    """Whether there is a gain if all missing records cost as little as the cheapest that can be spared."""
    missing = promises.k - state.slots[q].n_records - n_coming
    if gain <= EPSILON or missing <= 0:
        return gain > EPSILON
    return fillers_pay(offers, promises, state, q, missing, gain)


@lean
def _plan(offers, promises, state, q, donors):
    """Decide for each donor whether it gives what it can spare, or gives all and is closed.

    `taken` is set to what it gives; `touched` of a donor to be closed is set to the stamp minus 1. Returns
    the gain from open slots, and how many records come.
    """
    stamp = state.figures[0].stamp
    for row in offers.rows[offers.start[q] : offers.start[q + 1]]:
        state.mark[row] = stamp
    total, n_coming = 0.0, 0
    for slot in donors:
        if slot < offers.nowhere:
            won = offers.cost[slot] - offers.cost[q]
            spare = state.slots[slot].n_records - promises.k
            added = 0.0
            if state.slots[slot].taken > spare:
                worth = (state.slots[slot].taken - spare) * won
                added = _rest_cost(offers, promises, state, slot, stamp, worth)
                if added < worth:
                    state.slots[slot].touched = stamp - 1
                else:
                    state.slots[slot].taken, added = spare, 0.0
            total += state.slots[slot].taken * won - added
        n_coming += state.slots[slot].taken
    return total, n_coming


@lean
def _rest_cost(offers, promises, state, slot, stamp, enough):
    """How much placing the records of a slot that are in unmarked rows elsewhere adds to the cost; counting
    stops at `enough`."""
    total = 0.0
    piece = state.slots[slot].first
    while piece >= 0 and total < enough:
        unit = state.pieces[piece].unit
        if state.mark[offers.row_of_unit[unit]] != stamp:
            place = cheapest_place(offers, promises, state, unit, state.pieces[piece].copies, slot, stamp - 1)
            if place < 0:
                return np.inf
            total += state.pieces[piece].copies * (offers.cost[place] - offers.cost[slot])
        piece = state.pieces[piece].after
    return total


@lean
def _take(offers, promises, state, q):
    """Move the records that are cheaper in q, as planned."""
    stamp, nowhere = state.figures[0].stamp, offers.nowhere
    for row in offers.rows[offers.start[q] : offers.start[q + 1]]:
        if state.paid[row] - offers.cost[q] <= EPSILON:
            continue
        for unit in range(offers.unit_start[row], offers.unit_start[row + 1]):
            piece = state.head[unit]
            while piece >= 0:
                slot, copies, following = (
                    state.pieces[piece].slot,
                    state.pieces[piece].copies,
                    state.pieces[piece].next_of_unit,
                )
                if slot != q and price(offers, state, unit, slot) - offers.cost[q] > EPSILON:
                    if slot < nowhere and state.slots[slot].touched == stamp:
                        copies = min(copies, state.slots[slot].taken)
                        copies = can_spare(promises, state, unit, copies, slot)
                        state.slots[slot].taken -= copies
                    if copies > 0:
                        move(offers, promises, state, unit, slot, q, copies)
                piece = following


@lean
def _close_donors(offers, promises, state, donors):
    """Place the remaining records of the donors to be closed; return whether all have a place."""
    stamp = state.figures[0].stamp
    for slot in donors:
        is_closed = state.slots[slot].touched == stamp - 1
        if is_closed and not _empty(offers, promises, state, slot, stamp - 1):
            return False
    return True


@lean
def _empty(offers, promises, state, slot, avoided):
    """Move every record of a slot to its cheapest other place; return whether each has one."""
    piece = state.slots[slot].first
    while piece >= 0:
        unit, copies, following = (
            state.pieces[piece].unit,
            state.pieces[piece].copies,
            state.pieces[piece].after,
        )
        place = cheapest_place(offers, promises, state, unit, copies, slot, avoided)
        if place < 0:
            return False
        move(offers, promises, state, unit, slot, place, copies)
        piece = following
    return True


@lean
def try_close(offers, promises, state, slot):
    """Close a slot if its records cost less elsewhere; return whether they did. O(records of the slot)."""
    if state.slots[slot].n_records == 0 or log_is_full(state, state.slots[slot].n_records):
        return False
    if closing(offers, state, slot) > -EPSILON:
        return False
    entry, before = state.figures[0].logged, state.figures[0].searched_cost
    if _empty(offers, promises, state, slot, -1) and state.figures[0].searched_cost - before < -EPSILON:
        sync_lists(offers, state, entry)
        return True
    undo(offers, promises, state, entry)
    return False


@lean
def place_waiting(offers, promises, state):
    """Move waiting records to their cheapest open slots until one has no place; return whether none waits."""
    nowhere = offers.nowhere
    if log_is_full(state, len(state.pieces)):
        return False
    return _empty(offers, promises, state, nowhere, -1)


@kernel
def polish_slots(offers, promises, state, entry, scratch):
    """Try again to open or close each slot that was touched since an entry of the log."""
    n_moves = state.figures[0].logged - entry
    slots = np.empty(2 * n_moves, np.int64)
    for number in range(n_moves):
        moved = state.log[entry + number]
        slots[2 * number], slots[2 * number + 1] = moved.old, moved.new
    slots = sorted_copy(slots)
    for place in range(len(slots)):
        slot = slots[place]
        if place > 0 and slot == slots[place - 1]:
            continue
        is_open = slot < offers.nowhere and state.slots[slot].n_records > 0
        if is_open and not try_close(offers, promises, state, slot):
            try_open(offers, promises, state, slot, scratch)


@kernel
def open_in_order(offers, promises, state, order, scratch):
    """Try to open closed records in the given order; return how many were opened."""
    n_opened = 0
    for q in order:
        if try_open(offers, promises, state, q, scratch):
            n_opened += 1
            state.figures[0].logged = 0
    return n_opened


@kernel
def gather_at(offers, promises, state, root, scratch):
    """Open a closed record over all rows for the waiting records, dissolving the smallest slots if it must.

    Returns whether it could: under a model some may have to wait for ever. Requires mu above every cost;
    otherwise the loop may not terminate.
    """
    nowhere = offers.nowhere
    while state.slots[nowhere].n_records > 0:
        if try_open(offers, promises, state, root, scratch):
            state.figures[0].logged = 0
            continue
        smallest = -1
        for slot in range(nowhere):
            size = state.slots[slot].n_records
            if slot != root and size > 0 and (smallest < 0 or size < state.slots[smallest].n_records):
                smallest = slot
        if smallest < 0:
            return False
        while state.slots[smallest].first >= 0:
            piece = state.slots[smallest].first
            unit, copies = state.pieces[piece].unit, state.pieces[piece].copies
            move(offers, promises, state, unit, smallest, nowhere, copies)
        sync_lists(offers, state, 0)
        state.figures[0].logged = 0
    return True
