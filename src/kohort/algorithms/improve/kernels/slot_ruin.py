"""Ruin and recreate: dissolve some slots that lie together, rebuild them, and keep the cheaper assignment."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.improve.kernels.assignment import move, undo
from kohort.algorithms.improve.kernels.open_slots import sync_lists
from kohort.algorithms.improve.kernels.slot_filling import EPSILON
from kohort.algorithms.improve.kernels.slot_opening import place_waiting, polish_slots, try_open
from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import stable_order

_MOST_RUINED = 14
_MOST_TRIED = 100
_LEAST_SHARE = 0.4  # share of k: a candidate covers at least as many freed records
_LONG = 20  # times k: closed records over more rows are tried less often, in proportion


class NearRecords(NamedTuple):
    """The closed records that could be in a good solution."""

    record: np.ndarray
    slack: np.ndarray  # per near record: how far it is from a place in the dual's solution
    start: np.ndarray  # per row and one more: the near records over it, by number in `record`
    over: np.ndarray
    centre: np.ndarray  # near closed records whose slots are ruined together
    wide: np.ndarray  # other closed records, with supports of 3k to 12k, used likewise


@kernel
def ruin_and_recreate(offers, promises, state, near, seed, rounds, scratch, heat):
    """Make `rounds` rounds of ruin and recreate; return how many of them lowered the cost.

    Every record must have a place, and has one after each round. A round may add to the cost: `heat` on
    average over rounds that may add anything; 0: nothing.
    """
    np.random.seed(seed)
    n_better = 0
    found = np.zeros(len(near.record), np.int64)
    for _ in range(rounds):
        state.figures[0].logged = 0
        before = state.figures[0].real_cost
        if not _ruin(offers, promises, state, near, scratch):
            continue
        tried = _candidates(offers, state, near, promises.k, found)
        for mu in (0.01, 0.04, 1.0):
            state.figures[0].mu = mu
            for q in tried:
                try_open(offers, promises, state, q, scratch)
        done = place_waiting(offers, promises, state)
        sync_lists(offers, state, 0)
        if done:
            polish_slots(offers, promises, state, 0, scratch)
        most = before + EPSILON - heat * np.log(1.0 - np.random.random())
        if not done or state.figures[0].real_cost > most:
            undo(offers, promises, state, 0)
        elif state.figures[0].real_cost < before - EPSILON:
            n_better += 1
    return n_better


@kernel
def _ruin(offers, promises, state, near, scratch):
    """Dissolve some slots that share records with a random closed record; return whether there were any."""
    if np.random.random() < 0.7 or len(near.wide) == 0:
        q = near.centre[np.random.randint(len(near.centre))]
    else:
        q = near.wide[np.random.randint(len(near.wide))]
    state.figures[0].stamp += 2
    stamp, nowhere = state.figures[0].stamp, offers.nowhere
    n_slots = 0
    for row in offers.rows[offers.start[q] : offers.start[q + 1]]:
        for unit in range(offers.unit_start[row], offers.unit_start[row + 1]):
            piece = state.head[unit]
            while piece >= 0:
                slot = state.pieces[piece].slot
                if state.slots[slot].touched != stamp:
                    state.slots[slot].touched = stamp
                    state.slots[slot].taken = 0
                    if slot < nowhere:
                        scratch[n_slots] = slot
                        n_slots += 1
                state.slots[slot].taken += state.pieces[piece].copies
                piece = state.pieces[piece].next_of_unit
    shared = np.empty(n_slots)
    for s in range(n_slots):  # (in a loop: adding up arrays takes seconds to compile)
        shared[s] = -state.slots[scratch[s]].taken * (0.5 + np.random.random())
    ruined = stable_order(shared)[: 2 + np.random.randint(_MOST_RUINED - 1)]
    for s in ruined:  # the log is empty, and has room for every record
        slot = scratch[s]
        while state.slots[slot].first >= 0:
            piece = state.slots[slot].first
            move(offers, promises, state, state.pieces[piece].unit, slot, nowhere, state.pieces[piece].copies)
    sync_lists(offers, state, 0)
    return len(ruined) > 0


@kernel
def _candidates(offers, state, near, k, found):
    """The near records over many of the waiting records, those of least slack (and some noise) first.

    Those over many rows take most of the time and win the least: each is left out in most rounds.
    """
    piece = state.slots[offers.nowhere].first
    touched = np.empty(1024, np.int64)
    n = 0
    while piece >= 0:
        row = offers.row_of_unit[state.pieces[piece].unit]
        for number in near.over[near.start[row] : near.start[row + 1]]:
            if found[number] == 0:
                if n == len(touched):
                    longer = np.empty(2 * n, np.int64)
                    longer[:n] = touched
                    touched = longer
                touched[n] = number
                n += 1
            found[number] += state.pieces[piece].copies
        piece = state.pieces[piece].after
    n_kept = 0
    for t in range(n):
        q, enough = near.record[touched[t]], found[touched[t]] >= _LEAST_SHARE * k
        found[touched[t]] = 0
        if enough and np.random.random() * (offers.start[q + 1] - offers.start[q]) < _LONG * k:
            touched[n_kept] = touched[t]
            n_kept += 1
    key = np.empty(n_kept)
    for t in range(n_kept):
        key[t] = near.slack[touched[t]] + 0.003 * np.random.random()
    tried = stable_order(key)[:_MOST_TRIED]
    for t in range(len(tried)):
        tried[t] = near.record[touched[tried[t]]]
    return tried
