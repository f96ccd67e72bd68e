"""Verification of published baskets: every itemset is counted, every item compared with its original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kohort.data.baskets import Baskets
from kohort.data.column import Column
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
    "Holders",
    "cover_baskets",
    "cover_items",
    "holders_of",
    "published_nodes",
    "verify_baskets",
    "with_items",
]


class Holders(NamedTuple):
    """What is promised of sensitive items or values, and who holds them.

    others  the published baskets without sensitive items
    names   of the sensitive items or values
    holds   for each of them, whether each record holds it
    """

    model: ItemConfidence
    others: Baskets
    names: Sequence[str | None]
    holds: list[np.ndarray]


def holders_of(
    published: Baskets, model: ItemConfidence, values: Column | None, *, multiset: bool
) -> Holders:
    """Who holds the sensitive items, or the values of a column."""
    others = published.parted(model.sensitive, multiset=multiset)[0]
    names = model.sensitive if values is None else values.texts
    return Holders(model, others, names, model.held(published, values, multiset=multiset))


def verify_baskets(
    published: Baskets,
    model: KmAnonymity,
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
    found = _survey(others, model, everybody, levels)
    promise = model.describe(sensitive=holders is not None and holders.model.attribute is None)
    judged = [_verdict(others, model, found.least, len(found.failing_classes), promise)]
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
        cautions=tuple(cautions_of_baskets(model.k, sensitive_columns)),
    )


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
    model, others = found.model, found.others
    highest, failing, violations = Fraction(0), 0, list[Violation]()
    order = np.argsort(class_of_record, kind="stable")
    for records in np.split(order, np.flatnonzero(np.diff(class_of_record[order])) + 1):
        sizes = others.sizes[records]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(offsets[-1]) + np.repeat(others.offsets[records] - offsets[:-1], sizes)
        survey = model.survey(offsets, others.items.codes[places], [held[records] for held in found.holds])
        highest = max(highest, survey.highest or highest)
        failing += survey.telling > 0
        violations += [
            Violation(
                int(class_of_record[records[0]]),
                _named(others, one.items),
                one.support,
                str(found.names[one.sensitive]),
                one.holders,
            )
            for one in survey.listed
        ]
    verdict = ModelVerdict(
        model=model.name,
        attribute=others.name if model.attribute is None else model.attribute,
        promise=model.describe(classes=classes),
        asked=model.asked,
        measured=highest,
        failing_classes=failing,
        parameters=model.to_dict(),
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
    model: KmAnonymity,
    holders: Holders | None = None,
    levels: Levels | None = None,
) -> Verdict:
    """The verdict on quasi-identifiers, extended by that on the items within every class."""
    others = published if holders is None else holders.others
    found = _survey(others, model, classes.class_of_record, levels)
    promise = model.describe(classes=True, sensitive=holders is not None and holders.model.attribute is None)
    judged = [_verdict(others, model, found.least, len(found.failing_classes), promise)]
    named = [(one.class_, _named(others, one.items), one.support) for one in found.listed]
    violations, fails = [Violation(*one) for one in named], [model.name] * len(named)
    if holders is not None:
        of_sensitive, telling = _confidence(holders, classes.class_of_record, classes=True)
        judged.append(of_sensitive)
        violations += telling
        fails += [holders.model.name] * len(telling)
    shown = verdict.violations
    if violations and not shown.num_rows:
        chosen = np.array([one.class_ for one in violations])
        columns = _columns_of(violations, with_sensitive=holders is not None)
        shown = classes.labelled(chosen, {"fails": fails, **columns})
    return replace(verdict, models=(*verdict.models, *judged), violations=shown)


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
    if problem.confidence is None or problem.sensitive is None or problem.confidence.attribute is not None:
        covered = cover_items(published, problem, rows)
        return CoveredBaskets((covered.check,), covered.ncp, covered.dropped)
    others, shown = published.parted(problem.confidence.sensitive, multiset=problem.multiset)
    covered = cover_items(others, problem, rows)
    silent = set(rows[published.missing].tolist())  # a missing basket says nothing
    held = {
        (record, text)
        for record, text in zip(problem.sensitive.record_of_item.tolist(), _texts(problem.sensitive))
        if record not in silent
    }
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
