"""Published baskets beside their originals: items are covered or dropped, and nothing is invented."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import counted, percent
from kohort.problem.items import ItemsProblem
from kohort.verification.verdict import Check

__all__ = ["CoveredBaskets", "CoveredItems", "cover_baskets", "cover_items", "published_nodes"]


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
    told = set(zip(rows[shown.record_of_item].tolist(), _texts(shown)))
    check = _check_sensitive(published.name, len(held - told), len(told - held), problem, len(held))
    return CoveredBaskets((covered.check, check), covered.ncp, covered.dropped)


def _check_sensitive(name: str, missing: int, invented: int, problem: ItemsProblem, n_items: int) -> Check:
    """Check sensitive items, some of which are missing: that is right where they may be dropped, too."""
    dropped = missing if problem.drops_sensitive else 0
    wrong = missing - dropped + invented
    detail = f"The sensitive items of {name!r} are published as they are."
    if wrong:
        detail = f"{counted(wrong, 'sensitive item')} of {name!r} are missing or invented."
    elif dropped:
        detail = (
            f"The sensitive items of {name!r} are published as they are, but for {dropped:,} of {n_items:,} "
            f"({percent(dropped / n_items)}) that are dropped."
        )
    return Check(f"sensitive items of {name!r}", not wrong, detail)


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
    keys = np.sort(original.record_of_item * n_leaves + leaves[original.items.codes], kind="stable")
    occurrence, node, unknown = published_nodes(published, hierarchy)
    record = rows[published.record_of_item[occurrence]] * n_leaves
    first = np.searchsorted(keys, record + hierarchy.lo[node])
    after = np.searchsorted(keys, record + hierarchy.hi[node], side="right")
    stands_for = np.bincount(occurrence, weights=after - first, minlength=len(published.items.codes))
    width = hierarchy.hi[node].astype(np.int64) - hierarchy.lo[node] + 1
    change = np.bincount(first, weights=width, minlength=len(keys) + 1)
    change -= np.bincount(after, weights=width, minlength=len(keys) + 1)
    covering = np.cumsum(change[:-1].astype(np.int64))
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
    if (number == 1).all():
        return np.arange(len(published.items.codes)), flat[published.items.codes], 0
    each = number[published.items.codes]
    occurrence = np.repeat(np.arange(len(published.items.codes)), each)
    within = np.arange(len(occurrence)) - np.repeat(np.cumsum(each) - each, each)
    return occurrence, flat[start[published.items.codes][occurrence] + within], int((number == 0).sum())


def _nodes(label: str, hierarchy: Hierarchy) -> list[int]:
    return [0] if label == STAR else hierarchy.nodes_of_label.get(label, [])
