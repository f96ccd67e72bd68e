"""Verification: read a published table as a stranger would, and say which promises it keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kohort.data.basket_cells import read_baskets
from kohort.data.baskets import Baskets
from kohort.data.dataset import Dataset
from kohort.data.hierarchy import Hierarchy
from kohort.problem.costs import COSTS
from kohort.problem.roles import Roles
from kohort.verification.against_original import check_columns_alone
from kohort.verification.alignment import Alignment, align
from kohort.verification.classes import PublishedClasses
from kohort.verification.demands import Demands, Original
from kohort.verification.items import verify_baskets, with_items
from kohort.verification.local_support import Levels
from kohort.verification.measure import measure_costs, published_table
from kohort.verification.verdict import Verdict
from kohort.verification.verify_models import published_classes, verify_models

__all__ = ["Verification", "verify"]


@dataclass(frozen=True, eq=False)
class Verification:
    """The verdict and, with the original at hand, what the release costs: every cost by its spec name."""

    verdict: Verdict
    loss: dict[str, float] | None = None


def verify(
    published: Dataset,
    demands: Demands,
    original: Original | None = None,
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Verification:
    """Measure every promise on the published table; with the original, compare the two and measure costs.

    hierarchies  of sensitive columns, for models that compare values by them
    """
    shown = _shown_items(published, demands)
    found = _compared(published, demands, original, shown)
    roles = demands.roles if original is None else original.roles
    if shown is not None and not roles.having("quasi-identifier"):
        verdict = _baskets_verdict(shown, demands, roles, found, _levels(demands, original, found))
        return Verification(verdict, _basket_loss(verdict, found))
    classes = published_classes(
        published,
        roles.having("quasi-identifier"),
        demands.table_models,
        hierarchies=hierarchies,
        orders=demands.orders,
    )
    verdict = verify_models(
        classes,
        demands.table_models,
        suppression=demands.suppression,
        dropped=_dropped(published, demands, original),
        checks=found.checks,
        sensitive=[published.sensitive_column(n) for n in roles.having("sensitive") if n in published.names],
    )
    if shown is not None and demands.km is not None:
        verdict = with_items(verdict, classes, shown, demands.km, _levels(demands, original, found))
    return Verification(verdict, _table_loss(verdict, classes, found))


def _shown_items(published: Dataset, demands: Demands) -> Baskets | None:
    if demands.items is None:
        return None
    return read_baskets(published, demands.items.column, separator=demands.items.separator)


def _compared(
    published: Dataset, demands: Demands, original: Original | None, shown: Baskets | None
) -> Alignment:
    """Align published records with their originals; without an original, check the columns alone."""
    if original is None:
        return Alignment(None, (check_columns_alone(published, demands.roles, demands.treatments),))
    return align(published, original, demands, shown)


def _dropped(published: Dataset, demands: Demands, original: Original | None) -> int:
    """How many records were left out; where none may be, their number is a check of its own."""
    if original is None or (original.rows is None and not demands.may_drop):
        return 0
    return max(original.dataset.n_records - published.n_records, 0)


def _levels(demands: Demands, original: Original | None, found: Alignment) -> Levels | None:
    """What tells which labels lie above which items: the original, or the hierarchy that is given."""
    if original is not None and original.items is not None:
        known = (original.items.baskets, found.rows) if found.sure and found.rows is not None else None
        return Levels(original.items.hierarchy, known)
    given = None if demands.items is None else demands.items.hierarchy
    return Levels(given, None) if isinstance(given, Hierarchy) else None


def _baskets_verdict(
    shown: Baskets, demands: Demands, roles: Roles, found: Alignment, levels: Levels | None
) -> Verdict:
    assert demands.km is not None
    return verify_baskets(
        shown,
        demands.km,
        demands.confidence,
        levels=levels,
        checks=found.checks,
        sensitive_columns=roles.having("sensitive"),
    )


def _basket_loss(verdict: Verdict, found: Alignment) -> dict[str, float] | None:
    return {"ncp": found.items_ncp} if verdict.holds and found.items_ncp is not None else None


def _table_loss(verdict: Verdict, classes: PublishedClasses, found: Alignment) -> dict[str, float] | None:
    """Every cost; where originals are not known one by one, only costs that do not depend on them."""
    if found.rows is None or not verdict.holds:
        return None
    n_records = len(found.readings[0].attribute.column)
    withheld = np.ones(n_records, dtype=bool)
    starred = verdict.withheld > n_records - len(found.rows)
    withheld[found.rows] = classes.all_star_records if starred else False
    sizes = classes.sizes[~classes.all_star] if starred else classes.sizes
    loss = measure_costs(published_table(classes.columns, found.readings, found.rows, withheld, sizes))
    if not found.sure:
        loss = {name: value for name, value in loss.items() if not COSTS[name].by_record}
    return loss if found.items_ncp is None else loss | {"items-ncp": found.items_ncp}
