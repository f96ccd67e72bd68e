"""A population table that promises compare a release with: everybody whose record might be in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kohort.data.dataset import Dataset
from kohort.errors import InputError

__all__ = ["Population", "PopulationSource", "check_population"]


@dataclass(frozen=True, eq=False)
class Population:
    """A table with the quasi-identifiers of everybody; `name` says in a certificate where it came from."""

    table: Dataset
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
        return Population(Dataset(population), "a table in memory")
    except InputError:
        raise InputError(f"The 'population' parameter of {model} must name a file, or be a table.") from None
