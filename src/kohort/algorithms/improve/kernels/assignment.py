"""Who is published as what: records assigned to closed generalized records, with an undo log.

The records of a table are units: distinct rows, or distinct rows with their sensitive values; those of one
row are neighbours. A slot is a closed record; it is open while it has records. Two more slots follow the
closed records: NOWHERE, for records that wait for a place, at a price per row, and WITHHELD.

All moves go through `move`, which logs them, so that any stretch of work can be undone. Whoever moves has
made sure that the log has room: there are never more pieces than records, so a step that moves every piece at
most so many times needs no more entries than that many times the records.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.improve.kernels.promises import drop_tally, recount, shortfall
from kohort.kernels.compiled import kernel, lean

__all__ = [
    "AFTER",
    "CLOSING",
    "COMING",
    "COUNT",
    "FIRST",
    "LIST",
    "LOGGED",
    "MU",
    "NEXT",
    "REAL",
    "SEARCHED",
    "SIZE",
    "SLOT",
    "STAMP",
    "TAKEN",
    "TOUCHED",
    "UNIT",
    "Assignment",
    "Offers",
    "assign_all",
    "can_spare",
    "cheapest_place",
    "closing",
    "leaving",
    "log_is_full",
    "move",
    "new_assignment",
    "price",
    "sync_lists",
    "undo",
    "undo_last",
]

LIST = 24  # open slots that a row remembers, the cheapest ones
UNIT, SLOT, COUNT, NEXT, BEFORE, AFTER = range(6)  # places in Assignment.pieces
FIRST, SIZE, TAKEN, TOUCHED, IN_LISTS = range(5)  # in Assignment.slots
FREE, LOGGED, STAMP = range(3)  # in Assignment.numbers
REAL, SEARCHED, MU = range(3)  # in Assignment.amounts
CLOSING, COMING = range(2)  # in Assignment.adds
_NO_PLACE = 1e3  # more than any record costs, and finite, so that sums can be taken apart again


class Offers(NamedTuple):
    """What records can be published as."""

    start: np.ndarray  # per closed record and one more: its rows are rows[start[q]:start[q + 1]]
    rows: np.ndarray
    cost: np.ndarray  # per closed record, then of a waiting record (not used) and of a withheld one
    unit_start: np.ndarray  # per row and one more
    row_of_unit: np.ndarray
    copies: np.ndarray  # per unit
    value: np.ndarray  # per row: the price of a record that waits, besides mu
    most_withheld: int


class Assignment(NamedTuple):
    """Pieces: so many copies of a unit are in a slot. They are linked by unit and by slot."""

    head: np.ndarray  # per unit: its first piece
    pieces: np.ndarray  # per piece: UNIT, SLOT, COUNT, NEXT of the unit, BEFORE and AFTER it in the slot
    slots: np.ndarray  # per slot: FIRST piece, SIZE, TAKEN and TOUCHED (scratch), IN_LISTS
    listed: np.ndarray  # per row: open slots over it, cheapest first, and in the end how many
    mark: np.ndarray  # per row: the last stamp that was put on it
    adds: np.ndarray  # per slot: what CLOSING it adds at least (NaN: not known), and for those COMING to q
    log: np.ndarray  # moves: unit, from, to, copies
    numbers: np.ndarray  # FREE piece, moves LOGGED, last STAMP
    amounts: np.ndarray  # REAL cost, cost as SEARCHED (waiting records at their price), MU


@kernel
def new_assignment(offers, n_records):
    """Every record waits. `copies` may be 0: no such records."""
    n_units, n_rows, n_slots = len(offers.copies), len(offers.value), len(offers.cost)
    state = Assignment(
        np.full(n_units, -1, np.int64),
        np.zeros((n_records + 1, 6), np.int64),
        np.zeros((n_slots, 5), np.int64),
        np.zeros((n_rows, LIST + 1), np.int64),
        np.zeros(n_rows, np.int64),
        np.full((n_slots, 2), np.nan),
        np.empty((4 * n_records + 1024, 4), np.int64),
        np.zeros(3, np.int64),
        np.zeros(3),
    )
    state.slots[:, FIRST] = -1
    for piece in range(n_records + 1):
        state.pieces[piece, NEXT] = piece + 1
    for unit in range(n_units):
        if offers.copies[unit] > 0:
            _add(state, unit, n_slots - 2, offers.copies[unit])
    return state


@lean
def _add(state, unit, slot, copies):
    """More copies of a unit in a slot."""
    state.slots[slot, SIZE] += copies
    piece = state.head[unit]
    while piece >= 0 and state.pieces[piece, SLOT] != slot:
        piece = state.pieces[piece, NEXT]
    if piece >= 0:
        state.pieces[piece, COUNT] += copies
        return
    piece = state.numbers[FREE]
    state.numbers[FREE] = state.pieces[piece, NEXT]
    state.pieces[piece, UNIT], state.pieces[piece, SLOT], state.pieces[piece, COUNT] = unit, slot, copies
    state.pieces[piece, NEXT] = state.head[unit]
    state.head[unit] = piece
    after = state.slots[slot, FIRST]
    state.pieces[piece, BEFORE], state.pieces[piece, AFTER] = -1, after
    if after >= 0:
        state.pieces[after, BEFORE] = piece
    state.slots[slot, FIRST] = piece


@lean
def _remove(state, unit, slot, copies):
    """Fewer copies of a unit in a slot."""
    state.slots[slot, SIZE] -= copies
    previous, piece = -1, state.head[unit]
    while state.pieces[piece, SLOT] != slot:
        previous, piece = piece, state.pieces[piece, NEXT]
    state.pieces[piece, COUNT] -= copies
    if state.pieces[piece, COUNT] > 0:
        return
    if previous < 0:
        state.head[unit] = state.pieces[piece, NEXT]
    else:
        state.pieces[previous, NEXT] = state.pieces[piece, NEXT]
    before, after = state.pieces[piece, BEFORE], state.pieces[piece, AFTER]
    if before < 0:
        state.slots[slot, FIRST] = after
    else:
        state.pieces[before, AFTER] = after
    if after >= 0:
        state.pieces[after, BEFORE] = before
    state.pieces[piece, NEXT] = state.numbers[FREE]
    state.numbers[FREE] = piece


@lean
def price(offers, state, row, slot):
    """What a record of a row pays in a slot, or for waiting."""
    if slot == len(offers.cost) - 2:
        return offers.value[row] + state.amounts[MU]
    return offers.cost[slot]


@lean
def _shift(offers, promises, state, unit, old, new, copies):
    nowhere, row = len(offers.cost) - 2, offers.row_of_unit[unit]
    _remove(state, unit, old, copies)
    _add(state, unit, new, copies)
    state.adds[old, CLOSING] = state.adds[new, CLOSING] = np.nan
    if len(promises.rules) > 0:
        if old < nowhere:
            recount(promises, unit, old, -copies)
            if state.slots[old, SIZE] == 0:
                drop_tally(promises, old)
        if new < nowhere:
            recount(promises, unit, new, copies)
    real = (0.0 if new == nowhere else offers.cost[new]) - (0.0 if old == nowhere else offers.cost[old])
    state.amounts[REAL] += copies * real
    state.amounts[SEARCHED] += copies * (price(offers, state, row, new) - price(offers, state, row, old))


@lean
def move(offers, promises, state, unit, old, new, copies):
    """Move copies of a unit from slot to slot, and log it. The caller has asked whether the log has room."""
    entry = state.numbers[LOGGED]
    state.log[entry, 0], state.log[entry, 1] = unit, old
    state.log[entry, 2], state.log[entry, 3] = new, copies
    state.numbers[LOGGED] += 1
    _shift(offers, promises, state, unit, old, new, copies)


@lean
def log_is_full(state, coming):
    """Whether so many moves might not fit into the log."""
    return state.numbers[LOGGED] + coming > len(state.log)


@lean
def undo(offers, promises, state, entry):
    """Take back all moves from this entry of the log on."""
    for e in range(state.numbers[LOGGED] - 1, entry - 1, -1):
        _shift(offers, promises, state, state.log[e, 0], state.log[e, 2], state.log[e, 1], state.log[e, 3])
    sync_lists(offers, state, entry)
    state.numbers[LOGGED] = entry


@lean
def undo_last(offers, promises, state):
    """Take back the last move, before any row knows of it."""
    state.numbers[LOGGED] -= 1
    e = state.numbers[LOGGED]
    _shift(offers, promises, state, state.log[e, 0], state.log[e, 2], state.log[e, 1], state.log[e, 3])


@lean
def sync_lists(offers, state, entry):
    """Let rows know which slots were opened or closed since this entry of the log."""
    for e in range(entry, state.numbers[LOGGED]):
        for side in range(1, 3):
            slot = state.log[e, side]
            is_open = state.slots[slot, SIZE] > 0
            if slot >= len(offers.cost) - 2 or is_open == (state.slots[slot, IN_LISTS] > 0):
                continue
            state.slots[slot, IN_LISTS] = is_open
            for row in offers.rows[offers.start[slot] : offers.start[slot + 1]]:
                place = _list_slot(offers, state, row, slot) if is_open else _unlist_slot(state, row, slot)
                if place < 2:
                    _forget_closing(offers, state, row)


@lean
def _list_slot(offers, state, row, slot):
    """Remember an open slot, in the order of costs; if there are too many, the dearest goes. Where."""
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
    """The cheapest places of a row are others now."""
    for unit in range(offers.unit_start[row], offers.unit_start[row + 1]):
        piece = state.head[unit]
        while piece >= 0:
            state.adds[state.pieces[piece, SLOT], CLOSING] = np.nan
            piece = state.pieces[piece, NEXT]


@lean
def leaving(offers, state, row, slot):
    """What a record of a row adds at least if it leaves a slot for another place."""
    withheld = len(offers.cost) - 1
    least = offers.cost[withheld] if offers.most_withheld > 0 else _NO_PLACE
    for place in range(min(state.listed[row, LIST], 2)):
        other = state.listed[row, place]
        if other != slot:
            return min(offers.cost[other], least) - offers.cost[slot]
    return least - offers.cost[slot]


@lean
def closing(offers, state, slot):
    """What it adds at least to close a slot. O(records of the slot), or O(1) if nothing changed around it."""
    if np.isnan(state.adds[slot, CLOSING]):
        total = 0.0
        piece = state.slots[slot, FIRST]
        while piece >= 0:
            row = offers.row_of_unit[state.pieces[piece, UNIT]]
            total += state.pieces[piece, COUNT] * leaving(offers, state, row, slot)
            piece = state.pieces[piece, AFTER]
        state.adds[slot, CLOSING] = total
    return state.adds[slot, CLOSING]


@lean
def cheapest_place(offers, promises, state, unit, copies, slot, avoided):
    """The cheapest other open slot for copies of a unit in `slot`; if there is none, WITHHELD, or -1.

    Slots whose `touched` is `avoided` are left out, and such as would break a promise.
    """
    row, withheld = offers.row_of_unit[unit], len(offers.cost) - 1
    for place in range(state.listed[row, LIST]):
        other = state.listed[row, place]
        wanted = other != slot and state.slots[other, TOUCHED] != avoided and state.slots[other, SIZE] > 0
        if wanted and can_take(promises, state, unit, copies, other):
            return other
    if slot != withheld and state.slots[withheld, SIZE] + copies <= offers.most_withheld:
        return withheld
    return -1


@lean
def can_take(promises, state, unit, copies, slot):
    """Whether an open slot keeps its promises with these copies."""
    if len(promises.rules) == 0:
        return True
    recount(promises, unit, slot, copies)
    kept = shortfall(promises, slot, state.slots[slot, SIZE] + copies) == 0
    recount(promises, unit, slot, -copies)
    return kept


@lean
def can_spare(promises, state, unit, copies, slot):
    """These copies, or half of them, or a quarter, ...: so many that the slot still keeps its promises."""
    copies = min(copies, state.slots[slot, SIZE] - promises.k)
    if len(promises.rules) == 0 or copies <= 0:
        return max(copies, 0)
    while copies > 0:
        recount(promises, unit, slot, -copies)
        kept = shortfall(promises, slot, state.slots[slot, SIZE] - copies) == 0
        recount(promises, unit, slot, copies)
        if kept:
            break
        copies //= 2
    return copies


@lean
def assign_all(offers, promises, state, unit, slot, copies):
    """Start from given pieces: copies of units in slots; the records all wait."""
    nowhere = len(offers.cost) - 2
    for p in range(len(unit)):
        move(offers, promises, state, unit[p], nowhere, slot[p], copies[p])
        sync_lists(offers, state, 0)
        state.numbers[LOGGED] = 0
