"""What is asked of a set-valued column, frozen: baskets, their hierarchy, and the promise for every class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InfeasibleError, counted
from kohort.problem.models.km_anonymity import KmAnonymity

__all__ = ["ItemsProblem"]


@dataclass(frozen=True, eq=False)
class ItemsProblem:
    """Publish items as nodes of the hierarchy, so that every class of records is k^m-anonymous.

    Without `class_of_record` all records are one class, and the problem is refused where fewer than k of
    them have items. With it, a class where fewer than k have items publishes none.
    """

    baskets: Baskets
    hierarchy: Hierarchy
    model: KmAnonymity
    class_of_record: np.ndarray | None = None

    def __post_init__(self) -> None:
        filled = int((self.baskets.sizes > 0).sum())
        if self.class_of_record is None and filled < self.model.k:
            raise InfeasibleError(
                f"k = {self.model.k} cannot be had: {counted(filled, 'basket has', 'baskets have')} items, "
                f"so k is at most {filled}."
            )

    @cached_property
    def leaf_of_item(self) -> np.ndarray:
        """The leaf of each distinct item."""
        leaf = self.hierarchy.leaf_of
        return np.array([leaf[text] for text in self.baskets.items.texts], dtype=np.int32)

    @cached_property
    def leaves(self) -> np.ndarray:
        """The leaf of each occurrence of an item."""
        return self.leaf_of_item[self.baskets.items.codes]

    def ncp(self, node_of_occurrence: np.ndarray) -> float:
        """The normalized certainty penalty of publishing each occurrence as a node; -1 (withheld) costs 1."""
        if not len(node_of_occurrence):
            return 0.0
        width = self.hierarchy.hi - self.hierarchy.lo + 1
        penalty = np.where(width > 1, width / len(self.hierarchy.leaves), 0.0)
        return float(np.append(penalty, 1.0)[node_of_occurrence].mean())
