"""Published baskets, by definition: every item covered, nothing invented, k records for any m items."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations
from typing import Any

from by_definition.domains import STAR, TreeDomain
from by_definition.itemsets import highest_confidence, highest_uncertainty
from by_definition.published_columns import published_names, rooted

__all__ = ["items_complaints"]


def items_complaints(judged: Any) -> list[str]:
    case = judged.case
    items = case.items
    before = [_basket(b, items.get("separator")) for b in case.columns[items["column"]].values]
    shown = [_basket(b, items.get("separator")) for b in judged.table[items["column"]]]
    confidence, uncertainty = case.model("item-confidence"), case.model("rho-uncertainty")
    sensitive = set((confidence or uncertainty or {"sensitive": ()})["sensitive"])
    found = _km_complaints(judged, before, shown, sensitive)
    if items.get("multiset"):
        return found
    found += _cover_complaints(judged, before, shown, sensitive)
    if confidence:
        baskets = [basket or [] for basket in shown]
        told = highest_confidence(baskets, confidence["sensitive"], confidence["m"])
        if told > Fraction(confidence["limit"]):
            found.append(f"confidence: a sensitive item is told with {told}")
    if uncertainty:
        baskets = [basket or [] for basket in shown]
        told = highest_uncertainty(baskets, uncertainty["sensitive"], uncertainty["m"])
        if told >= Fraction(uncertainty["rho"]):
            found.append(f"uncertainty: a sensitive item is told with {told}")
    return found


def _basket(cell: Any, separator: str | None) -> list[str] | None:
    if cell is None or separator is None:
        return cell
    texts = next(csv.reader([cell], delimiter=separator, skipinitialspace=True), [])
    return [text.strip() for text in texts if text.strip()]


def _km_complaints(judged: Any, before: list, shown: list, sensitive: set[str]) -> list[str]:
    """Sets of up to m published items of a record that fewer than k records of its class support."""
    model = judged.case.model("km-anonymity")
    supported = _supported(judged, before, shown, sensitive)
    members = defaultdict(list)
    for record in range(len(shown)):
        members[judged.looks[record] if judged.case.quasi else ()].append(record)
    found = []
    for records in members.values():
        known = {
            items
            for record in records
            for size in range(1, model["m"] + 1)
            for items in combinations(sorted(set(shown[record] or ()) - sensitive), size)
        }
        for items in sorted(known):
            n = sum(set(items) <= supported[record] for record in records)
            if n < model["k"]:
                found.append(f"km: {items} is supported by {n} records")
    return found[:3]


def _supported(judged: Any, before: list, shown: list, sensitive: set[str]) -> list[set[str]]:
    """The labels that each published record supports: its own, and those below them of its own items."""
    multiset = judged.case.items.get("multiset")
    paths = judged.release.items.problem.hierarchy.paths() if multiset else _paths(judged)
    domain = TreeDomain(rooted(list(paths)))
    node_of = published_names(domain)
    labels = {label for basket in shown for label in basket or ()} - sensitive
    leaves = {label: _leaves(domain, node_of, label) for label in labels}
    found = []
    for row, basket in zip(judged.rows, shown):
        counts = Counter(before[row] or ())
        items = {f"{item} ×{n}" for item, n in counts.items()} if multiset else set(counts)
        own = set(basket or ()) - sensitive
        found.append(
            own | {x for x in labels if any(leaves[x] < leaves[top] and leaves[x] & items for top in own)}
        )
    return found


def _cover_complaints(judged: Any, before: list, shown: list, sensitive: set[str]) -> list[str]:
    domain = TreeDomain(rooted(_paths(judged)))
    node_of = published_names(domain)
    found = set()
    for row, basket in zip(judged.rows, shown):
        items = set(before[row] or ())
        if basket is None:  # says nothing
            continue
        labels = set(basket) - sensitive
        covered = [_leaves(domain, node_of, label) for label in labels]
        told, held = set(basket) & sensitive, items & sensitive
        may_lack = judged.case.items.get("suppress", False)
        dropping = may_lack and judged.case.model("rho-uncertainty") is not None
        if told - held or (held - told and not dropping):
            found.add("items: sensitive items are missing or invented")
        if not may_lack and not items - sensitive <= frozenset().union(*covered):
            found.add(f"items: {sorted(labels)} do not cover {sorted(items)}")
        if any(not leaves & (items - sensitive) for leaves in covered):
            found.add(f"items: {sorted(labels)} say more than {sorted(items)}")
    return sorted(found)[:3]


def _paths(judged: Any) -> list:
    source = judged.case.items.get("hierarchy")
    if isinstance(source, dict) and "paths" in source:
        return source["paths"]
    return list(judged.release.items.problem.hierarchy.paths())


def _leaves(domain: TreeDomain, node_of: dict, label: str) -> frozenset:
    if label in node_of:
        return domain.leaves_under(node_of[label])
    return domain.leaves if label == STAR else frozenset()
