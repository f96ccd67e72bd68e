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
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.verification.classes import PublishedClasses
from kohort.verification.promises import Promise
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
    others = published if holders is None else holders.others
    everybody = np.zeros(len(others), dtype=np.int64)
    found = _survey(others, promise, everybody, levels)
    judged = [km_verdict(others, promise, found.least, len(found.failing_classes), promise.words)]
    violations = [Violation(0, _named(others, rare.items), rare.support) for rare in found.listed]
    if holders is not None:
        of_sensitive, telling = _confidence(holders, everybody, classes=False)
        judged.append(of_sensitive)
        violations += telling
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


class Violation(NamedTuple):
    """Published items of a class, their support, and something sensitive with the number of its holders."""

    class_: int
    items: list[str]
    support: int
    sensitive: str | None = None
    holders: int | None = None


def _confidence(
    found: Holders, class_of_record: np.ndarray, *, classes: bool
) -> tuple[ModelVerdict, list[Violation]]:
    """Judge every class by itself."""
    promise, known = found.promise, found.known
    highest, failing, violations = Fraction(0), 0, list[Violation]()
    order = np.argsort(class_of_record, kind="stable")
    for records in np.split(order, np.flatnonzero(np.diff(class_of_record[order])) + 1):
        survey = found.inferences(records)
        highest = max(highest, survey.highest or highest)
        failing += survey.telling > 0
        violations += [
            Violation(
                int(class_of_record[records[0]]),
                _named(known, one.items),
                one.support,
                str(found.names[one.sensitive]),
                one.holders,
            )
            for one in survey.listed
        ]
    verdict = ModelVerdict(
        model=promise.name,
        attribute=known.name if promise.attribute is None else promise.attribute,
        promise=promise.other_words if classes else promise.words,
        asked=found.limit,
        measured=highest,
        failing_classes=failing,
        parameters=dict(promise.parameters),
    )
    return verdict, violations


def _columns_of(violations: Sequence[Violation], *, with_sensitive: bool) -> dict[str, pa.Array]:
    columns = {
        "items": pa.array([one.items for one in violations], pa.list_(pa.string())),
        "support": pa.array([one.support for one in violations], pa.int64()),
    }
    if with_sensitive:
        columns["sensitive"] = pa.array([one.sensitive for one in violations], pa.string())
        columns["holders"] = pa.array([one.holders for one in violations], pa.int64())
    return columns


def with_items(
    verdict: Verdict,
    classes: PublishedClasses,
    published: Baskets,
    promise: Promise,
    holders: Holders | None = None,
    levels: Levels | None = None,
) -> Verdict:
    """The verdict on quasi-identifiers, extended by that on the items within every class."""
    others = published if holders is None else holders.others
    found = _survey(others, promise, classes.class_of_record, levels)
    judged = [km_verdict(others, promise, found.least, len(found.failing_classes), promise.other_words)]
    named = [(one.class_, _named(others, one.items), one.support) for one in found.listed]
    violations, fails = [Violation(*one) for one in named], [promise.name] * len(named)
    if holders is not None:
        of_sensitive, telling = _confidence(holders, classes.class_of_record, classes=True)
        judged.append(of_sensitive)
        violations += telling
        fails += [holders.promise.name] * len(telling)
    shown = verdict.violations
    if violations and not shown.num_rows:
        chosen = np.array([one.class_ for one in violations])
        columns = _columns_of(violations, with_sensitive=holders is not None)
        shown = classes.labelled(chosen, {"fails": fails, **columns})
    return replace(verdict, models=(*verdict.models, *judged), violations=shown)


def _survey(published: Baskets, promise: Promise, class_of_record: np.ndarray, levels: Levels | None) -> Rare:
    """Count every set of labels as it is published or, where labels lie above others, with those above it."""
    if levels is not None and labels_nest(published, levels.hierarchy):
        return survey_locally(published, levels, promise, class_of_record)
    k, m = int(promise.number("k")), int(promise.number("m"))
    return support(k, m, class_of_record, published.offsets, published.items.codes)


def survey_locally(published: Baskets, levels: Levels, promise: Promise, class_of_record: np.ndarray) -> Rare:
    """List the sets of up to m labels of some record that fewer than k support: see `Levels`.

    `least` is the smallest support of a listed set, or k where none is listed.
    """
    n_labels, k = max(len(published.items.texts), 1), int(promise.number("k"))
    own = np.unique(_literal(published))
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
    nodes = np.sort([nodes[0] for nodes in _meant(published, hierarchy) if len(nodes) == 1])
    last = hierarchy.leaf_node[hierarchy.hi]
    return bool((nodes[1:] <= np.maximum.accumulate(last[nodes])[:-1]).any()) if len(nodes) else False


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


def km_verdict(
    published: Baskets, promise: Promise, least: int | None, failing: int, words: str
) -> ModelVerdict:
    """The verdict on k^m-anonymity, given the least support of an itemset and how many classes fail."""
    return ModelVerdict(
        model=promise.name,
        attribute=published.name,
        promise=words,
        asked=int(promise.number("k")),
        measured=least,
        failing_classes=failing,
        parameters=dict(promise.parameters),
    )


def _named(published: Baskets, items: Sequence[int]) -> list[str]:
    return [str(published.items.texts[item]) for item in items]
