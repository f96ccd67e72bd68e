"""Assignments of records to the closed generalized records they are published as, with an undo log.

The records of a table are units: distinct rows, or distinct rows with their sensitive values; those of one
row are neighbours. A slot is a closed record; it is open while it has records. Two more slots follow the
closed records: NOWHERE, for records that wait for a place, at a price per unit, and WITHHELD.

All moves go through `move`, which logs them, so that any stretch of work can be undone. The caller makes sure
that the log has room: there are never more pieces than records, so a step that moves every piece at most m
times needs at most m entries per record.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.improve.kernels.open_slots import LIST, sync_lists
from kohort.algorithms.improve.kernels.promises import drop_tally, recount
from kohort.kernels.compiled import lean

_PIECE = np.dtype(
    [
        ("unit", np.int64),
        ("slot", np.int64),
        ("copies", np.int64),
        ("next_of_unit", np.int64),  # the next piece of the unit, or of the free pieces
        ("before", np.int64),  # the pieces before and after it in the slot
        ("after", np.int64),
    ]
)
_SLOT = np.dtype(
    [
        ("first", np.int64),  # the first piece
        ("n_records", np.int64),
        ("taken", np.int64),  # scratch: records that would be taken
        ("touched", np.int64),  # scratch: the last stamp that was put on it
        ("in_lists", np.int64),  # whether rows have it in their lists
    ]
)
_ADDED = np.dtype([("closing", np.float64), ("coming", np.float64)])
_MOVE = np.dtype([("unit", np.int64), ("old", np.int64), ("new", np.int64), ("copies", np.int64)])
_FIGURES = np.dtype(
    [
        ("free", np.int64),  # the first free piece
        ("logged", np.int64),  # moves in the log
        ("stamp", np.int64),  # the last stamp
        ("real_cost", np.float64),
        ("searched_cost", np.float64),  # with waiting records at their price
        ("mu", np.float64),  # added to the price of a waiting record
    ]
)


class Offers(NamedTuple):
    """The slots that records can be published as, the rows that each slot covers, and their costs."""

    start: np.ndarray  # per closed record and one more: its rows are rows[start[q]:start[q + 1]]
    rows: np.ndarray
    cost: np.ndarray  # per closed record, then of a waiting record (not used) and of a withheld one
    unit_start: np.ndarray  # per row and one more
    row_of_unit: np.ndarray
    copies: np.ndarray  # per unit
    value: np.ndarray  # per unit: the price of a record that waits, without mu
    most_withheld: int
    nowhere: int  # the slot of records that wait
    withheld: int  # the slot of withheld records


class Assignment(NamedTuple):
    """An assignment as pieces, each some copies of a unit in a slot, linked by unit and by slot."""

    head: np.ndarray  # per unit: its first piece
    pieces: np.recarray  # unit, slot, copies, next_of_unit, before, after
    slots: np.recarray  # first, n_records, taken, touched, in_lists
    listed: np.ndarray  # per row: open slots over it, cheapest first, and in the end how many
    mark: np.ndarray  # per row: the last stamp that was put on it
    paid: np.ndarray  # per row: the highest cost of its records, infinite if one waits
    adds: np.recarray  # per slot: the least that `closing` it adds (or NaN), and for records `coming` to q
    log: np.recarray  # moves: unit, old, new, copies
    figures: np.recarray  # one record: free, logged, stamp, real_cost, searched_cost, mu


def new_assignment(offers: Offers, n_records: int) -> Assignment:
    """An assignment in which every record waits. Units without copies stand for no records."""
    n_rows, n_slots = len(offers.unit_start) - 1, len(offers.cost)
    state = Assignment(
        head=np.full(len(offers.copies), -1, dtype=np.int64),
        pieces=_records(n_records + 1, _PIECE),
        slots=_records(n_slots, _SLOT),
        listed=np.zeros((n_rows, LIST + 1), dtype=np.int64),
        mark=np.zeros(n_rows, dtype=np.int64),
        paid=np.full(n_rows, np.inf),
        adds=_records(n_slots, _ADDED),
        log=np.empty(4 * n_records + 1024, dtype=_MOVE).view(np.recarray),
        figures=_records(1, _FIGURES),
    )
    _let_all_wait(offers, state)
    return state


def _records(n: int, kind: np.dtype) -> np.recarray:
    return np.zeros(n, dtype=kind).view(np.recarray)


@lean
def _let_all_wait(offers, state):
    for slot in range(len(state.slots)):
        state.slots[slot].first = -1
        state.adds[slot].closing = state.adds[slot].coming = np.nan
    for piece in range(len(state.pieces)):
        state.pieces[piece].next_of_unit = piece + 1
    for unit in range(len(offers.copies)):
        if offers.copies[unit] > 0:
            _add(state, unit, offers.nowhere, offers.copies[unit])


@lean
def _add(state, unit, slot, copies):
    """Add copies of a unit to a slot."""
    state.slots[slot].n_records += copies
    piece = state.head[unit]
    while piece >= 0 and state.pieces[piece].slot != slot:
        piece = state.pieces[piece].next_of_unit
    if piece >= 0:
        state.pieces[piece].copies += copies
        return
    piece = state.figures[0].free
    state.figures[0].free = state.pieces[piece].next_of_unit
    state.pieces[piece].unit, state.pieces[piece].slot, state.pieces[piece].copies = unit, slot, copies
    state.pieces[piece].next_of_unit = state.head[unit]
    state.head[unit] = piece
    after = state.slots[slot].first
    state.pieces[piece].before, state.pieces[piece].after = -1, after
    if after >= 0:
        state.pieces[after].before = piece
    state.slots[slot].first = piece


@lean
def _remove(state, unit, slot, copies):
    """Remove copies of a unit from a slot."""
    state.slots[slot].n_records -= copies
    previous, piece = -1, state.head[unit]
    while state.pieces[piece].slot != slot:
        previous, piece = piece, state.pieces[piece].next_of_unit
    state.pieces[piece].copies -= copies
    if state.pieces[piece].copies > 0:
        return
    if previous < 0:
        state.head[unit] = state.pieces[piece].next_of_unit
    else:
        state.pieces[previous].next_of_unit = state.pieces[piece].next_of_unit
    before, after = state.pieces[piece].before, state.pieces[piece].after
    if before < 0:
        state.slots[slot].first = after
    else:
        state.pieces[before].after = after
    if after >= 0:
        state.pieces[after].before = before
    state.pieces[piece].next_of_unit = state.figures[0].free
    state.figures[0].free = piece


@lean
def price(offers, state, unit, slot):
    """Cost of a record of a unit in a slot, or its price if it waits."""
    if slot == offers.nowhere:
        return offers.value[unit] + state.figures[0].mu
    return offers.cost[slot]


@lean
def _shift(offers, promises, state, unit, old, new, copies):
    nowhere = offers.nowhere
    _remove(state, unit, old, copies)
    _add(state, unit, new, copies)
    _update_paid(offers, state, offers.row_of_unit[unit], old, new)
    state.adds[old].closing = state.adds[new].closing = np.nan
    if len(promises.tally) > 0:
        if old < nowhere:
            recount(promises, unit, old, -copies)
            if state.slots[old].n_records == 0:
                drop_tally(promises, old)
        if new < nowhere:
            recount(promises, unit, new, copies)
    real = (0.0 if new == nowhere else offers.cost[new]) - (0.0 if old == nowhere else offers.cost[old])
    state.figures[0].real_cost += copies * real
    searched = price(offers, state, unit, new) - price(offers, state, unit, old)
    state.figures[0].searched_cost += copies * searched


@lean
def _update_paid(offers, state, row, old, new):
    """Update the highest cost of a row's records after some of them have moved. O(pieces of the row)."""
    if _highest(offers, new) >= state.paid[row]:
        state.paid[row] = _highest(offers, new)
    elif _highest(offers, old) == state.paid[row]:
        paid = 0.0
        for unit in range(offers.unit_start[row], offers.unit_start[row + 1]):
            piece = state.head[unit]
            while piece >= 0:
                paid = max(paid, _highest(offers, state.pieces[piece].slot))
                piece = state.pieces[piece].next_of_unit
        state.paid[row] = paid


@lean
def _highest(offers, slot):
    """Cost of a record in a slot; infinite if it waits, whatever its price."""
    return np.inf if slot == offers.nowhere else offers.cost[slot]


@lean
def _shift_back(offers, promises, state, logged):
    _shift(offers, promises, state, logged.unit, logged.new, logged.old, logged.copies)


@lean
def move(offers, promises, state, unit, old, new, copies):
    """Move copies of a unit from slot `old` to `new`, and log it. The log must have room."""
    entry = state.figures[0].logged
    state.log[entry].unit, state.log[entry].copies = unit, copies
    state.log[entry].old, state.log[entry].new = old, new
    state.figures[0].logged += 1
    _shift(offers, promises, state, unit, old, new, copies)


@lean
def log_is_full(state, coming):
    """Whether `coming` more moves might not fit into the log."""
    return state.figures[0].logged + coming > len(state.log)


@lean
def undo(offers, promises, state, entry):
    """Take back all moves from this entry of the log on."""
    for e in range(state.figures[0].logged - 1, entry - 1, -1):
        _shift_back(offers, promises, state, state.log[e])
    sync_lists(offers, state, entry)
    state.figures[0].logged = entry


@lean
def undo_last(offers, promises, state):
    """Take back the last move, before the lists of rows are brought up to date with it."""
    state.figures[0].logged -= 1
    _shift_back(offers, promises, state, state.log[state.figures[0].logged])


@lean
def assign_all(offers, promises, state, unit, slot, copies):
    """Assign copies of units to slots, starting from a state in which all records wait."""
    nowhere = offers.nowhere
    for p in range(len(unit)):
        move(offers, promises, state, unit[p], nowhere, slot[p], copies[p])
        sync_lists(offers, state, 0)
        state.figures[0].logged = 0


@lean
def reassign(offers, promises, state, unit, slot, change):
    """Remove copies of units from slots where `change` is below 0, and add them to others where it is above.

    The changes of each unit add up to 0. What was logged before is forgotten.
    """
    nowhere = offers.nowhere
    state.figures[0].logged = 0
    for p in range(len(unit)):
        if change[p] < 0:
            move(offers, promises, state, unit[p], slot[p], nowhere, -change[p])
    for p in range(len(unit)):
        if change[p] > 0:
            move(offers, promises, state, unit[p], nowhere, slot[p], change[p])
    sync_lists(offers, state, 0)
    state.figures[0].logged = 0
