"""Verification of published baskets: every itemset is counted, every item compared with its original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from kohort.data.baskets import Baskets
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import counted, percent
from kohort.problem.items import ItemsProblem
from kohort.problem.models import ItemConfidence, KmAnonymity
from kohort.problem.models.km_anonymity import ItemsetSurvey
from kohort.verification.classes import PublishedClasses
from kohort.verification.local_support import Levels, labels_nest, survey_locally
from kohort.verification.unprotected import cautions_of_baskets
from kohort.verification.verdict import Check, ModelVerdict, Verdict

__all__ = [
    "CoveredBaskets",
    "CoveredItems",
    "cover_baskets",
    "cover_items",
    "published_nodes",
    "verify_baskets",
    "with_items",
]


def verify_baskets(
    published: Baskets,
    model: KmAnonymity,
    confidence: ItemConfidence | None = None,
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
    others, sensitive = published.parted(() if confidence is None else confidence.sensitive)
    everybody = np.zeros(len(others), dtype=np.int64)
    found = _survey(others, model, everybody, levels)
    promise = model.describe(sensitive=confidence is not None)
    judged = [_verdict(others, model, found.least, len(found.failing_classes), promise)]
    violations: list[Violation] = [(_named(others, rare.items), rare.support, None) for rare in found.listed]
    if confidence is not None:
        of_sensitive, telling = _confidence(others, sensitive, confidence)
        judged.append(of_sensitive)
        violations += telling
    return Verdict(
        records=len(published),
        withheld=0,
        classes=1,
        smallest_class=len(published),
        models=tuple(judged),
        checks=tuple(checks),
        violations=_table_of(violations, with_sensitive=confidence is not None),
        cautions=tuple(cautions_of_baskets(model.k, sensitive_columns)),
    )


Violation = tuple[list[str], int, tuple[str, int] | None]
"""Published items, their support, and a sensitive item with the number of records that also hold it."""


def _confidence(
    others: Baskets, sensitive: Baskets, model: ItemConfidence
) -> tuple[ModelVerdict, list[Violation]]:
    texts = sensitive.items.texts
    found = model.survey(others.offsets, others.items.codes, sensitive.holders())
    verdict = ModelVerdict(
        model=model.name,
        attribute=others.name,
        promise=model.describe(),
        asked=model.asked,
        measured=0 if found.highest is None else found.highest,
        failing_classes=int(found.telling > 0),
        parameters=model.to_dict(),
    )
    return verdict, [
        (_named(others, one.items), one.support, (str(texts[one.sensitive]), one.holders))
        for one in found.listed
    ]


def _table_of(violations: Sequence[Violation], *, with_sensitive: bool) -> pa.Table:
    columns = {
        "items": pa.array([items for items, _, _ in violations], pa.list_(pa.string())),
        "support": pa.array([support for _, support, _ in violations], pa.int64()),
    }
    if with_sensitive:
        items = [item and item[0] for _, _, item in violations]
        columns["sensitive"] = pa.array(items, pa.string())
        columns["holders"] = pa.array([item and item[1] for _, _, item in violations], pa.int64())
    return pa.table(columns)


def with_items(
    verdict: Verdict,
    classes: PublishedClasses,
    published: Baskets,
    model: KmAnonymity,
    levels: Levels | None = None,
) -> Verdict:
    """The verdict on quasi-identifiers, extended by that on the items within every class."""
    found = _survey(published, model, classes.class_of_record, levels)
    promise = model.describe(classes=True)
    judged = _verdict(published, model, found.least, len(found.failing_classes), promise)
    violations = verdict.violations
    if found.rare and not violations.num_rows:
        chosen = np.array([rare.class_ for rare in found.listed])
        extra: dict[str, Sequence] = {
            "fails": [model.name] * len(chosen),
            "items": [_named(published, rare.items) for rare in found.listed],
            "support": [rare.support for rare in found.listed],
        }
        violations = classes.labelled(chosen, extra)
    return replace(
        verdict,
        models=(*verdict.models, judged),
        violations=violations,
    )


def _survey(
    published: Baskets, model: KmAnonymity, class_of_record: np.ndarray, levels: Levels | None
) -> ItemsetSurvey:
    """Count every set of labels as it is published or, where labels lie above others, with those above it."""
    if levels is not None and labels_nest(published, levels.hierarchy):
        return survey_locally(published, levels, model, class_of_record)
    return model.survey(class_of_record, published.offsets, published.items.codes)


def _verdict(
    published: Baskets, model: KmAnonymity, least: int | None, failing: int, promise: str
) -> ModelVerdict:
    return ModelVerdict(
        model=model.name,
        attribute=published.name,
        promise=promise,
        asked=model.k,
        measured=least,
        failing_classes=failing,
        parameters=model.to_dict(),
    )


def _named(published: Baskets, items: Sequence[int]) -> list[str]:
    return [str(published.items.texts[item]) for item in items]


@dataclass(frozen=True)
class CoveredItems:
    """Whether published items stand for the original ones and for nothing else, and what that cost.

    dropped  how many items are left out of their baskets, where that is allowed
    """

    check: Check
    ncp: float
    dropped: int


@dataclass(frozen=True)
class CoveredBaskets:
    """The checks of published baskets, and their cost; sensitive items must be published as they are."""

    checks: tuple[Check, ...]
    ncp: float
    dropped: int


def cover_baskets(published: Baskets, problem: ItemsProblem, rows: np.ndarray) -> CoveredBaskets:
    """Compare published baskets with the original ones: sensitive items apart from all others."""
    if problem.confidence is None or problem.sensitive is None:
        covered = cover_items(published, problem, rows)
        return CoveredBaskets((covered.check,), covered.ncp, covered.dropped)
    others, shown = published.parted(problem.confidence.sensitive)
    covered = cover_items(others, problem, rows)
    held = set(zip(problem.sensitive.record_of_item.tolist(), _texts(problem.sensitive)))
    different = len(held ^ set(zip(rows[shown.record_of_item].tolist(), _texts(shown))))
    title = f"sensitive items of {published.name!r}"
    if different:
        detail = f"{counted(different, 'sensitive item')} of {published.name!r} are missing or invented."
    else:
        detail = f"The sensitive items of {published.name!r} are published as they are."
    return CoveredBaskets((covered.check, Check(title, not different, detail)), covered.ncp, covered.dropped)


def _texts(baskets: Baskets) -> list[str | None]:
    """The text of each occurrence of an item."""
    return [baskets.items.texts[code] for code in baskets.items.codes]


def cover_items(published: Baskets, problem: ItemsProblem, rows: np.ndarray) -> CoveredItems:
    """Compare published items with the original ones, record by record. O(items log items).

    rows  per published record the number of its original

    Every original item must be under a published label of its record, every published label above an
    original item of its record. A missing basket says nothing, and costs as much as the root, and so does an
    item that is left out of its basket, where that is allowed.
    """
    original, hierarchy = problem.baskets, problem.hierarchy
    n_leaves = len(hierarchy.leaves)
    leaves = np.array([hierarchy.leaf_of[text] for text in original.items.texts], dtype=np.int64)
    keys = np.sort(original.record_of_item * n_leaves + leaves[original.items.codes])
    occurrence, node, unknown = published_nodes(published, hierarchy)
    record = rows[published.record_of_item[occurrence]] * n_leaves
    first = np.searchsorted(keys, record + hierarchy.lo[node])
    after = np.searchsorted(keys, record + hierarchy.hi[node], side="right")
    stands_for = np.bincount(occurrence, weights=after - first, minlength=len(published.items.codes))
    width = hierarchy.hi[node].astype(np.int64) - hierarchy.lo[node] + 1
    change = np.zeros(len(keys) + 1, dtype=np.int64)
    np.add.at(change, first, width)
    np.add.at(change, after, -width)
    covering = np.cumsum(change[:-1])
    silent = np.ones(len(original), dtype=bool)
    silent[rows] = published.missing
    said = ~silent[keys // n_leaves]
    lost = said & (covering == 0)
    invented = int((stands_for == 0).sum())
    penalty = np.where(covering > 1, np.minimum(covering / n_leaves, 1.0), 0.0)
    penalty[~said | lost] = 1.0
    ncp = float(penalty.mean()) if len(penalty) else 0.0
    dropped = int(lost.sum()) if problem.suppress else 0
    check = _check(published.name, int(lost.sum()) - dropped, invented, unknown, dropped, len(keys))
    return CoveredItems(check, ncp, dropped)


def _check(name: str, lost: int, invented: int, unknown: int, dropped: int, n_items: int) -> Check:
    title = f"coverage of {name!r}"
    if not lost and not invented:
        share = percent(dropped / max(n_items, 1))
        left_out = f" {dropped:,} of {n_items:,} items ({share}) are dropped from their baskets." * bool(
            dropped
        )
        return Check(
            title,
            True,
            f"The items of {name!r} stand for their originals, and for nothing else.{left_out}",
        )
    hint = (
        f" {counted(unknown, 'published label is', 'published labels are')} neither an item nor a node."
        if unknown
        else ""
    )
    return Check(
        title,
        False,
        f"{counted(lost, 'item')} of {name!r} not covered, "
        f"{counted(invented, 'published item')} without an original.{hint}",
    )


def published_nodes(published: Baskets, hierarchy: Hierarchy) -> tuple[np.ndarray, np.ndarray, int]:
    """The nodes that each published occurrence may mean, and how many labels mean nothing."""
    meant = [_nodes(str(text), hierarchy) for text in published.items.texts]
    number = np.array([len(nodes) for nodes in meant], dtype=np.int64)
    start = np.cumsum(number) - number
    flat = np.array([node for nodes in meant for node in nodes], dtype=np.int64)
    each = number[published.items.codes]
    occurrence = np.repeat(np.arange(len(published.items.codes)), each)
    within = np.arange(len(occurrence)) - np.repeat(np.cumsum(each) - each, each)
    return occurrence, flat[start[published.items.codes][occurrence] + within], int((number == 0).sum())


def _nodes(label: str, hierarchy: Hierarchy) -> list[int]:
    return [0] if label == STAR else hierarchy.nodes_of_label.get(label, [])
