"""k^m-anonymity of baskets in which one item may be published at several levels of its hierarchy.

An attacker knows up to m items of a basket, and looks for all published baskets with a label above each.
Somebody's labels for these items are one set of labels. A basket supports it if, for each of these labels,
it really has an item under the label, and publishes that item as the label or as one above it: then it fits
whatever the attacker knows under the labels. Every set of up to m labels that a basket shows must be
supported by at least k baskets.

Without the original, what a basket really has is unknown: any label at or above another supports it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.kernels.compiled import kernel
from kohort.problem.models.km_anonymity import ItemsetSurvey, KmAnonymity, RareItemset

__all__ = ["Levels", "labels_nest", "survey_locally"]

_LISTED = 100_000


class Levels(NamedTuple):
    """What is needed to tell which labels lie above which items.

    original  the original baskets and the row of each published record in them; None where not known
    """

    hierarchy: Hierarchy
    original: tuple[Baskets, np.ndarray] | None


def labels_nest(published: Baskets, hierarchy: Hierarchy) -> bool:
    """Whether some published label lies above another one: only then items are recoded locally."""
    nodes = np.sort([nodes[0] for nodes in _meant(published, hierarchy) if len(nodes) == 1])
    last = hierarchy.leaf_node[hierarchy.hi]
    return bool((nodes[1:] <= np.maximum.accumulate(last[nodes])[:-1]).any()) if len(nodes) else False


def survey_locally(
    published: Baskets, levels: Levels, model: KmAnonymity, class_of_record: np.ndarray
) -> ItemsetSurvey:
    """Look at every set of up to m labels of every record; list those with the support of fewer than k.

    `least` is the smallest support of a listed set, or k where none is listed. O(sets of up to m labels, with
    those below them that are supported, in all records); counting stops at k.
    """
    n_labels = max(len(published.items.texts), 1)
    keys = np.unique(np.concatenate([_literal(published), *_above(published, levels)]))
    own = np.unique(_literal(published))
    count = np.bincount(keys % n_labels, minlength=n_labels)
    label_of_rank = np.argsort(count, kind="stable")  # rare labels first: few records are followed from them
    rank = np.empty(n_labels, dtype=np.int64)
    rank[label_of_rank] = np.arange(n_labels)
    found = ItemsetSurvey()
    if not len(own):
        return found
    found.least = model.k
    for records in _classes(class_of_record):
        shown, support = (_table(part, n_labels, rank, records) for part in (own, keys))
        _survey_class(shown, support, model, int(class_of_record[records[0]]), label_of_rank, found)
    return found


class _Table(NamedTuple):
    """Record r has the labels labels[start[r]:start[r + 1]], by ascending rank."""

    start: np.ndarray
    labels: np.ndarray


def _survey_class(
    shown: _Table,
    support: _Table,
    model: KmAnonymity,
    class_: int,
    label_of: np.ndarray,
    found: ItemsetSurvey,
) -> None:
    size = min(model.m, int(np.diff(shown.start).max(initial=0)))
    if not size:
        return
    room = max(_LISTED - len(found.listed), 1)
    rare, supports = np.full((room, size), -1, dtype=np.int64), np.zeros(room, dtype=np.int64)
    number, prefix = np.zeros(1, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    _unsupported(shown, support, len(label_of), model.k, prefix, 0, rare, supports, number)
    for ranks, n in zip(rare[: min(number[0], room)], supports.tolist()):
        items = tuple(sorted(label_of[ranks[ranks >= 0]].tolist()))
        found.listed.append(RareItemset(class_, items, n))
        found.least = n if found.least is None else min(found.least, n)
    if number[0]:
        found.rare += int(number[0])
        found.failing_classes.add(class_)


def _classes(class_of_record: np.ndarray) -> Iterator[np.ndarray]:
    order = np.argsort(class_of_record, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(class_of_record[order])) + 1)


def _table(keys: np.ndarray, n_labels: int, rank: np.ndarray, records: np.ndarray) -> _Table:
    """The labels of some records, given all pairs of record and label as record * n_labels + label."""
    first, after = (np.searchsorted(keys, r * n_labels) for r in (records, records + 1))
    sizes = after - first
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.arange(start[-1]) + np.repeat(first - start[:-1], sizes)
    labels = rank[keys[places] % n_labels]
    record = np.repeat(np.arange(len(records)), sizes)
    return _Table(start, labels[np.lexsort((labels, record))].astype(np.int64))


def _literal(published: Baskets) -> np.ndarray:
    """Record * labels + label for every published label."""
    return published.record_of_item * max(len(published.items.texts), 1) + published.items.codes


def _above(published: Baskets, levels: Levels) -> Iterator[np.ndarray]:
    """The same for labels that a record supports by another label above them."""
    hierarchy, n_labels = levels.hierarchy, max(len(published.items.texts), 1)
    meant = _meant(published, hierarchy)
    label_at = np.full(len(hierarchy.parent), -1, dtype=np.int64)
    for label, nodes in enumerate(meant):
        if len(nodes) == 1:  # a label of several nodes is supported by nothing but itself
            label_at[nodes[0]] = label
    node_of = np.array([nodes[0] if len(nodes) == 1 else -1 for nodes in meant], dtype=np.int64)
    node = node_of[published.items.codes]
    known = node >= 0
    record, node = published.record_of_item[known], node[known]
    below = _possible(record, node, hierarchy, label_at)
    if levels.original is not None:
        below = _real(record, node, hierarchy, *levels.original)
    for of_record, lower in below:
        some = label_at[lower] >= 0
        yield of_record[some] * n_labels + label_at[lower[some]]


def _real(
    record: np.ndarray, node: np.ndarray, hierarchy: Hierarchy, original: Baskets, rows: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Records with the nodes between their items and the label that each item is published as."""
    n_leaves = len(hierarchy.leaves)
    leaf = np.array([hierarchy.leaf_of[text] for text in original.items.texts], dtype=np.int64)
    items = np.sort(original.record_of_item * n_leaves + leaf[original.items.codes])
    begin = np.searchsorted(items, rows[record] * n_leaves + hierarchy.lo[node])
    end = np.searchsorted(items, rows[record] * n_leaves + hierarchy.hi[node], side="right")
    sizes = end - begin
    place = np.arange(int(sizes.sum())) + np.repeat(begin - np.cumsum(sizes) + sizes, sizes)
    record, top = np.repeat(record, sizes), np.repeat(node, sizes)
    at = hierarchy.leaf_node[items[place] % n_leaves].astype(np.int64)
    while len(at):
        yield record, at
        lower = at > top
        record, top, at = record[lower], top[lower], hierarchy.parent[at[lower]].astype(np.int64)


def _possible(
    record: np.ndarray, node: np.ndarray, hierarchy: Hierarchy, label_at: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Records with the published nodes at or below their labels."""
    last = hierarchy.leaf_node[hierarchy.hi]
    for lower in np.flatnonzero(label_at >= 0):
        has = (node <= lower) & (lower <= last[node])
        yield record[has], np.full(int(has.sum()), lower)


def _meant(published: Baskets, hierarchy: Hierarchy) -> list[list[int]]:
    """The nodes that each published label may mean."""
    texts = [str(text) for text in published.items.texts]
    return [[0] if text == STAR else hierarchy.nodes_of_label.get(text, []) for text in texts]


@kernel
def _unsupported(shown, support, n_labels, k, prefix, depth, rare, supports, number):
    """Write the sets that begin with prefix[:depth] and that fewer than k records support into `rare`.

    Sets that begin with one that was written are left out. number[0] counts all that were found.
    """
    own, other = _places(shown, n_labels), _places(support, n_labels)
    counts, wanted = np.zeros(n_labels, np.int64), np.zeros(n_labels, np.bool_)
    for label in range(n_labels):
        if own[0][label] == own[0][label + 1]:
            continue
        prefix[depth] = label
        n = other[0][label + 1] - other[0][label]
        if n < k:
            _write(prefix, n, rare, supports, number)
        elif depth + 2 == len(prefix):
            _last_labels(shown, support, own, other, label, k, prefix, counts, wanted, rare, supports, number)
        elif depth + 2 < len(prefix):
            after, among = _after(shown, own, label), _after(support, other, label)
            if len(after.labels):
                _unsupported(after, among, n_labels, k, prefix, depth + 1, rare, supports, number)
    prefix[depth] = -1


@kernel
def _write(prefix, n, rare, supports, number):
    if number[0] < len(rare):
        rare[number[0]], supports[number[0]] = prefix, n
    number[0] += 1


@kernel
def _places(table, n_labels):
    """Per label where its places begin, the places themselves, and the end of the record of each place."""
    begin = np.zeros(n_labels + 1, np.int64)
    for label in table.labels:
        begin[label + 1] += 1
    begin = np.cumsum(begin)
    fill, place = begin[:-1].copy(), np.empty(len(table.labels), np.int64)
    end = np.empty(len(table.labels), np.int64)
    for record in range(len(table.start) - 1):
        for at in range(table.start[record], table.start[record + 1]):
            label = table.labels[at]
            place[fill[label]], end[fill[label]] = at, table.start[record + 1]
            fill[label] += 1
    return begin, place, end


@kernel
def _after(table, places, label):
    """The records that have a label, each with the labels after it; records without any are left out."""
    begin, place, end = places
    size, n = 0, 0
    for i in range(begin[label], begin[label + 1]):
        size += end[i] - place[i] - 1
        n += end[i] - place[i] > 1
    start, labels = np.zeros(n + 1, np.int64), np.empty(size, np.int64)
    n, filled = 0, 0
    for i in range(begin[label], begin[label + 1]):
        if end[i] - place[i] > 1:
            for at in range(place[i] + 1, end[i]):
                labels[filled] = table.labels[at]
                filled += 1
            n += 1
            start[n] = filled
    return _Table(start, labels)


@kernel
def _last_labels(shown, support, own, other, label, k, prefix, counts, wanted, rare, supports, number):
    """Write the sets that end one label after `label`. Counting stops once all have the support of k.

    counts, wanted  scratch, all zero before and after
    """
    left = 0
    for i in range(own[0][label], own[0][label + 1]):
        for at in range(own[1][i] + 1, own[2][i]):
            left += not wanted[shown.labels[at]]
            wanted[shown.labels[at]] = True
    for i in range(other[0][label], other[0][label + 1]):
        if left == 0:
            break
        for at in range(other[1][i] + 1, other[2][i]):
            last = support.labels[at]
            if wanted[last]:
                counts[last] += 1
                left -= counts[last] == k
    for i in range(own[0][label], own[0][label + 1]):
        for at in range(own[1][i] + 1, own[2][i]):
            last = shown.labels[at]
            if wanted[last]:
                if counts[last] < k:
                    prefix[-1] = last
                    _write(prefix, counts[last], rare, supports, number)
                wanted[last], counts[last] = False, 0
    prefix[-1] = -1
