"""From what a user asks for to a Problem: roles settled, columns coded, hierarchies built and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa

from kohort.algorithms import ALGORITHMS
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InfeasibleError, InputError, UnsupportedError
from kohort.job.columns import build_attributes, items_problem, sensitive_attributes
from kohort.job.people import (
    check_population,
    histories_of,
    population_of,
    population_rows,
    units_of,
    weights_of,
)
from kohort.job.two_files import OneFile, TwoFiles, join_files
from kohort.problem.attribute import Attribute
from kohort.problem.costs import cost_named
from kohort.problem.items import ItemsProblem
from kohort.problem.problem import Problem, refuse_many_attributes
from kohort.problem.promises import ClassCounts, KAnonymity, Model, RiskLimit, TableModel
from kohort.problem.roles import Roles
from kohort.problem.units import SensitiveAttribute, Units, Weights
from kohort.statement import Statement
from kohort.statement.columns import TREATMENTS
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table
from kohort.treatments import Part, Secret, Treatment, generator_of, refuse_no_numbers, treatments_of


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table and what is asked of it, in codes: the first step of every job.

    attributes  the quasi-identifiers, in the order of the table's columns
    files       the table, or the two that it was joined from
    items       what is asked of the column of items; None where there is none
    units       whose the records are, and which are seen together
    weights     the sampling weight of each record
    treated     sensitive columns with a treatment, as they are published: promises are about these
    treatments  how columns are published that are neither generalized nor left as they are
    secret      what treatments draw from, and nobody may know
    """

    dataset: Table
    request: Statement
    roles: Roles
    attributes: tuple[Attribute, ...]
    sensitive: Mapping[str, SensitiveAttribute]
    files: OneFile | TwoFiles
    items: ItemsProblem | None
    units: Units
    weights: Weights
    treated: Mapping[str, pa.Array]
    treatments: Mapping[str, Treatment]
    secret: Secret

    @cached_property
    def problem(self) -> Problem:
        """The problem that the request poses for the table; raises an error if it is impossible."""
        request = self.request
        cost = cost_named(request.cost if self.attributes else "ncp")
        if self.attributes:  # not even all records as one class may keep a limit on the risk
            everybody = ClassCounts.of_sizes(np.array([self.n_people] if self.n_people else []))
            for limit in request.table_models:
                if isinstance(limit, RiskLimit) and (reason := limit.refusal(everybody)) is not None:
                    raise InfeasibleError(f"{reason}.")
        if not all(model.survives_unions for model in request.models):
            _refuse_lookalikes(self.attributes, null_is_star=request.nulls == "star")
        return Problem(
            attributes=self.attributes,
            models=self._searched_models if self.attributes else (),
            cost=cost,
            sensitive=self.sensitive,
            suppression=request.suppression,
            seed=request.seed,
            items=self.items,
            units=self.units,
            masses=self.weights.scaled() if cost.is_mean else Weights(),
            population=population_rows(population_of(request.models), self.attributes),
        )

    @property
    def kept_by_k(self) -> tuple[Model, ...]:
        """The promises about all classes together that are kept by a search for a k.

        See `solve_within_limits`. These are limits on the risk, and those promises about a whole table that
        classes of some size always keep. The latter are left to the algorithm where one is asked for that
        searches over levels.
        """
        models = self.request.table_models if self.attributes else ()
        limits = tuple(m for m in models if isinstance(m, RiskLimit) and m.of_whole_table)
        others = tuple(m for m in models if m.of_table)
        by_size = all(m.enough_k is not None and m.enough_k <= self.n_people for m in others)
        named = self.request.algorithm_name  # one that meets such promises by itself?
        searches = named in ALGORITHMS and named != "auto" and ALGORITHMS[named].meets(TableModel)
        return (*limits, *others) if by_size and not searches else limits

    @property
    def _searched_models(self) -> tuple[Model, ...]:
        """The models as algorithms see them: a limit on the risk of a class is the k that it needs."""
        models, kept = self.request.table_models, self.kept_by_k
        if not kept and not any(isinstance(model, RiskLimit) for model in models):
            return models
        others = (m for m in models if m not in kept and not isinstance(m, (KAnonymity, RiskLimit)))
        return (KAnonymity(self.request.k), *others)

    @cached_property
    def n_people(self) -> int:
        """How many people the table is of: records, where everybody has one."""
        return self.units.n_people(len(self.attributes[0].column))

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


def prepare(dataset: Table, request: Statement, events: Table | None = None) -> Prepared:
    """Prepare a table: settle roles, code its columns, and build the domains of quasi-identifiers.

    A table of people is joined with that of their events first.
    """
    if events is not None:
        files: OneFile | TwoFiles = join_files(dataset, events, request)
    elif not request.events:
        files = OneFile(dataset)
    else:
        raise InputError(
            "The spec asks for a table of events beside that of people: name it, too (--events, in Python: "
            "events=)."
        )
    dataset = files.table
    roles = settled_roles(dataset, request)
    quasi_identifiers = roles.having("quasi-identifier")
    refuse_many_attributes(len(quasi_identifiers))
    for model in request.models if request.suppressed == "drop" and request.suppression > 0 else ():
        if model.compares_with_whole_table and not isinstance(model, RiskLimit):
            raise UnsupportedError(
                f"{model.name} compares every class with the whole table, which records that are left out "
                "would change. Use suppressed: star, or suppression: 0."
            )
    units = units_of(dataset, roles) if dataset.in_one_place else Units()
    weights = weights_of(dataset, roles)
    refuse_nulls(files.tables, request, roles)
    found, secret, part = treatments_of(request), Secret.of(request), Part(dataset)
    names = roles.having("sensitive")
    treated = {name: found[name].publish(name, part, secret) for name in names if name in found}
    values = dataset  # the sensitive columns as they are published
    if treated:
        values = MemoryTable(pa.table({name: treated.get(name, dataset.arrow(name)) for name in names}))
    sensitive = sensitive_attributes(values, request, roles, units)
    check_population(population_of(request.models), dataset, quasi_identifiers)
    attributes = build_attributes(dataset, request, roles)
    for attribute in attributes:
        if attribute.name in found:
            found[attribute.name].refuse(attribute)
        elif request.cost == "squares":
            refuse_no_numbers(attribute, "The cost squares")
    items = items_problem(dataset, request)
    histories = histories_of(dataset, request, files.nothing, files.columns_of_events)
    units = replace(units, histories=histories)
    return Prepared(
        dataset, request, roles, attributes, sensitive, files, items, units, weights, treated, found, secret
    )


def settled_roles(dataset: Table, request: Statement) -> Roles:
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


def refuse_nulls(tables: Sequence[Table], request: Statement, roles: Roles) -> None:
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


def sample_of(dataset: Table, request: Statement) -> Table:
    """The records that are drawn, in their order: the share of them, rounded down; all of them where it is 1.

    They come from the key and the seed or, without a key, from the operating system, as noise does.
    """
    if request.sample == 1:
        return dataset
    if request.roles.only("person") or request.roles.only("household") or request.events:
        raise UnsupportedError("Records are drawn one by one, and people have several. Leave out 'sample'.")
    size = int(Fraction(str(request.sample)) * dataset.n_records)
    if not size:
        raise InputError(
            f"A sample of {request.sample:g} of {dataset.n_records} records is empty. Draw a larger share."
        )
    rng = generator_of(request.key, request.seed, "sample")
    rows = np.sort(rng.choice(dataset.n_records, size, replace=False))
    return MemoryTable(dataset.frame[rows.tolist()].to_native())
