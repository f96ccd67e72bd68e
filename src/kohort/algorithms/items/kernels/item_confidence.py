"""Itemsets that reveal a sensitive item: those whose baskets are short of room.

The room that a limit p/q leaves a basket is p per record of it, minus q per record that holds the sensitive
item. The confidence of a set of items is within the limit exactly if the rooms of all baskets that have it
add up to 0 or more.
"""

from __future__ import annotations

import numpy as np

from kohort.algorithms.items.kernels.itemsets import project, transposed
from kohort.kernels.compiled import kernel


@kernel
def short_of_room(baskets, n_nodes, size, found, number, prefix, depth):
    """Write the itemsets of up to `size` nodes that are short of room into `found`, as long as it has rows.

    A basket's weight is its room. Sets that begin with one that was written are skipped. number[0] counts the
    sets that were written. O(itemsets in all baskets that share a prefix with one without room).
    """
    lists, everything = transposed(baskets, n_nodes), np.ones(n_nodes, np.bool_)
    room, seen = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.bool_)
    for i in range(len(lists.present)):
        if number[0] == len(found):
            break
        prefix[depth] = lists.present[i]
        if lists.weight[i] < 0:
            _write(found, number, prefix)
        elif depth + 1 < size and _some_short(baskets, lists, i):
            if depth + 2 == size:
                _short_after(baskets, lists, i, room, seen, found, number, prefix)
            else:
                below = project(baskets, lists, i, everything)
                if len(below.weight):
                    short_of_room(below, n_nodes, size, found, number, prefix, depth + 1)
    prefix[depth] = -1


@kernel
def _write(found, number, prefix):
    if number[0] < len(found):
        found[number[0]] = prefix
        number[0] += 1


@kernel
def _some_short(baskets, lists, i):
    """Whether some basket with node number i of the lists is short of room, and has more nodes after it."""
    for at in range(lists.start[i], lists.start[i + 1]):
        b = lists.basket[at]
        if baskets.weight[b] < 0 and lists.where[at] + 1 < baskets.start[b + 1]:
            return True
    return False


@kernel
def _short_after(baskets, lists, i, room, seen, found, number, prefix):
    """Write the itemsets that are short of room and end one node after node number i of the lists.

    room, seen  scratch, all zero before and after
    """
    for at in range(lists.start[i], lists.start[i + 1]):
        b = lists.basket[at]
        for node in baskets.nodes[lists.where[at] + 1 : baskets.start[b + 1]]:
            room[node] += baskets.weight[b]
    for at in range(lists.start[i], lists.start[i + 1]):
        b = lists.basket[at]
        for node in baskets.nodes[lists.where[at] + 1 : baskets.start[b + 1]]:
            if room[node] < 0 and not seen[node]:
                seen[node] = True
                prefix[-1] = node
                _write(found, number, prefix)
    for at in range(lists.start[i], lists.start[i + 1]):
        b = lists.basket[at]
        for node in baskets.nodes[lists.where[at] + 1 : baskets.start[b + 1]]:
            room[node], seen[node] = 0, False
    prefix[-1] = -1
