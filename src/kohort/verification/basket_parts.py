"""Verification of baskets in parts: each record is compared with its original, and every itemset is counted.

An itemset is counted with its rarest item, the head: all baskets that have it are in one part, without the
items that are rarer than it. So the support of the itemset is how many of them have the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kohort.data.baskets import Baskets
from kohort.data.hierarchy import Hierarchy
from kohort.verification.item_coverage import CoveredItems
from kohort.verification.items import km_verdict
from kohort.verification.local_support import labels_nest
from kohort.verification.promises import Stated, stated_items
from kohort.verification.promises.itemsets import support
from kohort.verification.unprotected import cautions_of_baskets
from kohort.verification.verdict import Check, Verdict
from kohort.verification.verify import Verification

__all__ = ["Supports", "Tails", "count_supports", "unite_basket_parts"]


@dataclass(frozen=True, eq=False)
class Tails:
    """Baskets that have an item, without it and all rarer ones; several baskets may have the same tail.

    heads    the item
    offsets  where the items of each tail begin, and the end
    items    these items, each once, in ascending order
    times    how many records have each
    """

    heads: np.ndarray
    offsets: np.ndarray
    items: np.ndarray
    times: np.ndarray


@dataclass(frozen=True)
class Supports:
    """The least support of an itemset, None without any, and how many are rare."""

    least: int | None
    rare: int

    @classmethod
    def united(cls, parts: Sequence[Supports]) -> Supports:
        known = [part.least for part in parts if part.least is not None]
        return cls(min(known, default=None), sum(part.rare for part in parts))


def count_supports(tails: Tails, model: Stated) -> Supports:
    """The supports of all itemsets of up to m items whose rarest item is a head here.

    All tails of these heads must be here.
    """
    if not len(tails.heads):
        return Supports(None, 0)
    _, place = np.unique(tails.heads, return_inverse=True)
    alone = np.bincount(place, tails.times).astype(np.int64)
    promise = stated_items(model)
    k, m = int(promise.number("k")), int(promise.number("m"))
    of_heads = Supports(int(alone.min()), int((alone < k).sum()))
    rest = support(k, m - 1, place, tails.offsets, tails.items, times=tails.times)
    return Supports.united([of_heads, Supports(rest.least, rest.rare)])


def unite_basket_parts(
    published: Baskets,
    model: Stated,
    hierarchy: Hierarchy,
    covered: Sequence[CoveredItems],
    supports: Supports,
    *,
    n_records: int,
    checks: Sequence[Check],
    sensitive_columns: Sequence[str],
) -> Verification:
    """The verdict on baskets that are on a cluster, given what was found in their parts.

    published  all labels that are published, as one basket
    checks     what was found of the table as a whole
    """
    coverage = CoveredItems.united(published.name, covered)
    promise, nests = stated_items(model), labels_nest(published, hierarchy)
    detail = (
        "A published label lies above another one." if nests else "No published label lies above another."
    )
    verdict = Verdict(
        records=n_records,
        withheld=0,
        classes=1,
        smallest_class=n_records,
        models=(km_verdict(published, promise, supports.least, int(supports.rare > 0), promise.words),),
        checks=(*checks, coverage.check, Check("one cut of the hierarchy", not nests, detail)),
        violations=pa.table({}),
        cautions=tuple(cautions_of_baskets(int(promise.number("k")), sensitive_columns)),
    )
    return Verification(verdict, {"ncp": coverage.ncp} if verdict.holds else None)
