"""Published baskets, by definition: every item covered, nothing invented, k records for any m items."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations
from typing import Any

from by_definition.domains import STAR, TreeDomain
from by_definition.itemsets import highest_confidence
from by_definition.published_columns import published_names, rooted

__all__ = ["items_complaints"]


def items_complaints(judged: Any) -> list[str]:
    case = judged.case
    items = case.items
    before = [_basket(b, items.get("separator")) for b in case.columns[items["column"]].values]
    shown = [_basket(b, items.get("separator")) for b in judged.table[items["column"]]]
    confidence = case.model("item-confidence")
    sensitive = set(confidence["sensitive"]) if confidence else set()
    found = _km_complaints(judged, shown, sensitive)
    if items.get("multiset"):
        return found
    found += _cover_complaints(judged, before, shown, sensitive)
    if confidence:
        baskets = [basket or [] for basket in shown]
        told = highest_confidence(baskets, confidence["sensitive"], confidence["m"])
        if told > Fraction(confidence["limit"]):
            found.append(f"confidence: a sensitive item is told with {told}")
    return found


def _basket(cell: Any, separator: str | None) -> list[str] | None:
    if cell is None or separator is None:
        return cell
    texts = next(csv.reader([cell], delimiter=separator, skipinitialspace=True), [])
    return [text.strip() for text in texts if text.strip()]


def _km_complaints(judged: Any, shown: list, sensitive: set[str]) -> list[str]:
    """Sets of up to m published items that some, but fewer than k, records of a class have."""
    model = judged.case.model("km-anonymity")
    members = defaultdict(list)
    for record, basket in enumerate(shown):
        members[judged.looks[record] if judged.case.quasi else ()].append(set(basket or ()) - sensitive)
    found = []
    for baskets in members.values():
        support: Counter = Counter()
        for basket in baskets:
            for size in range(1, min(model["m"], len(basket)) + 1):
                support.update(combinations(sorted(basket), size))
        found += [f"km: {known} is in {n} records" for known, n in support.items() if n < model["k"]]
    return found[:3]


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
        if set(basket) & sensitive != items & sensitive:
            found.add("items: sensitive items are missing or invented")
        if not items - sensitive <= frozenset().union(*covered):
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
