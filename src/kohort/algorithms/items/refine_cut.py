"""Undo generalizations and drops of a cut that are not needed, the most costly first."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

import numpy as np

from kohort.algorithms.items.cut_search import CutSearch
from kohort.algorithms.run import Run

MayPublish = Callable[[int, list[int]], bool]
"""Whether nodes may be published in place of one node: its children, or the node itself if it was dropped."""


def refine(search: CutSearch, m: int, run: Run, *, may_publish: MayPublish | None = None) -> int:
    """Publish nodes of the cut as their children, and dropped nodes as themselves, where that is safe.

    Where items may be dropped, a node is also split if some children must be dropped for that, as long as it
    costs less. Returns how many nodes were changed. What cannot be done now cannot be done later, since there
    are ever more itemsets, so every node is tried once in either way.

    may_publish  refuses some of these changes; None: all that are safe are made
    """
    candidates = np.flatnonzero(search.in_cut & (search.cut.dropped | ~search.is_leaf)).tolist()
    gains = [(-_gain(search, node), node) for node in candidates]
    heapify(gains)
    done = 0
    while gains and not run.out_of_time:
        _, node = heappop(gains)
        shown = _shown_instead(search, node, m)
        if not shown or not (may_publish is None or may_publish(node, shown)):
            continue
        _publish(search, node, shown)
        done += 1
        for other in shown:
            if not search.is_leaf[other]:
                heappush(gains, (-_gain(search, other), other))
    return done


def _gain(search: CutSearch, node: int) -> int:
    """How much less the items under a node cost after a change of it, if nothing is dropped."""
    if search.cut.dropped[node]:
        return search.dropped_cost(node) - search.published_cost(node)
    return search.published_cost(node) - sum(map(search.published_cost, search.children(node).tolist()))


def _shown_instead(search: CutSearch, node: int, m: int) -> list[int]:
    """The nodes to publish in place of a node; empty where it must stay as it is."""
    options = [node] if search.cut.dropped[node] else search.children(node).tolist()
    keep = search.published
    keep[node], keep[options] = False, True
    shown = []
    for option in sorted(options, key=lambda option: search.support[option]):
        keep[option] = False
        if not search.rare_with(option, keep, m):
            keep[option] = True
            shown.append(option)
        elif not search.cut.may_drop:
            return []
    if len(shown) == len(options):
        return shown
    cost = sum(map(search.published_cost, shown))
    cost += sum(search.dropped_cost(option) for option in options if not keep[option])
    return shown if cost < search.published_cost(node) and node not in options else []


def _publish(search: CutSearch, node: int, shown: list[int]) -> None:
    """Publish a dropped node as itself, or a node as some of its children; the others are dropped."""
    if search.cut.dropped[node]:
        search.generalize(node)
        return
    search.split(node)
    for child in search.children(node).tolist():
        if child not in shown:
            search.drop(child)
