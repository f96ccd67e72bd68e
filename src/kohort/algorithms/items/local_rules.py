"""The rules about what is sensitive, as the kernels of local recoding read them."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.items.class_cuts import ItemsClass
from kohort.algorithms.items.kernels.local_confidence import LocalRules
from kohort.algorithms.items.sensitive import rooms_of
from kohort.problem.items import ItemsProblem

__all__ = ["local_rules"]


def local_rules(problem: ItemsProblem, part: ItemsClass) -> LocalRules:
    """The rules of a class. Memory: O(records * rules)."""
    assert problem.confidence is not None
    longest = int(np.diff(part.offsets).max(initial=1))
    rooms = rooms_of(problem.confidence, [held[part.records] for held in problem.holds], len(part.records))
    nobody = np.zeros((0, len(part.records)), dtype=np.int64)
    return LocalRules(
        room=np.concatenate([nobody, *(room[None] for _, room in rooms)]),
        size=np.array([min(m, longest) for m, _ in rooms], dtype=np.int64),
    )
