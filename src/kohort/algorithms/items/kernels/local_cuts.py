"""Local recoding: publish one node as its children, in those baskets alone where that stays safe.

A basket supports a node if it has an item under it and publishes that item as this node or one above it. A
set of nodes that some basket publishes must be supported by at least k baskets. Publishing node N as its
children in one basket ends its support of N, and changes no other support. So it is safe if two things hold:
every set of its new nodes has enough support, and every set with N that remains in other baskets still does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.kernels.costs import ones
from kohort.kernels.compiled import kernel, lean
from kohort.kernels.sorting import stable_order

_KNOWN = 1 << 16  # itemsets with enough support that are remembered


class LocalCuts(NamedTuple):
    """Baskets and how each occurrence of an item is published. Nodes are numbered in depth-first order.

    Basket b holds the leaves leaf[start[b]:start[b + 1]], each a node, published as the nodes `node`.
    Baskets with an item under node n are tid[tid_start[n]:tid_start[n + 1]]. `row` is scratch: -1 per node.
    """

    start: np.ndarray
    leaf: np.ndarray
    node: np.ndarray
    parent: np.ndarray
    last: np.ndarray
    tid_start: np.ndarray
    tid: np.ndarray
    row: np.ndarray


@kernel
def split_node(cuts, node, child_of, m, k):
    """Publish a node as its children in as many baskets as is safe; return how many these are.

    child_of  per leaf the child of the node that it is under

    Baskets with few nodes come first where baskets must keep the node for the sake of others.
    O(occurrences in the baskets under the node * height + sets of up to m of their nodes).
    """
    baskets, n_own = supporters_in_order(cuts, node)
    may = may_split(cuts, node, child_of, baskets[:n_own], m, k)
    if may.any() and not may.all():
        keep_for_others(cuts, node, baskets, may, m, k)
    return move(cuts, node, child_of, baskets, may)


@kernel
def move(cuts, node, child_of, baskets, may):
    """Publish a node as its children in those of the baskets that may; return how many these are."""
    moved = 0
    for i in range(len(may)):
        if may[i]:
            moved += 1
            for at in range(cuts.start[baskets[i]], cuts.start[baskets[i] + 1]):
                if cuts.node[at] == node:
                    cuts.node[at] = child_of[cuts.leaf[at]]
    return moved


@kernel
def _supporters(cuts, node):
    """The baskets that support a node."""
    tids = cuts.tid[cuts.tid_start[node] : cuts.tid_start[node + 1]]
    found, n = np.empty(len(tids), np.int64), 0
    for b in tids:
        for at in range(cuts.start[b], cuts.start[b + 1]):
            if node <= cuts.leaf[at] <= cuts.last[node] and cuts.node[at] <= node:
                found[n] = b
                n += 1
                break
    return found[:n]


@kernel
def supporters_in_order(cuts, node):
    """The baskets that support a node, and how many of them publish it; these come first, small ones first.

    The others publish a node above it.
    """
    baskets = _supporters(cuts, node)
    size, n_own = np.empty(len(baskets), np.int64), 0
    nodes = np.empty(_longest(cuts, baskets), np.int64)
    for i in range(len(baskets)):
        n, own = _published(cuts, baskets[i], node, cuts.row, False, nodes)
        size[i] = n if own else np.int64(1) << 40
        n_own += own
    return baskets[stable_order(size)], n_own


@kernel
def _longest(cuts, baskets):
    longest = np.int64(1)
    for b in baskets:
        longest = max(longest, np.int64(cuts.start[b + 1] - cuts.start[b]))
    return longest


@kernel
def _published(cuts, basket, node, child_of, split, found):
    """Write the nodes of a basket into `found`, ascending, each once; with `split`, children for the node.

    Returns how many there are, and whether the basket publishes the node.
    """
    n, own = 0, False
    for at in range(cuts.start[basket], cuts.start[basket + 1]):
        value = np.int64(cuts.node[at])
        if value == node:
            own = True
            if split:
                value = np.int64(child_of[cuts.leaf[at]])
        place = n
        while place > 0 and found[place - 1] > value:
            place -= 1
        if place > 0 and found[place - 1] == value:
            continue
        for i in range(n, place, -1):
            found[i] = found[i - 1]
        found[place] = value
        n += 1
    return n, own


@kernel
def may_split(cuts, node, child_of, baskets, m, k):
    """Whether each basket may publish the node as its children: all sets of its new nodes have support."""
    may = np.ones(len(baskets), np.bool_)
    child = node + 1
    while child <= cuts.last[node]:
        supporters = _supporters(cuts, child)
        if len(supporters):
            _judge_child(cuts, (node, child), child_of, baskets, supporters, m, k, may)
        child = cuts.last[child] + 1
    return may


@kernel
def _judge_child(cuts, edge, child_of, baskets, supporters, m, k, may):
    """Take back permission from baskets with a set of new nodes, one the child, of too little support."""
    node, child = edge
    nodes = np.empty(_longest(cuts, baskets), np.int64)
    rows, n_rows = np.empty(len(cuts.parent), np.int64), 0
    for i in range(len(baskets)):
        n = _published(cuts, baskets[i], node, child_of, True, nodes)[0] if may[i] else 0
        if _has(nodes, n, child):
            may[i] = len(supporters) >= k
            n_rows = _numbered(cuts, nodes[:n], child, rows, n_rows)
    if len(supporters) >= k and m > 1 and n_rows:
        bits = _bit_rows(cuts, supporters, n_rows, len(supporters))
        places = np.empty(m, np.int64)
        for i in range(len(baskets)):
            n = _published(cuts, baskets[i], node, child_of, True, nodes)[0] if may[i] else 0
            if _has(nodes, n, child):
                n = _rows_of(cuts, nodes, n, child)
                may[i] = not _some_short(bits, nodes[:n], places[: min(m - 1, n)], k)
    cuts.row[rows[:n_rows]] = -1


@kernel
def _has(nodes, n, node):
    found = False
    for i in range(n):
        found |= nodes[i] == node
    return found


@kernel
def _numbered(cuts, nodes, without, rows, n_rows):
    """Give each node but one a row, if it has none; rows[i] is the node of row i. Returns their number."""
    for node in nodes:
        if node != without and cuts.row[node] < 0:
            cuts.row[node] = n_rows
            rows[n_rows] = node
            n_rows += 1
    return n_rows


@kernel
def _rows_of(cuts, nodes, n, without):
    """Replace nodes by their rows, ascending, leaving one node out; return how many there are."""
    kept = 0
    for i in range(n):
        if nodes[i] != without:
            nodes[kept] = cuts.row[nodes[i]]
            kept += 1
    sorted_in_place(nodes, kept)
    return kept


@kernel
def _bit_rows(cuts, baskets, n_rows, n_in):
    """For each numbered node a row of bits: which of the baskets support it. The first n_in count."""
    words = (len(baskets) + 63) // 64
    bits, among = np.zeros((n_rows, words), np.uint64), np.zeros(words, np.uint64)
    for i in range(len(baskets)):
        bit = one_bit(i)
        if i < n_in:
            among[i >> 6] |= bit
        for at in range(cuts.start[baskets[i]], cuts.start[baskets[i] + 1]):
            node, top = cuts.leaf[at], cuts.node[at]
            while node >= top:
                if cuts.row[node] >= 0:
                    bits[cuts.row[node], i >> 6] |= bit
                node = cuts.parent[node]
    return BitRows(bits, among, np.zeros(_KNOWN, np.int64), np.zeros(1, np.int64))


@kernel
def _some_short(bits, rows, places, k):
    """Whether some set of as many of the rows as there are places is in fewer than k baskets."""
    if len(places) == 0:
        return False
    first_places(places)
    while True:
        if not enough(bits, rows, places, k):
            return True
        if not next_places(places, len(rows)):
            return False


@kernel
def keep_for_others(cuts, node, baskets, may, m, k):
    """Take back permission from baskets whose support of the node others need, until none needs more.

    baskets  those that support the node; the first len(may) of them publish it
    """
    nodes = np.empty(_longest(cuts, baskets), np.int64)
    rows, n_rows = np.empty(len(cuts.parent), np.int64), 0
    for i in range(len(may)):
        n = _published(cuts, baskets[i], node, cuts.row, False, nodes)[0]
        n_rows = _numbered(cuts, nodes[:n], node, rows, n_rows)
    bits = _bit_rows(cuts, baskets, n_rows, len(baskets))
    queue, n_queue = np.empty(len(may), np.int64), 0
    for i in range(len(may)):
        if may[i]:
            bits.among[i >> 6] &= ~one_bit(i)
        else:
            queue[n_queue] = i
            n_queue += 1
    places, done = np.empty(m, np.int64), 0
    while done < n_queue:
        n = _published(cuts, baskets[queue[done]], node, cuts.row, False, nodes)[0]
        n = _rows_of(cuts, nodes, n, node)
        n_queue = _call_back(bits, nodes[:n], places[: min(m - 1, n)], may, queue, n_queue, k)
        done += 1
    cuts.row[rows[:n_rows]] = -1


@kernel
def _call_back(bits, rows, places, may, queue, n_queue, k):
    """For every set of rows with too little support among those that keep the node, let more keep it.

    They are added to the queue, whose new length is returned: their own sets need support, too.
    """
    first_places(places)
    while True:
        if not enough(bits, rows, places, k):
            missing = k - count_up_to(bits, rows, places, k)
            for i in range(len(may)):
                if missing <= 0:
                    break
                if may[i] and _supports(bits, rows, places, i):
                    may[i] = False
                    bits.among[i >> 6] |= one_bit(i)
                    queue[n_queue] = i
                    n_queue += 1
                    missing -= 1
        if not next_places(places, len(rows)):
            return n_queue


@kernel
def _supports(bits, rows, places, i):
    common = one_bit(i)
    for place in places:
        common &= bits.rows[rows[place], i >> 6]
    return common > 0


_LARGEST_KEY = 2.0**56


class BitRows(NamedTuple):
    """Rows of bits, which baskets count (`among`), and a table of the sets that are known to have enough.

    A set that has enough keeps it: bits are only ever added to `among`.
    """

    rows: np.ndarray
    among: np.ndarray
    known: np.ndarray
    n_known: np.ndarray


@lean
def one_bit(i):
    """The bit of basket number i within its word."""
    return np.uint64(1) << np.uint64(i & 63)


@lean
def first_places(places):
    """The first combination: 0, 1, 2, ..."""
    for i in range(len(places)):
        places[i] = i


@lean
def next_places(places, n):
    """Turn a combination of the numbers below n into the next one; False after the last."""
    i = len(places) - 1
    while i >= 0 and places[i] == n - len(places) + i:
        i -= 1
    if i < 0:
        return False
    places[i] += 1
    for j in range(i + 1, len(places)):
        places[j] = places[j - 1] + 1
    return True


@lean
def sorted_in_place(values, n):
    """Sort values[:n] by insertion, since baskets are short."""
    for i in range(1, n):
        value, j = values[i], i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@kernel
def enough(bits, rows, places, k):
    """Whether at least k baskets that count have all of rows[places]; O(1) where this is known already."""
    key = _key(bits, rows, places)
    slot = np.int64(0)
    if key > 0:
        slot = _slot(bits.known, key)
        if bits.known[slot] == key:
            return True
    if count_up_to(bits, rows, places, k) < k:
        return False
    if key > 0 and 2 * bits.n_known[0] < len(bits.known):
        bits.known[slot] = key
        bits.n_known[0] += 1
    return True


@lean
def _key(bits, rows, places):
    """A positive number that tells sets of rows of one size apart; 0 where there is no room for it."""
    n, largest, key = len(bits.rows), 1.0, np.int64(0)
    for place in places:
        largest *= n
        if largest > _LARGEST_KEY:
            return np.int64(0)
        key = key * n + rows[place]
    return key * 64 + len(places) + 1


@lean
def _slot(known, key):
    """The slot of a key in a table of a power of two, or the free one where it would be."""
    mask = np.uint64(len(known) - 1)
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = (mixed ^ (mixed >> np.uint64(31))) & mask
    while known[slot] != 0 and known[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot)


@lean
def count_up_to(bits, rows, places, k):
    """How many baskets that count have all of rows[places]; stops once there are k."""
    total = np.int64(0)
    for word in range(len(bits.among)):
        common = bits.among[word]
        for place in places:
            common &= bits.rows[rows[place], word]
        if common:
            total += ones(common)
            if total >= k:
                break
    return total
