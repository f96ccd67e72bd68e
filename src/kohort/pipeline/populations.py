"""The population that promises compare a table with: which one, in which codes, and whether it fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from kohort.data.counting import distinct_rows
from kohort.data.dataset import Dataset
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, UnsupportedError, counted
from kohort.problem.attribute import Attribute, PopulationRows
from kohort.problem.promises import Model, Population


def population_of(models: Sequence[Model]) -> Dataset | None:
    """The table of the population that some models name; None where none does."""
    named = [model.population for model in models if hasattr(model, "population")]
    for population in named:
        if not isinstance(population, Population):
            raise InputError(f"The population {str(population)!r} was not read: give it as a table.")
    if len({id(population.table) for population in named}) > 1:
        raise UnsupportedError("Two promises name different populations. One population is possible.")
    return named[0].table if named else None


def check_population(everybody: Dataset | None, dataset: Dataset, names: Sequence[str]) -> None:
    """Raise InputError where a population is given and lacks a column or somebody of the table."""
    if everybody is None:
        return
    for name in names:
        if name not in everybody.names:
            raise InputError(f"The population has no column {name!r}, which is a quasi-identifier.")
    people, records = (Counter(zip(*(_texts(d, name) for name in names))) for d in (everybody, dataset))
    missing = sum((records - people).values())
    if missing:
        raise InputError(
            f"{counted(missing, 'record')} of the table {'is' if missing == 1 else 'are'} not in the "
            "population: nobody there has the same quasi-identifiers, or too few have. A population has "
            "everybody who is in the table, with the same columns written in the same way."
        )


def population_rows(everybody: Dataset, attributes: Sequence[Attribute]) -> PopulationRows:
    """The population in the codes of a problem."""
    columns = [_leaves(everybody, attribute) for attribute in attributes]
    rows, counts, _ = distinct_rows(np.column_stack(columns) + 1)  # no code is below 0
    return PopulationRows(rows - 1, counts)


def _leaves(everybody: Dataset, attribute: Attribute) -> np.ndarray:
    column = everybody.column(attribute.name)
    if not isinstance(attribute.domain, Hierarchy):
        raise UnsupportedError(
            f"Column {attribute.name!r} needs a hierarchy: promises that compare with a population are kept "
            "by searches over levels."
        )
    leaf_of = attribute.domain.leaf_of
    return np.array([leaf_of.get(text, -1) for text in column.texts], dtype=np.int64)[column.codes]


def _texts(dataset: Dataset, name: str) -> list[str | None]:
    column = dataset.column(name)
    return [column.texts[code] for code in column.codes.tolist()]
