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
from kohort.io.spec import Spec
from kohort.pipeline.items import items_problem, read_baskets
from kohort.pipeline.prepare import build_attributes, settled_roles
from kohort.pipeline.request import Request
from kohort.problem.attribute import Attribute
from kohort.problem.roles import Roles
from kohort.verification import (
    Check,
    Verdict,
    check_columns,
    check_conserved,
    check_coverage,
    cover_baskets,
    matching_rows,
    measure_costs,
    published_classes,
    published_table,
    verify_baskets,
    verify_models,
    with_items,
)
from kohort.verification.classes import PublishedClasses
from kohort.verification.items import CoveredBaskets

__all__ = ["Verification", "verify_release"]


@dataclass(frozen=True, eq=False)
class Verification:
    """The verdict, and with the original at hand what the release costs."""

    verdict: Verdict
    loss: dict[str, float] | None = None


def verify_release(
    published: Dataset, spec: Spec, *, beside: str | Path = ".", original: Dataset | None = None
) -> Verification:
    """Measure the models of the spec on the published table; with the original, check it record by record."""
    request = spec.request(beside=beside)
    if not request.models and request.km is None:
        raise InputError("The spec promises nothing: privacy has no k and no other model.")
    quasi_identifiers = request.roles.having("quasi-identifier")
    _refuse_unknown(published, quasi_identifiers)
    shown = _shown_items(published, request)
    if shown is not None and not quasi_identifiers:
        return _verify_baskets(published, original, request, shown)
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
    return _against(published, original, request, classes, shown)


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
    checks: Sequence[Check] = (),
) -> Verdict:
    """The verdict with that on the items, if there are any."""
    if shown is None or request.km is None:
        return verdict
    return with_items(verdict, classes, shown, request.km, checks)


def _verify_baskets(
    published: Dataset, original: Dataset | None, request: Request, shown: Baskets
) -> Verification:
    """Baskets with nothing beside them that others may know."""
    assert request.km is not None
    if original is None:
        checks = [_columns_alone(published, request)]
        return Verification(_of_baskets(shown, request, request.roles, checks))
    roles = settled_roles(original, request)
    untouched = [*roles.having("sensitive"), *roles.having("insensitive")]
    rows, checks = _aligned(published, original, request, roles, (), untouched)
    loss = None
    if rows is not None:
        checks += check_conserved(published, original, untouched, rows)
        covered = _covered(original, request, shown, rows)
        checks += covered.checks
        loss = {"ncp": covered.ncp}
    verdict = _of_baskets(shown, request, roles, checks)
    return Verification(verdict, loss if verdict.holds else None)


def _of_baskets(shown: Baskets, request: Request, roles: Roles, checks: Sequence[Check]) -> Verdict:
    assert request.km is not None
    sensitive = roles.having("sensitive")
    return verify_baskets(shown, request.km, request.confidence, checks=checks, sensitive_columns=sensitive)


def _covered(original: Dataset, request: Request, shown: Baskets, rows: np.ndarray) -> CoveredBaskets:
    assert request.items is not None
    problem, _ = items_problem(original, request, request.items)
    return cover_baskets(shown, problem, rows)


def _against(
    published: Dataset,
    original: Dataset,
    request: Request,
    classes: PublishedClasses,
    shown: Baskets | None,
) -> Verification:
    roles = settled_roles(original, request)
    attributes = build_attributes(original, request, roles)
    untouched = [*roles.having("sensitive"), *roles.having("insensitive")]
    rows, checks = _aligned(published, original, request, roles, attributes, untouched)
    if rows is not None:
        checks += check_coverage(published, attributes, rows)
        checks += check_conserved(published, original, untouched, rows)
    dropped = max(original.n_records - published.n_records, 0) if request.suppressed == "drop" else 0
    verdict = verify_models(
        classes,
        request.models,
        suppression=request.suppression,
        dropped=dropped,
        checks=checks,
        sensitive=_sensitive_columns(published, roles),
    )
    covered = None if shown is None or rows is None else _covered(original, request, shown, rows)
    verdict = _judged(verdict, classes, shown, request, [] if covered is None else covered.checks)
    if rows is None or not verdict.holds:
        return Verification(verdict)
    loss = _costs(classes, attributes, rows, verdict, original.n_records)
    return Verification(verdict, loss if covered is None else loss | {"items-ncp": covered.ncp})


def _aligned(
    published: Dataset,
    original: Dataset,
    request: Request,
    roles: Roles,
    attributes: tuple[Attribute, ...],
    untouched: list[str],
) -> tuple[np.ndarray | None, list[Check]]:
    """For each published record its original, and the checks of columns and numbers of records."""
    treated = {name for name, treatment in request.treatments.items() if treatment != "drop"}
    hidden = [name for name in roles.having("identifier") if name not in treated]
    expected = [*(a.name for a in attributes), *treated, *roles.having("items")]
    checks = [check_columns(published, untouched, hidden, expected)]
    before, after = original.n_records, published.n_records
    rows: np.ndarray | None = None
    if request.shuffle:
        checks.append(_number(before, after, request))
        checks.append(
            Check("records", None, "Records were shuffled: values cannot be compared record by record.")
        )
    elif before == after:
        rows = np.arange(before)
        checks.append(Check("records", True, f"All {before} records are there, in their order."))
    elif request.suppressed == "drop" and after < before:
        rows = matching_rows(published, original, attributes, untouched)
        detail = (
            "are, in their order, some of the original's" if rows is not None else "are not the original's"
        )
        checks.append(Check("records", rows is not None, f"The {after} published records {detail}."))
    else:
        checks.append(_number(before, after, request))
    return rows, checks


def _number(before: int, after: int, request: Request) -> Check:
    fine = after == before or (request.suppressed == "drop" and after < before)
    return Check("number of records", fine, f"The original has {before} records, the release {after}.")


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
    return [published.column(name) for name in roles.having("sensitive") if name in published.names]


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
