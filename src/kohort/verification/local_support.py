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
from kohort.verification.promises import Promise
from kohort.verification.promises.itemsets import Itemset, Rare

_LISTED = 100_000
_PAIRS = 5_000_000  # pairs of labels that are handled at once


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


def survey_locally(published: Baskets, levels: Levels, promise: Promise, class_of_record: np.ndarray) -> Rare:
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
    found, k, m = Rare(), int(promise.number("k")), int(promise.number("m"))
    if not len(own):
        return found
    found.least = k
    for records in _classes(class_of_record):
        shown, support = (_table(part, n_labels, rank, records) for part in (own, keys))
        _survey_class(shown, support, k, m, int(class_of_record[records[0]]), label_of_rank, found)
    return found


class _Table(NamedTuple):
    """Record r has the labels labels[start[r]:start[r + 1]], by ascending rank."""

    start: np.ndarray
    labels: np.ndarray


def _survey_class(
    shown: _Table,
    support: _Table,
    k: int,
    m: int,
    class_: int,
    label_of: np.ndarray,
    found: Rare,
) -> None:
    size = min(m, int(np.diff(shown.start).max(initial=0)))
    if not size:
        return
    for ranks, n in _unsupported(shown, support, size, k, ()):
        found.rare += 1
        found.failing_classes.add(class_)
        found.least = n if found.least is None else min(found.least, n)
        if len(found.listed) < _LISTED:
            items = tuple(sorted(label_of[list(ranks)].tolist()))
            found.listed.append(Itemset(class_, items, n))


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
    items = np.sort(original.record_of_item * n_leaves + leaf[original.items.codes], kind="stable")
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


Unsupported = Iterator[tuple[tuple[int, ...], int]]  # sets of labels by rank, each with its support


def _unsupported(shown: _Table, support: _Table, size: int, k: int, prefix: tuple[int, ...]) -> Unsupported:
    """Sets of up to `size` labels after a prefix that some record shows, and fewer than k support.

    The tables hold the records with the prefix, and the labels after it. Of sets that contain a rare one
    some are left out.
    """
    n = int(max(shown.labels.max(initial=-1), support.labels.max(initial=-1))) + 1
    own, total = np.bincount(shown.labels, minlength=n), np.bincount(support.labels, minlength=n)
    for label in np.flatnonzero((own > 0) & (total < k)).tolist():
        yield (*prefix, label), int(total[label])
    if size == 1:
        return
    in_shown, in_support = _Index(shown, n), _Index(support, n)
    for label in np.flatnonzero((own > 0) & (total >= k)).tolist():
        after = in_shown.after(label)
        if len(after.labels):
            among, known = in_support.after(label), (*prefix, label)
            if size == 3 and _n_pairs(among) <= _PAIRS:
                yield from _unsupported_pairs(after, among, k, known)
            else:
                yield from _unsupported(after, among, size - 1, k, known)


class _Index:
    """Where each label occurs in a table."""

    def __init__(self, table: _Table, n_labels: int) -> None:
        self.table = table
        self.order = np.argsort(table.labels, kind="stable")
        self.begin = np.searchsorted(table.labels[self.order], np.arange(n_labels + 1))
        sizes = np.diff(table.start)
        self.end_of_place = np.repeat(table.start[1:], sizes)

    def after(self, label: int) -> _Table:
        """The records that have a label, each with the labels after it; records without any are left out."""
        places = self.order[self.begin[label] : self.begin[label + 1]]
        sizes = self.end_of_place[places] - places - 1
        places, sizes = places[sizes > 0], sizes[sizes > 0]
        start = np.concatenate([[0], np.cumsum(sizes)])
        at = np.arange(start[-1]) + np.repeat(places + 1 - start[:-1], sizes)
        return _Table(start, self.table.labels[at])


def _unsupported_pairs(shown: _Table, support: _Table, k: int, prefix: tuple[int, ...]) -> Unsupported:
    """Sets of one or two labels after a prefix that some record shows, and fewer than k support."""
    labels = np.unique(shown.labels)
    some, _ = _together(_among(shown, labels), len(labels))
    all_keys, n_all = _together(_among(support, labels), len(labels))
    place = np.minimum(np.searchsorted(all_keys, some), len(all_keys) - 1)
    supported = np.where(all_keys[place] == some, n_all[place], 0)
    for key, n in zip(some[supported < k].tolist(), supported[supported < k].tolist()):
        first, second = divmod(key, len(labels))
        pair = (int(labels[first]),) if first == second else (int(labels[first]), int(labels[second]))
        yield (*prefix, *pair), int(n)


def _n_pairs(table: _Table) -> int:
    """How many pairs of labels all records have together, a label with itself included."""
    sizes = np.diff(table.start)
    return int((sizes * (sizes + 1) // 2).sum())


def _among(table: _Table, labels: np.ndarray) -> _Table:
    """The table with some labels only, each as its place among them."""
    place = np.minimum(np.searchsorted(labels, table.labels), len(labels) - 1)
    wanted = labels[place] == table.labels
    before = np.concatenate([[0], np.cumsum(wanted)])
    return _Table(before[table.start], place[wanted])


def _together(table: _Table, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of labels of a record, a label with itself included, as first * n_labels + second, ascending;
    and how many records have each."""
    sizes = np.diff(table.start)
    at = np.arange(len(table.labels))
    before = at - np.repeat(table.start[:-1], sizes) + 1
    ends = np.cumsum(before)
    first = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(
        ends - before - np.repeat(table.start[:-1], sizes), before
    )
    keys = table.labels[first] * n_labels + np.repeat(table.labels, before)
    if n_labels**2 <= 4 * len(keys) + 1024:
        counts = np.bincount(keys)
        found = np.flatnonzero(counts)
        return found, counts[found]
    return np.unique(keys, return_counts=True)
