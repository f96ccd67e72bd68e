"""The columns of a table in codes: quasi-identifiers, sensitive columns and items, with their hierarchies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kohort.algorithms import ItemsAlgorithm, parameters_of
from kohort.data.baskets import Baskets, by_cooccurrence, read_baskets, with_counts_above
from kohort.data.column import Column, unsigned_zero, whole_number
from kohort.data.domain import STAR, Domain
from kohort.data.hierarchies import Builder
from kohort.data.hierarchies.categories import Flat, Groups
from kohort.data.hierarchies.checks import check
from kohort.data.hierarchies.orders import Order
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, counted
from kohort.job.people import population_of
from kohort.problem.attribute import Attribute, tight_domain
from kohort.problem.items import ItemsProblem
from kohort.problem.problem import Problem
from kohort.problem.roles import Roles
from kohort.problem.units import SensitiveAttribute, Units
from kohort.recoding.items import DROPPED, ItemNodes
from kohort.recoding.recoding import Recoding
from kohort.statement import Statement
from kohort.statement.items import Items
from kohort.tables.table import Table


def build_attributes(dataset: Table, request: Statement, roles: Roles) -> tuple[Attribute, ...]:
    """The quasi-identifiers in the order of the table's columns."""
    names = roles.having("quasi-identifier")
    everybody = population_of(request.models) or dataset
    everybody.require(names)
    return tuple(_attribute(dataset, request, name, everybody) for name in names)


def _attribute(dataset: Table, request: Statement, name: str, everybody: Table) -> Attribute:
    """A quasi-identifier; a hierarchy that is built from values is built from those of everybody."""
    column = _ordered(dataset.column(name), request)
    source = request.hierarchies.get(name)
    if isinstance(source, Hierarchy):
        source, column = _spelled_alike(source, column)
    return Attribute(
        column,
        _domain(column, source, request.on_missing.get(name, "error"), natural=everybody.column(name)),
        weight=float(request.weights.get(name, 1.0)),
        tight=request.labels == "tight",
        literal=not isinstance(source, (Hierarchy, Groups)),
    )


def _domain(column: Column, source: object, on_missing: str, *, natural: Column) -> Domain:
    if source is None and column.ordered:
        return tight_domain(column)
    if not any(text is not None for text in column.texts):
        return Hierarchy.from_paths([(None, STAR)])
    builder = Flat() if source is None else source
    if not isinstance(builder, Hierarchy):
        # only a hierarchy by order asks for the order that was given; others ask for numbers and dates
        builder = builder.build(column if isinstance(builder, Order) else natural)  # type: ignore[attr-defined]
    hierarchy = builder
    findings = check(hierarchy, column)
    expected = getattr(source, "expected", None)
    findings.raise_if_broken(column.name, allow_missing=on_missing == "suppress", expected=expected)
    if findings.missing:
        hierarchy = hierarchy.with_leaves(list(findings.missing), hidden=True)
    if column.has_null and None not in hierarchy.leaf_of:
        hierarchy = hierarchy.with_leaves([None], hidden=False)
    return hierarchy


def sensitive_attributes(
    dataset: Table, request: Statement, roles: Roles, units: Units
) -> dict[str, SensitiveAttribute]:
    """The sensitive columns by name, in the order and with the hierarchies that were asked for."""
    found = {}
    for name in roles.having("sensitive"):
        column, source = _ordered(dataset.sensitive_column(name), request), request.hierarchies.get(name)
        found[name] = SensitiveAttribute(column, units=units)
        if source is not None:
            domain = _domain(column, source, "error", natural=dataset.column(name))
            assert isinstance(domain, Hierarchy)
            found[name] = replace(found[name], hierarchy=domain)
    return found


def _ordered(column: Column, request: Statement) -> Column:
    order = request.orders.get(column.name)
    return column if order is None else column.in_order(order)


def _spelled_alike(hierarchy: Hierarchy, column: Column) -> tuple[Hierarchy, Column]:
    """A hierarchy and a column whose values are spelled alike: 7 and 7.0, true and TRUE, 0.0 and -0.0."""
    known, leaves = hierarchy.leaf_of, [leaf for leaf in hierarchy.leaves if leaf is not None]
    if column.kind == "integer":
        label = list(hierarchy.label)
        for node in hierarchy.leaf_node.tolist():
            leaf = label[node]
            if leaf is not None and whole_number(leaf) not in known:
                label[node] = whole_number(leaf)
        return replace(hierarchy, label=tuple(label)), column
    if column.kind == "boolean":
        spelled = {leaf.lower(): leaf for leaf in leaves}
    elif column.kind == "float":
        spelled = {unsigned_zero(leaf): leaf for leaf in leaves if unsigned_zero(leaf) not in known}
    else:
        return hierarchy, column
    texts = tuple(text if text is None else spelled.get(text, text) for text in column.texts)
    return hierarchy, replace(column, texts=texts)


DEFAULT_HIERARCHY = Order("frequency", fanout=5)


def items_problem(dataset: Table, request: Statement) -> ItemsProblem | None:
    """The problem of the items column, with all records as one class; None without such a column."""
    items = request.items
    if not items:
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
    hierarchy = _item_hierarchy(baskets, items, plain)
    if confidence is not None:
        inner = {str(hierarchy.published[n]) for n in np.flatnonzero(hierarchy.hi > hierarchy.lo)} | {STAR}
        if clashes := inner.intersection(confidence.sensitive):
            raise InputError(
                f"The hierarchy of {items.column!r} has {counted(len(clashes), 'group')} named like a "
                "sensitive item: readers could not distinguish the two. Rename them in the hierarchy."
            )
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


def _item_hierarchy(baskets: Baskets, items: Items, plain: Baskets) -> Hierarchy:
    """The hierarchy over the items; in a multiset, of which `plain` is the set, `milk ×2` is under `milk`."""
    source = DEFAULT_HIERARCHY if items.hierarchy is None else items.hierarchy
    if not plain.items.texts:
        raise InputError(f"Column {items.column!r} holds no items: there is nothing to publish.")
    if STAR in plain.items.texts:
        raise InputError(
            f"Column {items.column!r} has an item named `*`, which in a release stands for any item: readers "
            "could not distinguish the two. Rename the item."
        )
    hierarchy = source if isinstance(source, Hierarchy) else build_item_hierarchy(source, plain)  # type: ignore[arg-type]
    if missing := len(check(hierarchy, plain.items).missing):
        raise InputError(
            f"The hierarchy of {items.column!r} lacks {counted(missing, 'item')} of "
            f"{len(plain.items.texts):,}. Add them to it."
        )
    return with_counts_above(hierarchy, baskets) if items.multiset else hierarchy


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
        assert recoding.items is not None and algorithm is not None
        posed = replace(problem.items, class_of_record=recoding.class_of_record)
        source = DEFAULT_HIERARCHY if request.items.hierarchy is None else request.items.hierarchy
        return cls(
            problem=posed,
            recoding=recoding.items,
            algorithm=algorithm,
            hierarchy="given" if isinstance(source, Hierarchy) else source.to_spec(),
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
