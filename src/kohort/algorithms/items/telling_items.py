"""Sensitive items that imply each other: some are dropped, from all baskets of a class, before the search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kohort.algorithms.algorithm import ItemsAlgorithm
from kohort.algorithms.run import Run
from kohort.errors import counted, percent
from kohort.problem.items import ItemsProblem
from kohort.problem.models import ItemInference
from kohort.recoding.item_nodes import ItemNodes

__all__ = ["solve_items", "telling_items"]


def solve_items(algorithm: ItemsAlgorithm, problem: ItemsProblem, run: Run) -> ItemNodes:
    """The recoding that an algorithm finds once sensitive items that imply others have been dropped.

    Where they may be. That is by class, and an item is dropped from all of its baskets: what is published of
    it is true. Whatever other items become then, the promise can be kept: as `*` they tell nothing.
    """
    if not problem.drops_sensitive:
        return algorithm.solve(problem, run)
    holds = [held.copy() for held in problem.holds]
    for records in _classes(problem):
        assert problem.confidence is not None
        filled = problem.baskets.sizes[records] > 0
        for number in telling_items(problem.confidence, [held[records] for held in holds], filled):
            holds[number][records] = False
    found = algorithm.solve(replace(problem, holds=holds), run)
    gone = _gone(problem, holds)
    dropped, occurrences = int(gone.sum()), len(gone)
    if not dropped:
        return found
    note = (
        f"{counted(dropped, 'sensitive item')} of {occurrences:,} ({percent(dropped / occurrences)}) "
        f"{'is' if dropped == 1 else 'are'} dropped: known sensitive items would imply others."
    )
    return replace(found, gone=gone, notes=(*found.notes, note))


def telling_items(confidence: ItemInference, holds: list[np.ndarray], filled: np.ndarray) -> list[int]:
    """The numbers of sensitive items to drop from some records, so that sensitive items imply no others.

    One by one, the item that takes part in most broken rules for each record that holds it.

    filled  whether each record has other items: among those, too, no rule may be broken
    """
    dropped: list[int] = []
    while True:
        left = [held & (number not in dropped) for number, held in enumerate(holds)]
        parts = (left, [held[filled] for held in left])
        broken = Counter(
            item
            for besides, part in enumerate(parts)
            for rule, _ in confidence.broken_rules(part, besides=besides)
            for item in rule.items
        )
        if not broken:
            return dropped
        dropped.append(max(broken, key=lambda item: (broken[item] / left[item].sum(), -item)))


def _classes(problem: ItemsProblem) -> Iterator[np.ndarray]:
    """The records of each class."""
    classes = problem.class_of_record
    if classes is None:
        yield np.arange(len(problem.baskets))
        return
    order = np.argsort(classes, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(classes[order])) + 1)


def _gone(problem: ItemsProblem, holds: list[np.ndarray]) -> np.ndarray:
    """Whether each occurrence of a sensitive item is one that its record is no longer said to hold."""
    secret = problem.sensitive
    assert secret is not None and problem.confidence is not None
    number_of = {name: number for number, name in enumerate(problem.confidence.sensitive)}
    number = np.array([number_of[name] for name in secret.names(problem.multiset)], dtype=np.int64)
    return ~np.array(holds)[number[secret.items.codes], secret.record_of_item]
