"""Questions about the release of baskets: the attack by known items, counts of baskets, the map of items."""

from __future__ import annotations

from typing import Any

import numpy as np

from kohort.data.counting import count_pairs
from kohort.errors import InputError
from kohort.job.sides import BasketPair
from kohort.recoding.item_nodes import DROPPED, WITHHELD
from kohort.studio.worker.basket_files import most_common
from kohort.studio.worker.telling import Telling
from kohort.studio.worker.workplace import Workplace
from kohort.utility.queries import item_answers

_MOST_ITEMS = 300
_MOST_ASKED = 3
_MOST_LABELS = 4  # of one item, where it is published in different ways
_NO_LABEL = {WITHHELD: "(its basket is withheld)", DROPPED: "(dropped)"}


def _pair(workplace: Workplace) -> BasketPair:
    pair = workplace.release.sides.baskets
    if pair is None:
        raise InputError("This release has no items.")
    return pair


def attack(workplace: Workplace, telling: Telling, *, known_items: int, targets: int) -> dict[str, Any]:
    """The linkage attack of somebody who knows this many items of people drawn at random."""
    _pair(workplace)
    return workplace.release.risk(known_items=known_items, targets=targets)["linkage"]


def items(workplace: Workplace, telling: Telling) -> dict[str, Any]:
    """The items that a query may ask about, the most common first."""
    baskets = _pair(workplace).original
    return {"items": most_common(baskets, _MOST_ITEMS), "distinct": len(baskets.items.texts)}


def query(workplace: Workplace, telling: Telling, *, items: list[str]) -> dict[str, Any]:
    """COUNT the baskets that hold all of these items: the true answer, and the one from the release."""
    pair = _pair(workplace)
    code_of = {text: code for code, text in enumerate(pair.original.items.texts)}
    if not 1 <= len(set(items)) <= _MOST_ASKED or any(item not in code_of for item in items):
        raise InputError("Choose one to three different items of the table.")
    asked = np.array([code_of[item] for item in dict.fromkeys(items)])
    true, expected = (float(answers[0]) for answers in item_answers(pair, [asked]))
    return {"true": true, "expected": expected, "error": abs(expected - true) / true if true else None}


def item_map(workplace: Workplace, telling: Telling) -> dict[str, Any]:
    """What each of the most common items is published as, and in how many baskets."""
    part = workplace.release.items
    if part is None:
        raise InputError("This release has no items.")
    column, published = part.problem.baskets.items, part.problem.hierarchy.published
    nodes = part.recoding.node_of_occurrence.astype(np.int64)
    shift = -min(_NO_LABEL)  # so that withheld and dropped ones have numbers from 0, too
    item, node, count = count_pairs(column.codes, nodes + shift, len(column.texts), len(published) + shift)
    first = np.searchsorted(item, np.arange(len(column.texts) + 1))
    found = []
    for code in np.argsort(-column.counts, kind="stable")[:_MOST_ITEMS].tolist():
        places = range(first[code], first[code + 1])
        labels = {_label(int(node[p]) - shift, published): int(count[p]) for p in places}
        found.append([str(column.texts[code]), _in_words(labels)])
    used = len(part.recoding.nodes_used())
    return {"items": found, "distinct": len(column.texts), "published": used}


def _label(node: int, published: Any) -> str:
    return _NO_LABEL[node] if node < 0 else str(published[node])


def _in_words(labels: dict[str, int]) -> str:
    """The label of an item; where there are several, the most frequent ones with their numbers of baskets."""
    if len(labels) == 1:
        return next(iter(labels))
    often = sorted(labels.items(), key=lambda label: -label[1])
    shown = ", ".join(f"{label} ({count:,})" for label, count in often[:_MOST_LABELS])
    return shown if len(often) <= _MOST_LABELS else f"{shown} and {len(often) - _MOST_LABELS} more"
