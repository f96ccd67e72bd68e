"""k-map: how many people of a population every published class fits (Sweeney, 2001)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kohort.algorithms import Run
from kohort.data.column import Column
from kohort.data.dataset import Dataset
from kohort.errors import InputError
from kohort.pipeline.before_after import Classes, classes_of
from kohort.pipeline.prepare import build_attributes
from kohort.pipeline.request import Request
from kohort.problem.attribute import Attribute
from kohort.problem.roles import Roles
from kohort.risk.class_index import ClassIndex
from kohort.verification.covering import read_covering

if TYPE_CHECKING:
    from kohort.release.release import Release


@dataclass(frozen=True, eq=False)
class Population:
    """How many people of a population match each record.

    before  the people who have the same values as each original record
    after   the people whom each published class fits
    """

    records: int
    before: np.ndarray
    after: np.ndarray


def population_of(release: Release, population: Any, labels: tuple[Column, ...], run: Run) -> Population:
    """How many people of a population look like each original class, and fit each published one.

    Both tables are read together, so that an interval covers values that only one of them has.
    O(distinct people * classes * attributes) at most, mostly far less.
    """
    everybody = population if isinstance(population, Dataset) else Dataset(population)
    refuse_lacking(everybody, [column.name for column in labels])
    attributes = attributes_of_both(release.dataset, everybody, release.request)
    n = release.dataset.n_records
    codes = [attribute.column.codes for attribute in attributes]
    classes = classes_of([column.codes for column in labels], len(labels[0]))
    return Population(
        records=everybody.n_records,
        before=_same_people(classes_of(codes, n + everybody.n_records), n),
        after=people_fitting(labels, classes, attributes, n, run),
    )


def refuse_lacking(population: Dataset, names: Sequence[str]) -> None:
    """Refuse a population without one of these quasi-identifiers."""
    for name in names:
        if name not in population.names:
            raise InputError(f"The population has no column {name!r}, which is a quasi-identifier.")


def people_fitting(
    labels: Sequence[Column], classes: Classes, attributes: Sequence[Attribute], n: int, run: Run
) -> np.ndarray:
    """How many people of a population each published class fits; it is in `attributes` after `n` records."""
    codes = [attribute.column.codes[n:] for attribute in attributes]
    people = classes_of(codes, len(codes[0]))
    coverings = [read_covering(column.texts, a) for column, a in zip(labels, attributes)]
    return ClassIndex(classes, coverings).count_people(list(people.codes.T), people.sizes, run)


def attributes_of_both(original: Dataset | None, other: Dataset, request: Request) -> tuple[Attribute, ...]:
    """The quasi-identifiers over the records of an original, if there is one, and then of another table.

    Hierarchies that are built from the data are built from both; values that a given one lacks are covered
    by `*` only.
    """
    names = request.roles.having("quasi-identifier")
    tables = [other] if original is None else [original, other]
    together = Dataset(
        pa.table({name: pa.chunked_array([_texts(t.column(name)) for t in tables]) for name in names})
    )
    lenient = replace(request, nulls="value", on_missing=dict.fromkeys(names, "suppress"))
    return build_attributes(together, lenient, Roles(dict.fromkeys(names, "quasi-identifier")))


def _texts(column: Column) -> pa.Array:
    return pa.array(column.texts, pa.string()).take(pa.array(column.codes))


def _same_people(both: Classes, n: int) -> np.ndarray:
    """How many people have the same values as each original record."""
    people = np.bincount(both.of_record[n:], minlength=len(both.sizes))
    return people[both.of_record[:n]]
