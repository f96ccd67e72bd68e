"""A column of items: the problem that it poses, the hierarchy over its items, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kohort.algorithms import ItemsAlgorithm, parameters_of
from kohort.data.baskets import Baskets, by_cooccurrence, read_baskets, with_counts_above
from kohort.data.domain import STAR
from kohort.data.hierarchies import Builder
from kohort.data.hierarchies.checks import check
from kohort.data.hierarchies.orders import Order
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, counted
from kohort.problem.items import ItemsProblem
from kohort.problem.problem import Problem
from kohort.problem.promises import ItemInference
from kohort.recoding.items import DROPPED, ItemNodes
from kohort.recoding.recoding import Recoding
from kohort.statement import Statement
from kohort.statement.items import Items
from kohort.tables.table import Table

DEFAULT_HIERARCHY = Order("frequency", fanout=5)


def items_problem(dataset: Table, request: Statement) -> ItemsProblem | None:
    """The problem of the items column, with all records as one class; None without such a column."""
    items = request.items
    if items is None:
        return None
    assert request.km is not None
    baskets = read_baskets(dataset, items.column, separator=items.separator, multiset=items.multiset)
    plain = read_baskets(dataset, items.column, separator=items.separator) if items.multiset else baskets
    confidence, sensitive = request.confidence, None
    holds: list[np.ndarray] = []
    if confidence is not None:
        values = dataset.column(confidence.attribute) if confidence.attribute else None
        holds, names = confidence.held(baskets, values, multiset=items.multiset), confidence.sensitive
        baskets, sensitive = baskets.parted(names, multiset=items.multiset)
        plain = plain.parted(names)[0] if items.multiset else baskets
    hierarchy = item_hierarchy(baskets, items, plain)
    if confidence is not None:
        _refuse_ambiguous(hierarchy, confidence, items.column)
    return ItemsProblem(
        baskets,
        hierarchy,
        request.km,
        sensitive=sensitive,
        confidence=confidence,
        holds=holds,
        multiset=items.multiset,
        suppress=items.suppress,
        seed=request.seed,
    )


def hierarchy_description(items: Items) -> Any:
    """A description of how the hierarchy over the items was made, for the certificate."""
    source = DEFAULT_HIERARCHY if items.hierarchy is None else items.hierarchy
    return "given" if isinstance(source, Hierarchy) else source.to_spec()


def _refuse_ambiguous(hierarchy: Hierarchy, confidence: ItemInference, column: str) -> None:
    """Refuse labels of groups of items that read like a sensitive item."""
    inner = {str(hierarchy.published[node]) for node in np.flatnonzero(hierarchy.hi > hierarchy.lo)} | {STAR}
    if clashes := inner.intersection(confidence.sensitive):
        raise InputError(
            f"The hierarchy of {column!r} has {counted(len(clashes), 'group')} named like a sensitive item: "
            "readers could not distinguish the two. Rename them in the hierarchy."
        )


def item_hierarchy(baskets: Baskets, items: Items, plain: Baskets) -> Hierarchy:
    """The hierarchy over the items.

    `plain` holds the same baskets as sets. In a multiset, `milk ×2` is put under `milk`.
    """
    source = DEFAULT_HIERARCHY if items.hierarchy is None else items.hierarchy
    if not plain.items.texts:
        raise InputError(f"Column {items.column!r} holds no items: there is nothing to publish.")
    if STAR in plain.items.texts:
        raise InputError(
            f"Column {items.column!r} has an item named `*`, which in a release stands for any item: readers "
            "could not distinguish the two. Rename the item."
        )
    hierarchy = source if isinstance(source, Hierarchy) else build_item_hierarchy(source, plain)  # type: ignore[arg-type]
    missing = len(check(hierarchy, plain.items).missing)
    if missing:
        raise InputError(
            f"The hierarchy of {items.column!r} lacks {counted(missing, 'item')} of "
            f"{len(plain.items.texts):,}. Add them to it."
        )
    if items.multiset:
        hierarchy = with_counts_above(hierarchy, baskets)
    return hierarchy


def build_item_hierarchy(source: Builder, plain: Baskets) -> Hierarchy:
    """The hierarchy over the items of baskets that a builder makes; only here may it ask for cooccurrence."""
    if isinstance(source, Order) and source.values == "cooccurrence":
        fanout = source.fanout if isinstance(source.fanout, int) else source.fanout[0]
        source = replace(source, values=by_cooccurrence(plain, fanout))
    return source.build(plain.items)


@dataclass(frozen=True, eq=False)
class ItemsPart:
    """What became of the items: how they were published, by what, and what that cost.

    `class_size` is the smallest class that the table was given for their sake; None for baskets alone.
    """

    problem: ItemsProblem
    recoding: ItemNodes
    algorithm: ItemsAlgorithm
    hierarchy: Any
    ncp: float
    class_size: int | None = None

    @classmethod
    def of(
        cls, problem: Problem, recoding: Recoding, algorithm: ItemsAlgorithm | None, request: Statement
    ) -> ItemsPart | None:
        """The items part of a recoding; None where the problem has no items."""
        if problem.items is None:
            return None
        assert recoding.items is not None and algorithm is not None and request.items is not None
        posed = replace(problem.items, class_of_record=recoding.class_of_record)
        return cls(
            problem=posed,
            recoding=recoding.items,
            algorithm=algorithm,
            hierarchy=hierarchy_description(request.items),
            ncp=posed.ncp(recoding.items.node_of_occurrence),
            class_size=recoding.class_size,
        )

    def facts(self) -> dict[str, Any]:
        """The facts for the certificate; no item is among them."""
        occurrences = len(self.problem.leaves)
        dropped = int((self.recoding.node_of_occurrence == DROPPED).sum())
        return {
            "column": self.problem.baskets.name,
            "algorithm": self.algorithm.name,
            "parameters": parameters_of(self.algorithm),
            "hierarchy": self.hierarchy,
            "items": len(self.problem.baskets.items.texts),
            "occurrences": occurrences,
            "published_items": len(self.recoding.nodes_used()),
            "withheld": int(self.recoding.withheld.sum()),
            "dropped": dropped,
            "dropped_share": dropped / max(occurrences, 1),
            "dropped_sensitive": self.recoding.dropped_sensitive,
            "class_size": self.class_size,
            "ncp": self.ncp,
            "bound": self.recoding.bound,
        }
