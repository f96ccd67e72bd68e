"""k-map: every published class fits at least k people of a population (Sweeney, 2002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kohort.problem.promises.exact import whole_number
from kohort.problem.promises.table_promise import (
    LabelledClasses,
    PopulationSource,
    TableModel,
    check_population,
)


@dataclass(frozen=True)
class KMap(TableModel):
    """At least k people of the population fit the labels of every class, whether in the table or not.

    population : a file with the quasi-identifiers of everybody who might be in the table, or such a table

    >>> KMap("people.parquet", 5).describe()
    'every class fits at least 5 people of the population'
    """

    name: ClassVar[str] = "k-map"
    spec_key: ClassVar[str] = "k_map"
    stops: ClassVar[str] = "finding the record of a person, by somebody who does not know who is in the table"
    leaves: ClassVar[str] = "whoever knows that a person is in the table: ask for k instead"
    typical: ClassVar[str] = "k: 5"
    population: PopulationSource
    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "population", check_population("KMap", self.population))
        object.__setattr__(self, "k", whole_number("KMap", "k", self.k, least=1))

    @property
    def enough_k(self) -> int:
        return self.k  # the records of a class are people whom it fits

    def holds_in(self, table: LabelledClasses) -> np.ndarray:
        return table.known_people >= self.k

    def describe(self) -> str:
        return f"every class fits at least {self.k} people of the population"

    def _refusal_in(self, whole: LabelledClasses) -> str:
        n = int(whole.known_people.sum())
        return f"k = {self.k} of k-map is impossible: the population has {n} people, so k can be at most {n}"
