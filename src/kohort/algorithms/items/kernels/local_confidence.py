"""Sensitive items: itemsets that imply one, and local recodings in which none does.

The room that a limit p/q leaves a basket is p per record of it, minus q per record that holds the sensitive
item. The confidence of a set of items is within the limit exactly if the rooms of all baskets that have it
add up to 0 or more.

In a local recoding the same holds of the baskets that show any set of labels. Publishing node N as its
children in some baskets changes the sets with N and those with its children alone. Where a set with a child
is short of room, baskets that hold what is sensitive keep N; where one with N is, baskets that do not. There
are always enough of them: if all keep N, nothing has changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.items.kernels.itemsets import Baskets, Lists, project, transposed
from kohort.algorithms.items.kernels.local_cuts import (
    keep_for_others,
    may_split,
    move,
    sorted_in_place,
    supporters_in_order,
)
from kohort.kernels.compiled import kernel, lean
from kohort.kernels.sorting import place_among


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


_AT_ONCE = 4096  # sets of labels that are collected before baskets are made to keep the node


class LocalRules(NamedTuple):
    """What must not be implied: for each rule the room in each basket, and the largest sets of labels."""

    room: np.ndarray
    size: np.ndarray


class Split(NamedTuple):
    """A node, and the baskets around it: those that publish it or one of its children.

    basket   the number of each
    labels   their labels, by numbers from 1 on, ascending: children of the node, then others; in place of the
             node stand the children that it would be published as. The node itself is number 0
    lists    the places of each label
    n_inner  how many children have a number
    place    the place of each among the baskets that publish the node; -1 for the others
    may      whether each of those publishes the children
    """

    basket: np.ndarray
    labels: Baskets
    lists: Lists
    n_inner: int
    place: np.ndarray
    may: np.ndarray


@kernel
def split_node_with_room(cuts, node, child_of, m, k, rules):
    """Publish a node as its children in as many baskets as is safe; return how many these are.

    As `split_node`, with rules about what is sensitive besides.
    """
    baskets, n_own = supporters_in_order(cuts, node)
    may = may_split(cuts, node, child_of, baskets[:n_own], m, k)
    split = _split_around(cuts, node, child_of, baskets[:n_own], may)
    while may.any():
        if not may.all():
            keep_for_others(cuts, node, baskets, may, m, k)
        before = may.sum()
        while _keep_for_rules(split, rules) > 0:
            pass
        if may.sum() == before:
            break
    return move(cuts, node, child_of, baskets, may)


@kernel
def tells_at(cuts, node, rules):
    """Whether a set of labels with this node, or with a child of it, is short of room."""
    own, n = np.empty(cuts.tid_start[node + 1] - cuts.tid_start[node], np.int64), 0
    for b in cuts.tid[cuts.tid_start[node] : cuts.tid_start[node + 1]]:
        if _publishes(cuts, b, node):
            own[n] = b
            n += 1
    split = _split_around(cuts, node, cuts.parent, own[:n].copy(), np.zeros(n, np.bool_))
    found = False
    for rule in range(len(rules.size)):
        if not found:
            short = _short_sets(split, rules.room[rule], rules.size[rule], 1)
            found = len(short) > 0
    return found


@lean
def _publishes(cuts, b, node):
    found = False
    for at in range(cuts.start[b], cuts.start[b + 1]):
        found |= cuts.node[at] == node
    return found


@kernel
def _split_around(cuts, node, child_of, own, may):
    """The baskets that publish a node, `own`, or one of its children, and their labels."""
    place = np.full(len(cuts.start) - 1, -1, np.int64)
    place[own] = np.arange(len(own))
    basket, local, n_inner = _around(cuts, node, child_of, place)
    size = 0
    for b in basket:
        size += cuts.start[b + 1] - cuts.start[b]
    start, nodes = np.zeros(len(basket) + 1, np.int64), np.empty(size, np.int32)
    n, filled = n_inner + 1, 0
    for i in range(len(basket)):
        for at in range(cuts.start[basket[i]], cuts.start[basket[i] + 1]):
            label = _if_split(cuts, node, child_of, at)
            if local[label] < 0:
                local[label] = n
                n += 1
            nodes[filled] = local[label]
            filled += 1
        filled = start[i] + _sorted_once(nodes[start[i] : filled])
        start[i + 1] = filled
    labels = Baskets(start, nodes[:filled].copy(), np.ones(len(basket), np.int64))
    return Split(basket, labels, transposed(labels, n), n_inner, place[basket], may)


@lean
def _if_split(cuts, node, child_of, at):
    """What an occurrence is published as if the node is published as its children."""
    label = np.int64(cuts.node[at])
    return np.int64(child_of[cuts.leaf[at]]) if label == node else label


@kernel
def _around(cuts, node, child_of, place):
    """The baskets with the node or a child of it; the numbers of the children, and how many these are."""
    tids, n, n_inner = cuts.tid[cuts.tid_start[node] : cuts.tid_start[node + 1]], 0, 0
    found, local = np.empty(len(tids), np.int64), np.full(len(cuts.parent), -1, np.int64)
    for b in tids:
        near = place[b] >= 0
        for at in range(cuts.start[b], cuts.start[b + 1]):
            label = _if_split(cuts, node, child_of, at)
            if cuts.parent[label] == node or cuts.node[at] == node:
                near = True
                if local[label] < 0:
                    n_inner += 1
                    local[label] = n_inner
        if near:
            found[n] = b
            n += 1
    return found[:n].copy(), local, n_inner


@kernel
def _sorted_once(numbers):
    """Sort numbers, move the distinct ones to the front, and return how many there are."""
    sorted_in_place(numbers, len(numbers))
    n = 0
    for number in numbers:
        if n == 0 or numbers[n - 1] != number:
            numbers[n] = number
            n += 1
    return n


@kernel
def _keep_for_rules(split, rules):
    """Let baskets keep the node where sets with it or a child are short of room; return how many did."""
    kept = 0
    for rule in range(len(rules.size)):
        room = rules.room[rule]
        short = _short_sets(split, room, rules.size[rule], _AT_ONCE)
        for i in range(len(short)):
            kept += _call_back(split, room, short[i])
    return kept


@lean
def _keeps(split, i):
    """Whether a basket publishes the node itself."""
    return split.place[i] >= 0 and not split.may[split.place[i]]


@kernel
def _short_sets(split, room, size, most):
    """Sets of labels with the node or a child that are short of room, by numbers; -1 in unused places.

    At most `most` of them, and none that begins with another one.
    """
    found, number = np.empty((most, size), np.int64), np.zeros(1, np.int64)
    shown = _shown(split, room)
    if len(shown.weight) == 0 or shown.weight.min() >= 0:
        return found[:0].copy()
    n_labels = np.int64(split.n_inner + 1)
    if len(split.lists.present):
        n_labels = max(n_labels, np.int64(split.lists.present[-1] + 1))
    lists, everything = transposed(shown, n_labels), np.ones(n_labels, np.bool_)
    prefix = np.full(size, -1, np.int64)
    for i in range(len(lists.present)):
        if lists.present[i] > split.n_inner or number[0] == most:
            break
        prefix[0] = lists.present[i]
        if lists.weight[i] < 0:
            found[number[0]] = prefix
            number[0] += 1
        elif size > 1:
            below = project(shown, lists, i, everything)
            if len(below.weight) and below.weight.min() < 0:
                short_of_room(below, n_labels, size, found, number, prefix, np.int64(1))
    return found[: number[0]].copy()


@kernel
def _shown(split, room):
    """The baskets around the node as they are published now, weighted by their room; none without any."""
    labels, n, filled = split.labels, 0, 0
    start, nodes = np.zeros(len(labels.start), np.int64), np.empty(len(labels.nodes), np.int32)
    weight = np.empty(len(split.basket), np.int64)
    for i in range(len(split.basket)):
        if room[split.basket[i]] == 0:
            continue
        keeps = _keeps(split, i)
        if keeps:
            nodes[filled] = 0
            filled += 1
        for at in range(labels.start[i], labels.start[i + 1]):
            if not (keeps and labels.nodes[at] <= split.n_inner):
                nodes[filled] = labels.nodes[at]
                filled += 1
        weight[n] = room[split.basket[i]]
        n += 1
        start[n] = filled
    return Baskets(start[: n + 1], nodes[:filled], weight[:n])


@kernel
def _call_back(split, room, itemset):
    """Let baskets keep the node until a set of labels has room; return how many more keep it."""
    fitting = _with_all(split, itemset)
    total, of_node = np.int64(0), itemset[0] == 0
    for i in fitting:
        if _keeps(split, i) == of_node:
            total += room[split.basket[i]]
    kept = 0
    for i in fitting:
        if total >= 0:
            break
        own_room = room[split.basket[i]]
        moves = split.place[i] >= 0 and split.may[split.place[i]]
        if moves and own_room != 0 and (own_room > 0) == of_node:
            split.may[split.place[i]] = False
            total += abs(own_room)
            kept += 1
    return kept


@kernel
def _with_all(split, itemset):
    """The baskets that show all labels of a set, or would; of one with the node, those that publish it."""
    lists, rarest = split.lists, np.int64(-1)
    for label in itemset:
        if label > 0:
            i = place_among(lists.present, label)
            if rarest < 0 or _length(lists, i) < _length(lists, rarest):
                rarest = i
    if rarest < 0:
        return np.flatnonzero(split.place >= 0)
    found, n = np.empty(_length(lists, rarest), np.int64), 0
    for at in range(lists.start[rarest], lists.start[rarest + 1]):
        i = np.int64(lists.basket[at])
        found[n] = i
        n += _has_all(split, i, itemset)
    return found[:n].copy()


@lean
def _length(lists, i):
    return lists.start[i + 1] - lists.start[i]


@kernel
def _has_all(split, i, itemset):
    """Whether a basket has all labels of a set; it has the node if it publishes it."""
    nodes = split.labels.nodes[split.labels.start[i] : split.labels.start[i + 1]]
    everywhere = True
    for label in itemset:
        if label == 0:
            everywhere = everywhere and split.place[i] >= 0
        elif label > 0 and everywhere:
            place = place_among(nodes, label)
            everywhere = place < len(nodes) and nodes[place] == label
    return everywhere
