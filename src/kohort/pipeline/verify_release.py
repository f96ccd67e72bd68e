"""Check a release, made by any tool, against a request and, where it is available, its original."""

from __future__ import annotations

import numpy as np

from kohort.data.check_hierarchy import check
from kohort.data.dataset import Dataset
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, did_you_mean
from kohort.pipeline.prepare import build_attributes, settled_roles
from kohort.pipeline.prepare_items import items_problem
from kohort.pipeline.request import Request
from kohort.verification import Original, Verification, verify

__all__ = ["verify_release"]


def verify_release(
    published: Dataset,
    request: Request,
    *,
    original: Dataset | None = None,
    order: np.ndarray | None = None,
) -> Verification:
    """Measure the promises of a request on the published table; with the original, compare their records.

    order  per published record the number of its original, where that is known
    """
    if not request.models and request.km is None:
        raise InputError("The spec promises nothing: privacy has no k and no other model.")
    _refuse_unknown(published, request)
    known = None if original is None else _original(original, request, order)
    return verify(published, request, known, hierarchies=_sensitive_hierarchies(published, request))


def _refuse_unknown(published: Dataset, request: Request) -> None:
    items = [] if request.items is None else [request.items.column]
    for name in (*request.roles.having("quasi-identifier"), *items):
        if name not in published.names:
            raise InputError(
                f"The release has no column {name!r}, which the spec names as a quasi-identifier. "
                f"{did_you_mean(name, published.names)}"
            )


def _original(original: Dataset, request: Request, order: np.ndarray | None) -> Original:
    roles = settled_roles(original, request)
    attributes = build_attributes(original, request, roles)
    items, treatments = items_problem(original, request), request.treatments
    return Original(original, roles, attributes, items, order=order, treatments=treatments)


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
