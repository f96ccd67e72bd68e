"""The Hilbert curve in the plane as it is usually drawn, and the best cut of an order among all."""

from __future__ import annotations


def places_in_the_plane(bits):
    """The points of a square of side 2**bits in the order of the curve: four curves of half the side."""
    if bits == 0:
        return [(0, 0)]
    half = 2 ** (bits - 1)
    quarter = places_in_the_plane(bits - 1)
    return [
        *((y, x) for x, y in quarter),
        *((x, y + half) for x, y in quarter),
        *((x + half, y + half) for x, y in quarter),
        *((2 * half - 1 - y, half - 1 - x) for x, y in quarter),
    ]


def cheapest_cut(order, k, cost_of):
    """The least cost of a cut of rows in this order into runs of k to 2k - 1; None if there is none."""
    if not order:
        return 0.0
    found = []
    for size in range(k, min(2 * k - 1, len(order)) + 1):
        rest = cheapest_cut(order[size:], k, cost_of)
        if rest is not None:
            found.append(size * cost_of(order[:size]) + rest)
    return min(found, default=None)
