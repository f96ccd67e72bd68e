"""From what a user asks for to a Problem: roles settled, columns coded, hierarchies built and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from kohort.data.column import Column, unsigned_zero, whole_number
from kohort.data.dataset import Dataset
from kohort.data.domain import STAR, Domain
from kohort.data.hierarchies.build_hierarchy import Flat, Groups, Order
from kohort.data.hierarchies.checks import check
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InfeasibleError, InputError, UnsupportedError
from kohort.pipeline.averages import refuse_averages
from kohort.pipeline.kept_by_k import search_models
from kohort.pipeline.people import histories_of, persons_of, weights_of
from kohort.pipeline.perturb import perturbed_columns
from kohort.pipeline.populations import check_population, population_of, population_rows
from kohort.pipeline.prepare_items import items_problem
from kohort.pipeline.request import TREATMENTS, Request
from kohort.pipeline.two_files import TwoFiles, join_files
from kohort.problem.attribute import Attribute, PopulationRows, tight_domain
from kohort.problem.costs import cost_named
from kohort.problem.histories import Histories
from kohort.problem.items import ItemsProblem
from kohort.problem.problem import Problem, refuse_many_attributes
from kohort.problem.promises import ClassCounts, Model, RiskLimit
from kohort.problem.roles import Roles
from kohort.problem.sensitive import SensitiveAttribute
from kohort.tables.memory import MemoryTable


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table and what is asked of it, in codes: the first step of every job.

    roles       the role of every column
    attributes  the quasi-identifiers, in the order of the table's columns
    sensitive   the sensitive columns by name
    items       what is asked of the column of items; None where there is none
    persons     the number of each record's person; None where every record is that of another person
    histories   the records of each person, where they are linked; else None
    weights     the sampling weight of each record; None where there are none
    files       the two tables that this one was joined from; None where there is one table
    perturbed   the columns that are published with noise and the like, as they are published
    """

    dataset: Dataset
    request: Request
    roles: Roles
    attributes: tuple[Attribute, ...]
    sensitive: Mapping[str, SensitiveAttribute]
    items: ItemsProblem | None = None
    persons: np.ndarray | None = None
    histories: Histories | None = None
    weights: np.ndarray | None = None
    files: TwoFiles | None = None
    perturbed: Mapping[str, pa.Array] = field(default_factory=dict)

    @cached_property
    def problem(self) -> Problem:
        """The problem that the request poses for the table; raises an error if it is impossible."""
        request = self.request
        cost = cost_named(request.cost if self.attributes else "ncp")
        if self.attributes:
            self._refuse_limits()
        return Problem(
            attributes=self.attributes,
            models=search_models(request, self.n_people) if self.attributes else (),
            cost=cost,
            sensitive=self.sensitive,
            suppression=request.suppression,
            seed=request.seed,
            items=self.items,
            persons=self.persons,
            histories=self.histories,
            masses=None if self.weights is None or not cost.is_mean else self.weights / self.weights.mean(),
            population=self._population,
        )

    @cached_property
    def n_people(self) -> int:
        """How many people the table is of: records, where everybody has one."""
        if self.persons is None:
            return len(self.attributes[0].column)
        return int(self.persons.max(initial=-1)) + 1

    def _refuse_limits(self) -> None:
        """Raise InfeasibleError for a limit on the risk that not even all records as one class keep."""
        everybody = ClassCounts.of_sizes(np.array([self.n_people] if self.n_people else []))
        for model in self.request.table_models:
            if isinstance(model, RiskLimit) and (reason := model.refusal(everybody)) is not None:
                raise InfeasibleError(f"{reason}.")

    @property
    def _population(self) -> PopulationRows | None:
        """Everybody whom promises compare the table with, in codes; None where none does."""
        everybody = population_of(self.request.models)
        return None if everybody is None else population_rows(everybody, self.attributes)

    @property
    def needs_rows(self) -> bool:
        """Whether verification goes through the records one by one: those of people, and items."""
        return self.items is not None or self.persons is not None or self.histories is not None

    @property
    def untouched(self) -> list[str]:
        """The columns that are published as they came."""
        return self.roles.untouched(self.request.treatments)

    @property
    def untouched_others(self) -> list[str]:
        """The columns that are published as they came, beside the sensitive ones."""
        return [name for name in self.untouched if name not in self.sensitive]

    @property
    def sensitive_hierarchies(self) -> dict[str, Hierarchy]:
        """The hierarchies of sensitive columns, where they have one."""
        return {name: s.hierarchy for name, s in self.sensitive.items() if s.hierarchy is not None}


def prepare(dataset: Dataset, request: Request, events: Dataset | None = None) -> Prepared:
    """Prepare a table: settle roles, code its columns, and build the domains of quasi-identifiers.

    events  the table of events beside one of people: the two are joined first
    """
    if events is None:
        if request.events is not None:
            raise InputError(
                "The spec asks for a table of events beside that of people: name it, too (--events, in "
                "Python: events=)."
            )
        return _prepared(dataset, request)
    files = join_files(dataset, events, request)
    return _prepared(files.table, request, files)


def _prepared(dataset: Dataset, request: Request, files: TwoFiles | None = None) -> Prepared:
    roles = settled_roles(dataset, request)
    quasi_identifiers = roles.having("quasi-identifier")
    if request.items is not None and not quasi_identifiers:
        return Prepared(dataset, request, roles, (), {}, items_problem(dataset, request), files=files)
    refuse_many_attributes(len(quasi_identifiers))
    if request.suppressed == "drop" and request.suppression > 0:
        _refuse_dropping(request.models)
    persons = persons_of(dataset, roles)
    weights = weights_of(dataset, roles)
    refuse_nulls([dataset] if files is None else [files.people, files.events], request, roles)
    perturbed = perturbed_columns(dataset, request.perturbations, request.key, request.seed)
    sensitive = sensitive_attributes(_published_values(dataset, roles, perturbed), request, roles, persons)
    check_population(population_of(request.models), dataset, quasi_identifiers)
    attributes = build_attributes(dataset, request, roles)
    refuse_averages(attributes, request.publish, request.cost)
    if not all(model.survives_unions for model in request.models):
        _refuse_lookalikes(attributes, null_is_star=request.nulls == "star")
    items = items_problem(dataset, request)
    joined = () if files is None else (files.nothing, files.columns_of_events)
    histories = histories_of(dataset, request, *joined)
    return Prepared(
        dataset,
        request,
        roles,
        attributes,
        sensitive,
        items,
        persons,
        histories,
        weights,
        files,
        perturbed,
    )


def _published_values(dataset: Dataset, roles: Roles, perturbed: Mapping[str, pa.Array]) -> Dataset:
    """The sensitive columns as they are published: promises are about these."""
    names = roles.having("sensitive")
    if not set(names) & set(perturbed):
        return dataset
    return MemoryTable(pa.table({name: perturbed.get(name, dataset.arrow(name)) for name in names}))


def _refuse_dropping(models: Sequence[Model]) -> None:
    for model in models:
        if model.compares_with_whole_table and not isinstance(model, RiskLimit):
            raise UnsupportedError(
                f"{model.name} compares every class with the whole table, which records that are left out "
                "would change. Use suppressed: star, or suppression: 0."
            )


def settled_roles(dataset: Dataset, request: Request) -> Roles:
    """A role for every column of the table."""
    roles = request.roles.settled(dataset.names)
    for name, treatment in request.treatments.items():
        role = roles.of.get(name, "")
        if role not in TREATMENTS:
            raise InputError(
                f"A treatment is given for {name!r}, which has the role {role or 'none'}: that takes none."
            )
        if treatment not in TREATMENTS[role]:
            raise InputError(
                f"The treatment {treatment} of {name!r} is impossible: a column with the role {role} takes "
                f"{' or '.join(TREATMENTS[role])}."
            )
    return roles


def refuse_nulls(tables: Sequence[Dataset], request: Request, roles: Roles) -> None:
    """Raise InputError where a quasi-identifier of these tables has missing values and may not."""
    if request.nulls != "refuse":
        return
    for table in tables:
        for name in roles.having("quasi-identifier"):
            if name in table.names and (column := table.column(name)).has_null:
                raise InputError(
                    f"Column {name!r} has {column.counts[-1]} missing values and nulls: refuse is set. "
                    "Fill them in, or set nulls: value or nulls: star."
                )


def build_attributes(dataset: Dataset, request: Request, roles: Roles) -> tuple[Attribute, ...]:
    """The quasi-identifiers in the order of the table's columns."""
    names = roles.having("quasi-identifier")
    everybody = population_of(request.models) or dataset
    everybody.require(names)
    return tuple(_attribute(dataset, request, name, everybody) for name in names)


def _attribute(dataset: Dataset, request: Request, name: str, everybody: Dataset) -> Attribute:
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
    dataset: Dataset, request: Request, roles: Roles, persons: np.ndarray | None
) -> dict[str, SensitiveAttribute]:
    """The sensitive columns by name, in the order and with the hierarchies that were asked for."""
    found = {name: _sensitive(dataset, request, name) for name in roles.having("sensitive")}
    return {name: replace(sensitive, persons=persons) for name, sensitive in found.items()}


def _sensitive(dataset: Dataset, request: Request, name: str) -> SensitiveAttribute:
    column = _ordered(dataset.sensitive_column(name), request)
    source = request.hierarchies.get(name)
    if source is None:
        return SensitiveAttribute(column)
    domain = _domain(column, source, "error", natural=dataset.column(name))
    assert isinstance(domain, Hierarchy)
    return SensitiveAttribute(column, domain)


def _ordered(column: Column, request: Request) -> Column:
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


def _refuse_lookalikes(attributes: tuple[Attribute, ...], *, null_is_star: bool) -> None:
    """Refuse values published as `*` with rounding: groups that algorithms keep apart may look alike."""
    for attribute in attributes:
        hidden = isinstance(attribute.domain, Hierarchy) and attribute.domain.hidden.any()
        if hidden or (null_is_star and attribute.column.has_null) or STAR in attribute.column.texts:
            raise UnsupportedError(
                f"Column {attribute.name!r} publishes some of its values as `*` (missing ones, or values "
                "that its hierarchy lacks), which does not go together with alpha and rounding: ceiling. "
                "Leave rounding out."
            )
