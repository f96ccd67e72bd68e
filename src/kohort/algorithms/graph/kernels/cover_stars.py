"""Edge covers of records as groups: stars with few leaves (Aggarwal et al., 2005, section 5)."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.kernels.nearest_rows import distances
from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import stable_order


@kernel
def centers_of_cover(one, other, covered):
    """The center of each record's star, once every edge whose ends are both covered without it is dropped.

    What is left is stars. A center's center is itself. `covered` records need no edge. O(edges).
    """
    degree = covered.astype(np.int64)
    for edge in range(len(one)):
        degree[one[edge]] += 1
        degree[other[edge]] += 1
    center = np.arange(len(covered))
    for edge in range(len(one)):
        a, b = one[edge], other[edge]
        if degree[a] > 1 and degree[b] > 1:
            degree[a] -= 1
            degree[b] -= 1
        elif degree[a] > 1:
            center[b] = a
        else:
            center[a] = b
    return center


@kernel
def pair_leaves(tables, leaves, hub, rows, keep):
    """Pair the leaves of a star until at most `keep` stay with its hub.

    Each time the record farthest from the hub is paired with its nearest among those left, which costs no
    more than both edges to the hub. Returns places in `rows`, pairs side by side and then those that stay,
    and how many are in pairs. O(rows^2).
    """
    order = stable_order(-distances(tables, leaves, np.full(len(rows), hub), rows))
    paired = 0
    while len(order) - paired > keep:
        rest = rows[order[paired + 1 :]]
        near = distances(tables, leaves, np.full(len(rest), rows[order[paired]]), rest)
        place = paired + 1 + np.argmin(near)
        partner = order[place]
        order[paired + 2 : place + 1] = order[paired + 1 : place].copy()
        order[paired + 1] = partner
        paired += 2
    return order, paired
