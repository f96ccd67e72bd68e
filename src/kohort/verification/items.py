"""Verification of published baskets: every itemset is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kohort.data.baskets import Baskets
from kohort.problem.models import KmAnonymity
from kohort.problem.models.km_anonymity import ItemsetSurvey
from kohort.verification.classes import PublishedClasses
from kohort.verification.holders import Holders, survey_published
from kohort.verification.local_support import Levels, labels_nest, survey_locally
from kohort.verification.unprotected import cautions_of_baskets
from kohort.verification.verdict import Check, ModelVerdict, Verdict

__all__ = ["km_verdict", "verify_baskets", "with_items"]


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
    judged = [km_verdict(others, model, found.least, len(found.failing_classes), promise)]
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
    model, known = found.model, found.known
    highest, failing, violations = Fraction(0), 0, list[Violation]()
    order = np.argsort(class_of_record, kind="stable")
    for records in np.split(order, np.flatnonzero(np.diff(class_of_record[order])) + 1):
        survey = survey_published(found, records)
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
        model=model.name,
        attribute=known.name if model.attribute is None else model.attribute,
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
    judged = [km_verdict(others, model, found.least, len(found.failing_classes), promise)]
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


def km_verdict(
    published: Baskets, model: KmAnonymity, least: int | None, failing: int, promise: str
) -> ModelVerdict:
    """The verdict on k^m-anonymity, given the least support of an itemset and how many classes fail."""
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
