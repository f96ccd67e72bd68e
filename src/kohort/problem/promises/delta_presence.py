"""delta-presence: how likely somebody of a population is to be in the table (Nergiz and others, 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from kohort.errors import InputError
from kohort.problem.promises.exact import (
    Number,
    at_most,
    exact_number,
    readable,
    rounded_down,
    rounded_up,
)
from kohort.problem.promises.table_promise import (
    LabelledClasses,
    PopulationSource,
    TableModel,
    check_population,
)


@dataclass(frozen=True)
class DeltaPresence(TableModel):
    """For everybody in the population, the chance to be in the table lies from `at_least` to `at_most`.

    The chance of somebody who fits a class is the number of its records over that of the people whom it fits,
    and 0 for somebody who fits none. Classes must not overlap: nobody may fit two.

    population : a file with the quasi-identifiers of everybody who might be in the table, or such a table

    >>> DeltaPresence("people.parquet", at_most=0.5).describe()
    'everybody in the population is in the table with a chance from 0 to 0.5'
    """

    name: ClassVar[str] = "delta-presence"
    spec_key: ClassVar[str] = "presence"
    compares_with_whole_table: ClassVar[bool] = True
    stops: ClassVar[str] = "learning that a person is in the table at all, or that they are not"
    leaves: ClassVar[str] = "what is learnt about those who are known to be in it"
    typical: ClassVar[str] = "at_most: 0.5"
    population: PopulationSource
    at_least: Number = 0
    at_most: Number = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "population", check_population("DeltaPresence", self.population))
        for name in ("at_least", "at_most"):
            value = exact_number(
                "DeltaPresence", name, getattr(self, name), "a number from 0 to 1", lambda n: 0 <= n <= 1
            )
            object.__setattr__(self, name, value)
        if Fraction(self.at_least) > Fraction(self.at_most):
            raise InputError("'at_least' of DeltaPresence must not be above 'at_most'.")

    @property
    def asked(self) -> Fraction:
        return Fraction(self.at_most)

    @property
    def _floor(self) -> Fraction:
        return Fraction(self.at_least)

    def holds_in(self, table: LabelledClasses) -> np.ndarray:
        people, most, least = table.known_people, self.asked, self._floor
        if not table.apart or (least > 0 and table.elsewhere):  # the chance of those elsewhere is 0
            return np.zeros(len(people), dtype=bool)
        below = at_most(table.sizes, most.denominator, people, most.numerator)
        return below & at_most(people, least.numerator, table.sizes, least.denominator)

    def describe(self) -> str:
        return (
            "everybody in the population is in the table with a chance from "
            f"{readable(self._floor)} to {readable(self.asked)}"
        )

    def _refusal_in(self, whole: LabelledClasses) -> str:
        share = Fraction(int(whole.sizes.sum()), max(int(whole.known_people.sum()), 1))
        limits = f"at_most must be at least {rounded_up(share)}"
        if share <= self.asked:
            limits = f"at_least can be at most {rounded_down(share)}"
        return (
            f"delta-presence from {readable(self._floor)} to {readable(self.asked)} is impossible: "
            f"{rounded_up(share)} of the population are in the table, so {limits}"
        )
