"""Who the records are of: people, their histories and weights, and the population that they are from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from kohort.data.arrow_values import person_codes, record_weights
from kohort.data.counting import distinct_rows
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, UnsupportedError, counted
from kohort.problem.attribute import Attribute, PopulationRows
from kohort.problem.promises import Model, Population
from kohort.problem.roles import Roles
from kohort.problem.units import Histories, People, Units, Weights
from kohort.statement import Statement
from kohort.tables.table import Table


def units_of(dataset: Table, roles: Roles) -> Units:
    """Whose the records are; where every one is that of another person, as if there were no such role.

    Where there are households, these are counted in the place of people; nobody may be in two of them.
    """
    household, person = roles.only("household"), roles.only("person")
    names = [name for name in (household, person) if name is not None]
    if not names:
        return Units()
    number, *persons = (_several_persons(dataset, name) for name in names)
    for of_person in persons:
        size = int(number.max()) + 1
        whose = np.unique(of_person.astype(np.int64) * size + number) // size
        if in_several := int((np.bincount(whose) > 1).sum()):
            who = counted(in_several, "person of", "people of")
            are = "is" if in_several == 1 else "are"
            raise InputError(
                f"{who} {person!r} {are} in more than one household of {household!r}. Correct them, or leave "
                "out the role household."
            )
    return Units() if int(number.max()) + 1 == len(number) else People(number)


def _several_persons(dataset: Table, name: str) -> np.ndarray:
    """The number of each record's person; raises InputError where it is missing, or one person is all."""
    persons = persons_of(dataset, name)
    if len(persons) > 1 and int(persons.max()) == 0:
        raise InputError(
            f"Column {name!r} says whose record it is, and all {len(persons):,} records are of one person. "
            "Name the column that tells people apart."
        )
    return persons


def persons_of(dataset: Table, name: str) -> np.ndarray:
    """The number of each record's person; raises InputError where it is missing."""
    persons = person_codes(name, dataset.arrow(name))
    refuse_missing_persons(name, int((persons < 0).sum()))
    return persons


def refuse_missing_persons(name: str, missing: int) -> None:
    """Refuse records of nobody, of which there are so many."""
    if missing:
        raise InputError(
            f"Column {name!r} says whose record it is, and {counted(missing, 'record has', 'records have')} "
            "no value there. Fill them in, or leave these records out."
        )


def histories_of(
    dataset: Table, request: Statement, nothing: np.ndarray, columns_of_events: frozenset[str]
) -> Histories:
    """The records of each person, by their slots if there are any, where records are linked.

    nothing  of people and events that were joined: per record whether it stands for a person without events;
             empty where nothing was joined
    """
    if request.linked_by is None:
        return Histories()
    persons = _several_persons(dataset, request.linked_by)  # of a household, all records are a bag
    slots = None if request.slot is None else _checked_slots(dataset, request.slot, persons, nothing)
    if not nothing.any():
        return Histories(persons, slots)
    return Histories(persons, slots, nothing, columns_of_events)


def _checked_slots(dataset: Table, name: str, persons: np.ndarray, nothing: np.ndarray) -> np.ndarray:
    """The number of each record's slot; raises InputError where it is missing, or two records share one."""
    column = dataset.column(name)
    missing = int(column.counts[-1]) if column.has_null else 0
    missing -= int(nothing.sum())  # people without events have a slot of their own: that of a missing value
    if missing:
        raise InputError(
            f"Column {name!r} says in which slot a record is, and "
            f"{counted(missing, 'record has', 'records have')} no value there. Fill them in, or leave these "
            "records out."
        )
    cells = persons.astype(np.int64) * len(column.texts) + column.codes
    if twice := len(cells) - len(np.unique(cells)):
        raise InputError(
            f"Column {name!r} says in which slot a record is, and "
            f"{counted(twice, 'record is', 'records are')} in the same slot as another one of the same "
            "person. Name a column that tells a person's records apart, or leave out the history: then they "
            "are an unordered bag."
        )
    return column.codes


def weights_of(dataset: Table, roles: Roles) -> Weights:
    """The sampling weight of each record; the same for all without a column of weights.

    Raises InputError for weights that are missing, or no positive and finite numbers.
    """
    name = roles.only("weight")
    if name is None:
        return Weights()
    weights = record_weights(name, dataset.arrow(name))
    if wrong := int((~((weights > 0) & np.isfinite(weights))).sum()):
        raise InputError(
            f"Column {name!r} has the role weight, and in {counted(wrong, 'record')} it is no positive, "
            "finite number. Correct these, or leave the role out."
        )
    return Weights(weights)


def population_of(models: Sequence[Model]) -> Table | None:
    """The table of the population that some models name; None where none does."""
    named = [model.population for model in models if hasattr(model, "population")]
    for population in named:
        if not isinstance(population, Population):
            raise InputError(f"The population {str(population)!r} was not read: give it as a table.")
    if len({id(population.table) for population in named}) > 1:
        raise UnsupportedError("Two promises name different populations. One population is possible.")
    return named[0].table if named else None


def check_population(everybody: Table | None, dataset: Table, names: Sequence[str]) -> None:
    """Raise InputError where a population is given and lacks a column or somebody of the table."""
    if everybody is None:
        return
    for name in names:
        if name not in everybody.names:
            raise InputError(f"The population has no column {name!r}, which is a quasi-identifier.")
    people, records = (
        Counter(zip(*(np.array(c.texts, dtype=object)[c.codes] for c in map(table.column, names))))
        for table in (everybody, dataset)
    )
    missing = sum((records - people).values())
    if missing:
        raise InputError(
            f"{counted(missing, 'record')} of the table {'is' if missing == 1 else 'are'} not in the "
            "population: nobody there has the same quasi-identifiers, or too few have. A population has "
            "everybody who is in the table, with the same columns written in the same way."
        )


def population_rows(everybody: Table | None, attributes: Sequence[Attribute]) -> PopulationRows:
    """The population in the codes of a problem; nobody where none is given."""
    if everybody is None:
        return PopulationRows()
    columns = []
    for attribute in attributes:
        if not isinstance(attribute.domain, Hierarchy):
            raise UnsupportedError(
                f"Column {attribute.name!r} needs a hierarchy: promises that compare with a population are "
                "kept by searches over levels."
            )
        column, leaf_of = everybody.column(attribute.name), attribute.domain.leaf_of
        of_code = np.array([leaf_of.get(text, -1) for text in column.texts], dtype=np.int64)
        columns.append(of_code[column.codes])
    rows, counts, _ = distinct_rows(np.column_stack(columns) + 1)  # no code is below 0
    return PopulationRows(rows - 1, counts)
