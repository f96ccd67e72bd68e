"""Verification of published baskets: every itemset is counted, and what it implies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kohort.data.baskets import Baskets
from kohort.data.column import Column
from kohort.data.hierarchy import Hierarchy
from kohort.verification.classes import PublishedClasses
from kohort.verification.item_coverage import nodes_meant
from kohort.verification.promises import Measure, Promise
from kohort.verification.promises.itemsets import Inferences, Rare, infer, support
from kohort.verification.unprotected import cautions_of_baskets
from kohort.verification.verdict import Check, ModelVerdict, Verdict


def verify_baskets(
    published: Baskets,
    promise: Promise,
    holders: Holders | None = None,
    *,
    levels: Levels | None = None,
    checks: Sequence[Check] = (),
    sensitive_columns: Sequence[str] = (),
) -> Verdict:
    """The verdict on baskets without quasi-identifiers: whether they are k^m-anonymous.

    levels  what tells which labels lie above which items; None where that is not known

    With sensitive items: whether the others are k^m-anonymous, and whether they imply no sensitive item with
    more than the confidence that is allowed.
    """
    everybody = np.zeros(len(published), dtype=np.int64)
    judged, violations = _judged(published, promise, holders, levels, everybody, in_classes=False)
    return Verdict(
        records=len(published),
        withheld=0,
        classes=1,
        smallest_class=len(published),
        models=tuple(judged),
        checks=tuple(checks),
        violations=pa.table(_columns_of(violations, with_sensitive=holders is not None)),
        cautions=tuple(cautions_of_baskets(int(promise.number("k")), sensitive_columns)),
    )


def with_items(
    verdict: Verdict,
    classes: PublishedClasses,
    published: Baskets,
    promise: Promise,
    holders: Holders | None = None,
    levels: Levels | None = None,
) -> Verdict:
    """The verdict on quasi-identifiers, extended by that on the items within every class."""
    class_of_record = classes.class_of_record
    judged, violations = _judged(published, promise, holders, levels, class_of_record, in_classes=True)
    shown = verdict.violations
    if violations and not shown.num_rows:
        chosen = np.array([one.class_ for one in violations])
        columns = _columns_of(violations, with_sensitive=holders is not None)
        shown = classes.labelled(chosen, {"fails": [one.fails for one in violations], **columns})
    return replace(verdict, models=(*verdict.models, *judged), violations=shown)


class Holders(NamedTuple):
    """What is promised of sensitive items or values, and who holds them.

    others        the published baskets without sensitive items
    known         the published baskets with what others may know: sensitive items as well, or not
    sensitive_of  per item of those the number of the sensitive item that it is, or -1; None: none is known
    names         of the sensitive items or values
    holds         for each of them, whether each record holds it
    """

    promise: Promise
    others: Baskets
    known: Baskets
    sensitive_of: np.ndarray | None
    names: Sequence[str | None]
    holds: list[np.ndarray]

    @property
    def limit(self) -> Fraction:
        """The confidence that is allowed; where sensitive items may be known, it must stay below."""
        return self.promise.number("limit" if self.sensitive_of is None else "rho")

    def inferences(self, records: np.ndarray) -> Inferences:
        """Look at every set of published items of some records."""
        sizes = self.known.sizes[records]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(offsets[-1]) + np.repeat(self.known.offsets[records] - offsets[:-1], sizes)
        return infer(
            Inferences(self.limit, strict=self.sensitive_of is not None),
            int(self.promise.number("m")),
            offsets,
            self.known.items.codes[places],
            [held[records] for held in self.holds],
            self.sensitive_of,
        )


def holders_of(published: Baskets, promise: Promise, values: Column | None, *, multiset: bool) -> Holders:
    """Who holds the sensitive items, or the values of a column."""
    sensitive = promise.parameters.get("sensitive", ())
    others = published.parted(sensitive, multiset=multiset)[0]
    if values is not None:
        holds = [values.codes == code for code in range(len(values.texts))]
        return Holders(promise, others, others, None, values.texts, holds)
    holds = published.holders(sensitive, multiset=multiset)
    if promise.name != "rho-uncertainty":
        return Holders(promise, others, others, None, sensitive, holds)
    number = {name: i for i, name in enumerate(sensitive)}
    of_item = np.array([number.get(name, -1) for name in published.names(multiset)], dtype=np.int64)
    return Holders(promise, others, published, of_item, sensitive, holds)


class _Violation(NamedTuple):
    """Published items of a class that break a promise, and something sensitive with its number of holders."""

    fails: str
    class_: int
    items: list[str]
    support: int
    sensitive: str | None = None
    holders: int | None = None


def _columns_of(violations: Sequence[_Violation], *, with_sensitive: bool) -> dict[str, pa.Array]:
    kinds = {"items": pa.list_(pa.string()), "support": pa.int64()}
    kinds |= {"sensitive": pa.string(), "holders": pa.int64()} if with_sensitive else {}
    return {name: pa.array([getattr(v, name) for v in violations], kind) for name, kind in kinds.items()}


def _judged(
    published: Baskets,
    promise: Promise,
    holders: Holders | None,
    levels: Levels | None,
    class_of_record: np.ndarray,
    *,
    in_classes: bool,
) -> tuple[list[ModelVerdict], list[_Violation]]:
    """Judge every class by itself: its itemsets and, with `holders`, what they imply."""

    def model(of: Promise, about: str, asked: Measure, found: Measure | None, failing: int) -> ModelVerdict:
        words = of.other_words if in_classes else of.words
        return ModelVerdict(of.name, about, words, asked, found, failing, dict(of.parameters))

    others = published if holders is None else holders.others
    k, m = int(promise.number("k")), int(promise.number("m"))
    if levels is not None and labels_nest(others, levels.hierarchy):
        rare = survey_locally(others, levels, promise, class_of_record)
    else:  # every set of labels as it is published
        rare = support(k, m, class_of_record, others.offsets, others.items.codes)
    failing = len(rare.failing_classes)
    judged = [model(promise, others.name, k, rare.least, failing)]
    found = [
        _Violation(promise.name, one.class_, _named(others, one.items), one.support) for one in rare.listed
    ]
    if holders is None:
        return judged, found
    of, known = holders.promise, holders.known
    highest, failing = Fraction(0), 0
    order = np.argsort(class_of_record, kind="stable")
    for records in np.split(order, np.flatnonzero(np.diff(class_of_record[order])) + 1):
        survey = holders.inferences(records)
        highest = max(highest, survey.highest or highest)
        failing += survey.telling > 0
        for one in survey.listed:
            items, told = _named(known, one.items), str(holders.names[one.sensitive])
            class_ = int(class_of_record[records[0]])
            found.append(_Violation(of.name, class_, items, one.support, told, one.holders))
    about = known.name if of.attribute is None else of.attribute
    return [*judged, model(of, about, holders.limit, highest, failing)], found


def _named(published: Baskets, items: Sequence[int]) -> list[str]:
    return [str(published.items.texts[item]) for item in items]


def survey_locally(published: Baskets, levels: Levels, promise: Promise, class_of_record: np.ndarray) -> Rare:
    """List the sets of up to m labels of some record that fewer than k support: see `Levels`.

    `least` is the smallest support of a listed set, or k where none is listed.
    """
    n_labels, k = max(len(published.items.texts), 1), int(promise.number("k"))
    own = np.unique(published.record_of_item * n_labels + published.items.codes)
    keys = np.unique(np.concatenate([own, *_above(published, levels)]))
    offsets = np.append(0, np.cumsum(np.bincount(keys // n_labels, minlength=len(published))))
    shown = np.isin(keys, own, assume_unique=True)
    m = int(promise.number("m"))
    found = support(k, m, class_of_record, offsets, keys % n_labels, shown=shown)
    found.least = None if found.least is None else min(found.least, k)
    return found


class Levels(NamedTuple):
    """What tells which labels lie above which items, where an item may be published at several levels.

    An attacker knows up to m items of a basket, and looks for all published baskets with a label above each.
    Somebody's labels for these items are one set of labels. A basket supports it if, for each of these
    labels, it really has an item under the label, and publishes that item as the label or as one above it:
    then it fits whatever the attacker knows under the labels. Every set of up to m labels that a basket shows
    must be supported by at least k baskets. Without the original, what a basket really has is unknown: any
    label at or above another supports it.

    original  the original baskets and the row of each published record in them; None where not known
    """

    hierarchy: Hierarchy
    original: tuple[Baskets, np.ndarray] | None


def labels_nest(published: Baskets, hierarchy: Hierarchy) -> bool:
    """Whether some published label lies above another one: only then items are recoded locally."""
    nodes = np.sort([nodes[0] for nodes in nodes_meant(published, hierarchy) if len(nodes) == 1])
    last = hierarchy.leaf_node[hierarchy.hi]
    return bool((nodes[1:] <= np.maximum.accumulate(last[nodes])[:-1]).any()) if len(nodes) else False


def _above(published: Baskets, levels: Levels) -> Iterator[np.ndarray]:
    """The same for labels that a record supports by another label above them."""
    hierarchy, n_labels = levels.hierarchy, max(len(published.items.texts), 1)
    meant = nodes_meant(published, hierarchy)
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
