"""What the state of the local search must be, worked out anew from who is published as what."""

import numpy as np


def placed(state):
    """(unit, slot) -> copies, by walking through the pieces of every unit."""
    found = {}
    for unit, piece in enumerate(state.head.tolist()):
        while piece >= 0:
            assert state.pieces[piece].unit == unit and state.pieces[piece].copies > 0
            assert (unit, int(state.pieces[piece].slot)) not in found
            found[unit, int(state.pieces[piece].slot)] = int(state.pieces[piece].copies)
            piece = int(state.pieces[piece].next_of_unit)
    return found


def audit(search):
    """Compare sizes, lists, tallies, costs and what closing adds with their definitions."""
    offers, state, promises = search.offers, search.state, search.promises
    found, n_slots = placed(state), len(offers.cost)
    of_unit = np.zeros(len(offers.copies), dtype=int)
    size = np.zeros(n_slots, dtype=int)
    for (unit, slot), copies in found.items():
        of_unit[unit] += copies
        size[slot] += copies
    assert (of_unit == offers.copies).all()
    assert (size == state.slots.n_records).all()
    assert abs(float(size @ offers.cost) - state.figures[0].real_cost) < 1e-9 * max(1, size.sum())
    over, most = _open_over(search, size), state.listed.shape[1] - 1  # the last entry is how many
    for row, slots in enumerate(over):
        assert state.listed[row, : state.listed[row, most]].tolist() == slots[:most]
    for row, paid in enumerate(state.paid):
        assert paid == max(_highest(offers, slot) for unit, slot in found if offers.row_of_unit[unit] == row)
    for slot in range(n_slots):
        _audit_slot(search, slot, found, over)
    if len(promises.tally):
        _audit_tallies(promises, found, size, n_slots - 2)


def _highest(offers, slot):
    """The cost of a record in a slot; no limit if it waits."""
    return np.inf if slot == offers.nowhere else offers.cost[slot]


def _open_over(search, size):
    """Per row the open slots over it, cheapest first."""
    over = [[] for _ in search.offers.unit_start[1:]]
    for slot in np.flatnonzero(size[: search.nowhere]):
        for row in search.closed.support(slot):
            over[row].append(int(slot))
    return [sorted(slots, key=lambda slot: (search.offers.cost[slot], slot)) for slots in over]


def _audit_slot(search, slot, found, over):
    """The records of a slot by its own list; and what closing it adds, where that is known."""
    offers, state = search.offers, search.state
    inside, piece = {}, int(state.slots[slot].first)
    while piece >= 0:
        inside[int(state.pieces[piece].unit), slot] = int(state.pieces[piece].copies)
        piece = int(state.pieces[piece].after)
    assert inside == {key: copies for key, copies in found.items() if key[1] == slot}
    if slot >= search.nowhere or np.isnan(state.adds[slot].closing):
        return
    added = 0.0
    for (unit, _), copies in inside.items():
        others = [offers.cost[other] for other in over[offers.row_of_unit[unit]] if other != slot]
        others += [offers.cost[-1]] if offers.most_withheld else [] if others else [1e3]
        added += copies * (min(others) - offers.cost[slot])
    assert abs(state.adds[slot].closing - added) < 1e-6


def _audit_tallies(promises, found, size, nowhere):
    for slot in range(nowhere):
        expected = _tally(promises, [(unit, n) for (unit, other), n in found.items() if other == slot])
        tally = promises.tally_of[slot]
        assert (tally >= 0) == (size[slot] > 0)
        assert tally < 0 or np.allclose(promises.tally[tally], expected, rtol=0, atol=1e-9)


def _tally(promises, inside):
    """How many records or people a slot has by value, and of any value, given its units and their copies."""
    expected = np.zeros(promises.tally.shape[1])
    if not len(promises.person):
        for unit, copies in inside:
            np.add.at(expected, [*promises.value[unit], -1], copies)
        return expected
    for person in {promises.person[unit] for unit, _ in inside}:
        own = [unit for unit, copies in inside for _ in range(copies) if promises.person[unit] == person]
        expected[-1] += 1
        for values in promises.value[own].T.tolist():
            for value in set(values):
                is_spread = promises.is_spread[value]
                expected[value] += values.count(value) / len(values) if is_spread else 1
    return expected
