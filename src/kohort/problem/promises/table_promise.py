"""Promises about a whole published table: they look at the labels of its classes, and at a population."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kohort.errors import InputError, InternalError
from kohort.problem.promises.class_counts import ClassCounts
from kohort.problem.promises.promise import NO_CONTEXT, Model, ValueContext
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table


@dataclass(frozen=True, eq=False)
class LabelledClasses:
    """All classes of a published table, with what is published of them.

    labels      classes by quasi-identifiers: the number of the label that a class has in each column
    sizes       records of each class
    people      of the population, how many each class fits; None where no population is given
    elsewhere   how many people of the population fit no class
    apart       whether nobody of the population fits two classes
    """

    labels: np.ndarray
    sizes: np.ndarray
    people: np.ndarray | None = None
    elsewhere: int = 0
    apart: bool = True

    @property
    def known_people(self) -> np.ndarray:
        """The people of the population whom each class fits; raises where no population is given."""
        if self.people is None:
            raise InternalError("The population that a promise compares with is needed.")
        return self.people


class TableModel(Model):
    """A promise that depends on all classes at once, or on a population that they are compared with.

    `survives_unions` says of these whether a table that keeps the promise still does where all values of a
    column are published at a higher level of its hierarchy. Searches over such levels meet them; other
    algorithms meet those that have an `enough_k`, by a search for a k.
    """

    of_table: ClassVar[bool] = True
    attribute = None

    @abstractmethod
    def holds_in(self, table: LabelledClasses) -> np.ndarray:
        """For each class, whether it keeps the promise; decided exactly where the rule is rational."""

    def refusal_in(self, whole: LabelledClasses) -> str | None:
        """Why no recoding can keep the promise, and what is possible; None if all records as one class do."""
        return None if self.holds_in(whole).all() else self._refusal_in(whole)

    @abstractmethod
    def _refusal_in(self, whole: LabelledClasses) -> str: ...

    def holds(self, counts: ClassCounts, context: ValueContext = NO_CONTEXT) -> np.ndarray:
        raise InternalError(f"{self.name} is a promise about a whole table, not about single classes.")

    def _refusal(self, whole_table: ClassCounts, context: ValueContext) -> str:
        raise InternalError(f"{self.name} is a promise about a whole table, not about single classes.")


@dataclass(frozen=True, eq=False)
class Population:
    """A table with the quasi-identifiers of everybody; `name` says in a certificate where it came from."""

    table: Table
    name: str

    def __str__(self) -> str:
        return self.name


PopulationSource = Any
"""A file that has not been read yet, by its name; a `Population`; or a table of pandas, Polars or PyArrow."""


def check_population(model: str, population: object) -> str | Population:
    """The population as a model holds it: the name of a file, or a table."""
    if isinstance(population, Population):
        return population
    if isinstance(population, str) or population is None:
        if not population:
            raise InputError(f"The 'population' parameter of {model} must name a file, or be a table.")
        return population
    try:
        return Population(MemoryTable(population), "a table in memory")
    except InputError:
        raise InputError(f"The 'population' parameter of {model} must name a file, or be a table.") from None
