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
from kohort.verification.promises import StatedItems, stated_items
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


def count_supports(tails: Tails, model: StatedItems) -> Supports:
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
    return of_heads if m == 1 else Supports.united([of_heads, _larger_sets(tails, place, k, m)])


def _larger_sets(tails: Tails, place: np.ndarray, k: int, m: int) -> Supports:
    """The supports of itemsets of two items or more.

    A tail is listed as often as it occurs, up to a limit. A support below the limit is then exact, since no
    tail that it counts was listed less often; where all supports reach it, the limit is raised.
    """
    most, limit = int(tails.times.max()), 4 * k
    sizes = np.diff(tails.offsets)
    while True:
        each = np.repeat(np.arange(len(sizes)), np.minimum(tails.times, limit))
        offsets = np.concatenate([[0], np.cumsum(sizes[each])]).astype(np.int64)
        starts = np.repeat(tails.offsets[:-1][each] - offsets[:-1], sizes[each])
        found = support(k, m - 1, place[each], offsets, tails.items[starts + np.arange(offsets[-1])], most=0)
        if found.least is None or found.least < limit or limit >= most:
            return Supports(found.least, found.rare)
        limit *= 4


def unite_basket_parts(
    published: Baskets,
    model: StatedItems,
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
