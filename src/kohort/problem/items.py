"""The problem of a set-valued column: baskets, their hierarchy, and the privacy model for every class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InfeasibleError, counted
from kohort.problem.promises.items import ItemInference, KmAnonymity


@dataclass(frozen=True, eq=False)
class ItemsProblem:
    """Publish items as nodes of the hierarchy, so that every class of records is k^m-anonymous.

    Without `class_of_record` all records are one class, and the problem is refused where fewer than k of
    them have items. With it, a class where fewer than k have items publishes none.

    Sensitive items are not among the baskets: `sensitive` holds those of every record, which are published as
    they are, `confidence` what is promised of them, and `holds` whether each record holds each of them. A
    class with too many holders publishes no items. Where values of a column are protected instead, there are
    no sensitive items, and records hold values. Where sensitive items may themselves be known, and items may
    be dropped, sensitive ones may be, too, from all baskets of a class.

    multiset  whether items are written with their numbers: `milk ×2`
    suppress  whether items may also be dropped from their baskets, at the cost of the root
    """

    baskets: Baskets
    hierarchy: Hierarchy
    model: KmAnonymity
    class_of_record: np.ndarray | None = None
    sensitive: Baskets | None = None
    confidence: ItemInference | None = None
    holds: Sequence[np.ndarray] = ()
    multiset: bool = False
    suppress: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        filled = int((self.baskets.sizes > 0).sum())
        if self.class_of_record is None and filled < self.model.k:
            raise InfeasibleError(
                f"k = {self.model.k} is impossible: {counted(filled, 'basket has', 'baskets have')} items, "
                f"so k can be at most {filled}."
            )
        if self.confidence is not None and self.class_of_record is None:
            self._refuse_limit(self.confidence)

    def _refuse_limit(self, confidence: ItemInference) -> None:
        """Refuse a limit that not even `*` for all other items would keep."""
        if self.drops_sensitive:
            return
        filled = self.baskets.sizes > 0
        broken = [
            share
            for besides, holds in enumerate((self.holds, [held[filled] for held in self.holds]))
            for _, share in confidence.broken_rules(holds, besides=besides)
        ]
        if broken:
            raise InfeasibleError(confidence.refusal(max(broken)))

    @property
    def drops_sensitive(self) -> bool:
        """Whether sensitive items, too, are dropped where the promise cannot be kept otherwise."""
        return self.suppress and self.confidence is not None and self.confidence.knows_sensitive

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
        """The normalized certainty penalty of publishing each occurrence as a node.

        A negative number, of an item that is withheld with its basket or dropped from it, costs 1.
        """
        if not len(node_of_occurrence):
            return 0.0
        width = self.hierarchy.hi - self.hierarchy.lo + 1
        penalty = np.where(width > 1, width / len(self.hierarchy.leaves), 0.0)
        each = np.where(node_of_occurrence < 0, 1.0, penalty[node_of_occurrence])
        return float(each.mean())
