"""Regions of two assignments: the smallest sets of units that both assign to slots of their own."""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel, lean


@kernel
def regions_of_units(n_units, n_slots, unit, slot):
    """The region of each unit, as the number of one of its units: units in one slot are in one region.

    unit, slot  the pieces of one assignment, or of several whose slots are numbered apart. O(pieces).
    """
    above, first = np.arange(n_units), np.full(n_slots, -1, np.int64)
    for piece in range(len(unit)):
        if first[slot[piece]] < 0:
            first[slot[piece]] = unit[piece]
        one, other = _top(above, first[slot[piece]]), _top(above, unit[piece])
        above[max(one, other)] = min(one, other)
    for u in range(n_units):
        above[u] = _top(above, u)
    return above


@lean
def _top(above, unit):
    """The first unit of a region; paths to it are halved."""
    while above[unit] != unit:
        above[unit] = above[above[unit]]
        unit = above[unit]
    return unit
