"""Check a release, made by any tool, against a spec and, where it is at hand, its original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.check_hierarchy import check
from kohort.data.column import Column
from kohort.data.dataset import Dataset
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, did_you_mean
from kohort.io.alignment import Items, align, may_drop
from kohort.io.spec import Spec
from kohort.pipeline.items import items_problem, read_baskets
from kohort.pipeline.prepare import build_attributes, settled_roles
from kohort.pipeline.request import Request
from kohort.problem.attribute import Attribute
from kohort.problem.costs import COSTS
from kohort.problem.roles import Roles
from kohort.verification import (
    Check,
    Verdict,
    measure_costs,
    published_classes,
    published_table,
    verify_baskets,
    verify_models,
    with_items,
)
from kohort.verification.classes import PublishedClasses

__all__ = ["Verification", "verify_release"]


@dataclass(frozen=True, eq=False)
class Verification:
    """The verdict, and with the original at hand what the release costs."""

    verdict: Verdict
    loss: dict[str, float] | None = None


def verify_release(
    published: Dataset,
    spec: Spec,
    *,
    beside: str | Path = ".",
    original: Dataset | None = None,
    order: np.ndarray | None = None,
) -> Verification:
    """Measure the models of the spec on the published table; with the original, compare their records.

    order  per published record the number of its original, where that is known
    """
    request = spec.request(beside=beside)
    if not request.models and request.km is None:
        raise InputError("The spec promises nothing: privacy has no k and no other model.")
    quasi_identifiers = request.roles.having("quasi-identifier")
    _refuse_unknown(published, quasi_identifiers)
    shown = _shown_items(published, request)
    if shown is not None and not quasi_identifiers:
        return _verify_baskets(published, original, request, shown, order)
    classes = published_classes(
        published,
        quasi_identifiers,
        request.models,
        hierarchies=_sensitive_hierarchies(published, request),
        orders=request.orders,
    )
    if original is None:
        verdict = verify_models(
            classes,
            request.models,
            suppression=request.suppression,
            checks=[_columns_alone(published, request)],
            sensitive=_sensitive_columns(published, request.roles),
        )
        return Verification(_judged(verdict, classes, shown, request))
    return _against(published, original, request, classes, shown, order)


def _shown_items(published: Dataset, request: Request) -> Baskets | None:
    if request.items is None:
        return None
    _refuse_unknown(published, [request.items.column])
    return read_baskets(published, request.items.column, separator=request.items.separator)


def _judged(
    verdict: Verdict,
    classes: PublishedClasses,
    shown: Baskets | None,
    request: Request,
) -> Verdict:
    """The verdict with that on the items, if there are any."""
    if shown is None or request.km is None:
        return verdict
    return with_items(verdict, classes, shown, request.km)


def _verify_baskets(
    published: Dataset,
    original: Dataset | None,
    request: Request,
    shown: Baskets,
    order: np.ndarray | None,
) -> Verification:
    """Baskets with nothing beside them that others may know."""
    assert request.km is not None
    if original is None:
        checks = [_columns_alone(published, request)]
        return Verification(_of_baskets(shown, request, request.roles, checks))
    roles = settled_roles(original, request)
    untouched = [*roles.having("sensitive"), *roles.having("insensitive")]
    items = _items(original, request, shown)
    found = align(published, original, request, roles, (), untouched, order=order, items=items)
    loss = None if found.known is None else {"ncp": items.covered(found.known).ncp}
    verdict = _of_baskets(shown, request, roles, found.checks)
    return Verification(verdict, loss if verdict.holds else None)


def _of_baskets(shown: Baskets, request: Request, roles: Roles, checks: Sequence[Check]) -> Verdict:
    assert request.km is not None
    sensitive = roles.having("sensitive")
    return verify_baskets(shown, request.km, request.confidence, checks=checks, sensitive_columns=sensitive)


def _items(original: Dataset, request: Request, shown: Baskets) -> Items:
    assert request.items is not None
    problem, _ = items_problem(original, request, request.items)
    return Items(shown, problem)


def _against(
    published: Dataset,
    original: Dataset,
    request: Request,
    classes: PublishedClasses,
    shown: Baskets | None,
    order: np.ndarray | None,
) -> Verification:
    roles = settled_roles(original, request)
    attributes = build_attributes(original, request, roles)
    untouched = [*roles.having("sensitive"), *roles.having("insensitive")]
    items = None if shown is None else _items(original, request, shown)
    found = align(published, original, request, roles, attributes, untouched, order=order, items=items)
    dropped = max(original.n_records - published.n_records, 0) if may_drop(request) else 0
    verdict = verify_models(
        classes,
        request.models,
        suppression=request.suppression,
        dropped=dropped,
        checks=found.checks,
        sensitive=_sensitive_columns(published, roles),
    )
    verdict = _judged(verdict, classes, shown, request)
    if found.rows is None or not verdict.holds:
        return Verification(verdict)
    loss = _costs(classes, attributes, found.rows, verdict, original.n_records)
    if not found.sure:
        loss = {name: value for name, value in loss.items() if not COSTS[name].by_record}
    if items is not None and found.known is not None:
        loss["items-ncp"] = items.covered(found.known).ncp
    return Verification(verdict, loss)


def _costs(
    classes: PublishedClasses, attributes: tuple[Attribute, ...], rows: np.ndarray, verdict: Verdict, n: int
) -> dict[str, float]:
    withheld = np.ones(n, dtype=bool)
    starred = verdict.withheld > n - len(rows)
    withheld[rows] = classes.all_star_records if starred else False
    sizes = classes.sizes[~classes.all_star] if starred else classes.sizes
    return measure_costs(published_table(classes.columns, attributes, rows, withheld, sizes))


def _refuse_unknown(published: Dataset, quasi_identifiers: list[str]) -> None:
    for name in quasi_identifiers:
        if name not in published.names:
            raise InputError(
                f"The release has no column {name!r}, which the spec names as a quasi-identifier. "
                f"{did_you_mean(name, published.names)}"
            )


def _columns_alone(published: Dataset, request: Request) -> Check:
    shown = [
        name
        for name in request.roles.having("identifier")
        if name in published.names and request.treatments.get(name, "drop") == "drop"
    ]
    if shown:
        return Check("columns", False, f"Identifiers are published: {', '.join(map(repr, shown))}.")
    unnamed = [name for name in published.names if name not in request.roles.of]
    if unnamed and request.roles.others != "keep":
        names = ", ".join(map(repr, unnamed))
        return Check("columns", False, f"Columns are published that the spec does not name: {names}.")
    return Check("columns", True, "No identifier is published, and no column that the spec does not name.")


def _sensitive_columns(published: Dataset, roles: Roles) -> list[Column]:
    """The sensitive columns that are published; that one is missing is said by another check."""
    return [published.sensitive_column(name) for name in roles.having("sensitive") if name in published.names]


def _sensitive_hierarchies(published: Dataset, request: Request) -> dict[str, Hierarchy]:
    """Hierarchies of sensitive columns, over the values that are published."""
    found = {}
    for name in {model.attribute for model in request.models if model.attribute is not None}:
        source = request.hierarchies.get(name)
        if source is not None:
            column = published.column(name)
            hierarchy = source if isinstance(source, Hierarchy) else source.build(column)
            check(hierarchy, column).raise_if_broken(name)
            if column.has_null and None not in hierarchy.leaf_of:
                hierarchy = hierarchy.with_leaves([None], hidden=False)
            found[name] = hierarchy
    return found
