"""Local recoding with sensitive items: baskets keep a node where its children, or it, would imply one.

Of the baskets that show any set of labels, too large a share may not hold something sensitive: the rooms that
are left in them (see `short_of_room`) add up to 0 or more. Publishing node N as its children in some baskets
changes the sets with N and those with its children alone. Where a set with a child is short of room, baskets
that hold what is sensitive keep N; where one with N is, baskets that do not. There are always enough of them:
if all keep N, nothing has changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.items.kernels.bit_rows import sorted_in_place
from kohort.algorithms.items.kernels.item_confidence import short_of_room
from kohort.algorithms.items.kernels.itemsets import Baskets
from kohort.algorithms.items.kernels.local_cuts import keep_for_others, may_split, move, supporters_in_order
from kohort.kernels.compiled import kernel

__all__ = ["LocalRules", "split_node_with_room", "tells_at"]

_AT_ONCE = 256  # sets of labels that are collected before baskets are made to keep the node


class LocalRules(NamedTuple):
    """What must not be implied: for each rule the room in each basket, and the largest sets of labels."""

    room: np.ndarray
    size: np.ndarray


class Split(NamedTuple):
    """A node that is published as its children in some baskets.

    around  the baskets that publish it or one of its children
    place   per basket its place among those that publish it, or -1
    may     whether each of those publishes the children
    local   scratch: -1 per node
    """

    node: int
    child_of: np.ndarray
    around: np.ndarray
    place: np.ndarray
    may: np.ndarray
    local: np.ndarray


@kernel
def split_node_with_room(cuts, node, child_of, m, k, rules):
    """Publish a node as its children in as many baskets as is safe; return how many these are.

    As `split_node`, with rules about what is sensitive besides.
    """
    baskets, n_own = supporters_in_order(cuts, node)
    may = may_split(cuts, node, child_of, baskets[:n_own], m, k)
    place = np.full(len(cuts.start) - 1, -1, np.int64)
    place[baskets[:n_own]] = np.arange(n_own)
    local = np.full(len(cuts.parent), -1, np.int64)
    split = Split(node, child_of, _around(cuts, node), place, may, local)
    while may.any():
        if not may.all():
            keep_for_others(cuts, node, baskets, may, m, k)
        kept = 0
        for rule in range(len(rules.size)):
            kept += _keep_for_room(cuts, split, rules.room[rule], rules.size[rule])
        if kept == 0:
            break
    return move(cuts, node, child_of, baskets, may)


@kernel
def tells_at(cuts, node, rules):
    """Whether a set of labels with this node is short of room."""
    place, nobody = np.full(len(cuts.start) - 1, -1, np.int64), np.zeros(0, np.bool_)
    local = np.full(len(cuts.parent), -1, np.int64)
    split = Split(node, cuts.parent, _around(cuts, node), place, nobody, local)
    found = False
    for rule in range(len(rules.size)):
        room = rules.room[rule]
        if not found:
            members = _showing(cuts, split, node)
            found = len(_short_sets(cuts, split, room, rules.size[rule], node, members, 1)) > 0
    return found


@kernel
def _around(cuts, node):
    """The baskets that publish a node or one of its children."""
    tids, n = cuts.tid[cuts.tid_start[node] : cuts.tid_start[node + 1]], 0
    found = np.empty(len(tids), np.int64)
    for b in tids:
        for at in range(cuts.start[b], cuts.start[b + 1]):
            if cuts.node[at] == node or cuts.parent[cuts.node[at]] == node:
                found[n] = b
                n += 1
                break
    return found[:n].copy()


@kernel
def _keep_for_room(cuts, split, room, size):
    """Let baskets keep the node where sets with it or a child are short of room; return how many did."""
    kept = 0
    if not _any_short(room, split.around):
        return kept
    label = np.int64(split.node)
    while label <= cuts.last[split.node]:
        members = _showing(cuts, split, label)
        if _any_short(room, members):
            short = _short_sets(cuts, split, room, size, label, members, _AT_ONCE)
            for i in range(len(short)):
                kept += _call_back(cuts, split, room, label, short[i], members)
        label = label + 1 if label == split.node else cuts.last[label] + 1
    return kept


@kernel
def _any_short(room, baskets):
    """Whether some basket is short of room: otherwise no set of labels is."""
    short = False
    for b in baskets:
        short |= room[b] < 0
    return short


@kernel
def _label(cuts, split, b, at):
    """What an occurrence in a basket is published as, if the node is split as it may be."""
    label = np.int64(cuts.node[at])
    if label == split.node and split.place[b] >= 0 and split.may[split.place[b]]:
        label = np.int64(split.child_of[cuts.leaf[at]])
    return label


@kernel
def _shows(cuts, split, b, label):
    found = False
    for at in range(cuts.start[b], cuts.start[b + 1]):
        found |= _label(cuts, split, b, at) == label
    return found


@kernel
def _showing(cuts, split, label):
    """The baskets that publish the node or a child of it."""
    found, n = np.empty(len(split.around), np.int64), 0
    for b in split.around:
        if _shows(cuts, split, b, label):
            found[n] = b
            n += 1
    return found[:n].copy()


@kernel
def _short_sets(cuts, split, room, size, label, members, most):
    """Sets of other labels that are short of room together with this one; -1 in unused places.

    At most `most` of them, and of those that contain another one some are left out. `members` show the label.
    """
    total = np.int64(0)
    for b in members:
        total += room[b]
    if total < 0 or size == 1:
        return np.full((np.int64(total < 0), max(size - 1, 1)), -1, np.int64)
    beside, label_of = _beside(cuts, split, room, label, members)
    found, number = np.empty((most, size - 1), np.int64), np.zeros(1, np.int64)
    prefix = np.full(size - 1, -1, np.int64)
    short_of_room(beside, len(label_of), size - 1, found, number, prefix, np.int64(0))
    for i in range(number[0]):
        for j in range(size - 1):
            if found[i, j] >= 0:
                found[i, j] = label_of[found[i, j]]
    return found[: number[0]].copy()


@kernel
def _beside(cuts, split, room, label, members):
    """The other labels of the baskets that show one, as numbers; and the label of each number."""
    size = 0
    for b in members:
        size += cuts.start[b + 1] - cuts.start[b]
    start, nodes = np.zeros(len(members) + 1, np.int64), np.empty(size, np.int32)
    label_of, n, filled = np.empty(min(size, len(split.local)), np.int64), 0, 0
    for i in range(len(members)):
        b = members[i]
        for at in range(cuts.start[b], cuts.start[b + 1]):
            other = _label(cuts, split, b, at)
            if other == label:
                continue
            if split.local[other] < 0:
                split.local[other] = n
                label_of[n] = other
                n += 1
            nodes[filled] = split.local[other]
            filled += 1
        sorted_in_place(nodes[start[i] : filled], filled - start[i])
        filled = start[i] + _without_repeats(nodes[start[i] : filled])
        start[i + 1] = filled
    split.local[label_of[:n]] = -1
    return Baskets(start, nodes[:filled], room[members]), label_of[:n].copy()


@kernel
def _without_repeats(numbers):
    """Move the distinct ones of sorted numbers to the front; return how many there are."""
    n = 0
    for number in numbers:
        if n == 0 or numbers[n - 1] != number:
            numbers[n] = number
            n += 1
    return n


@kernel
def _call_back(cuts, split, room, label, others, members):
    """Let baskets keep the node until a set of labels has room; return how many more keep it.

    members  the baskets that showed the label before any was called back
    """
    total = np.int64(0)
    for b in members:
        if _shows(cuts, split, b, label) and _shows_all(cuts, split, b, others):
            total += room[b]
    kept, of_node = 0, label == split.node
    for b in split.around:
        if total >= 0:
            break
        place = split.place[b]
        if place < 0 or not split.may[place] or (room[b] > 0) != of_node or room[b] == 0:
            continue
        if _shows_all(cuts, split, b, others) and (of_node or _shows(cuts, split, b, label)):
            split.may[place] = False
            total += abs(room[b])
            kept += 1
    return kept


@kernel
def _shows_all(cuts, split, b, labels):
    everywhere = True
    for label in labels:
        everywhere = everywhere and (label < 0 or _shows(cuts, split, b, label))
    return everywhere
