"""The columns of a table in codes: quasi-identifiers and sensitive columns with their hierarchies."""

from __future__ import annotations

from dataclasses import replace

from kohort.data.column import Column, unsigned_zero, whole_number
from kohort.data.domain import STAR, Domain
from kohort.data.hierarchies.categories import Flat, Groups
from kohort.data.hierarchies.checks import check
from kohort.data.hierarchies.orders import Order
from kohort.data.hierarchy import Hierarchy
from kohort.job.people import population_of
from kohort.problem.attribute import Attribute, tight_domain
from kohort.problem.roles import Roles
from kohort.problem.units import SensitiveAttribute, Units
from kohort.statement import Statement
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
        source = _with_whole_leaves(source, column)
        column = _spelled_as_in(source, column)
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
    found = {name: _sensitive(dataset, request, name) for name in roles.having("sensitive")}
    return {name: replace(sensitive, units=units) for name, sensitive in found.items()}


def _sensitive(dataset: Table, request: Statement, name: str) -> SensitiveAttribute:
    column = _ordered(dataset.sensitive_column(name), request)
    source = request.hierarchies.get(name)
    if source is None:
        return SensitiveAttribute(column)
    domain = _domain(column, source, "error", natural=dataset.column(name))
    assert isinstance(domain, Hierarchy)
    return SensitiveAttribute(column, domain)


def _ordered(column: Column, request: Statement) -> Column:
    order = request.orders.get(column.name)
    return column if order is None else column.in_order(order)


def _with_whole_leaves(hierarchy: Hierarchy, column: Column) -> Hierarchy:
    """The hierarchy of a column of whole numbers, with leaves such as 7.0 spelled as in the column."""
    if column.kind != "integer":
        return hierarchy
    label = list(hierarchy.label)
    for node in hierarchy.leaf_node.tolist():
        leaf = label[node]
        if leaf is not None and whole_number(leaf) not in hierarchy.leaf_of:
            label[node] = whole_number(leaf)
    return replace(hierarchy, label=tuple(label))


def _spelled_as_in(hierarchy: Hierarchy, column: Column) -> Column:
    """The column with booleans and zero spelled as in the hierarchy: true, True or TRUE; 0.0 or -0.0."""
    if column.kind == "boolean":
        leaves = {leaf.lower(): leaf for leaf in hierarchy.leaves if leaf is not None}
    elif column.kind == "float":
        known = hierarchy.leaf_of
        signed = [leaf for leaf in known if leaf is not None and unsigned_zero(leaf) not in known]
        leaves = {unsigned_zero(leaf): leaf for leaf in signed}
    else:
        return column
    return replace(column, texts=tuple(t if t is None else leaves.get(t, t) for t in column.texts))
