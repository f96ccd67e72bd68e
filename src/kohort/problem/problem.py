"""The frozen problem: quasi-identifiers, privacy models, the cost to minimise, what may be withheld."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from kohort.errors import InfeasibleError, InputError, UnsupportedError, counted
from kohort.problem.attribute import Attribute, PopulationRows
from kohort.problem.costs import Cost
from kohort.problem.encoding.coded import Coded, DistinctRows
from kohort.problem.items import ItemsProblem
from kohort.problem.promises import (
    ClassCounts,
    KAnonymity,
    LabelledClasses,
    Model,
    TableModel,
    ValueContext,
    context_of,
)
from kohort.problem.units import SensitiveAttribute, Units, Weights

MOST_ATTRIBUTES = 1_000


def refuse_many_attributes(n_attributes: int) -> None:
    """Raise UnsupportedError for more quasi-identifiers than any search can handle in reasonable time."""
    if n_attributes > MOST_ATTRIBUTES:
        raise UnsupportedError(
            f"The table has {n_attributes:,} quasi-identifiers; at most {MOST_ATTRIBUTES:,} are possible. "
            "Give this role only to columns that others may know about a person, and drop columns that "
            "nobody needs."
        )


@dataclass(frozen=True, eq=False)
class Problem:
    """Find a release of these records that satisfies every model at the least cost.

    Validates itself: a problem that exists can be solved. `suppression` is the share of records that
    may be withheld. `items` is what is asked of a column of items; without quasi-identifiers it is all there
    is. `units` says whose the records are, and which are seen together.
    `masses` says how much each record counts in the cost, 1 on average. The models count records and people,
    whatever these weigh.
    `population` is everybody whom some models compare the table with.
    """

    attributes: tuple[Attribute, ...]
    models: tuple[Model, ...]
    cost: Cost
    sensitive: Mapping[str, SensitiveAttribute] = field(default_factory=dict)
    suppression: float = 0.0
    seed: int = 0
    items: ItemsProblem | None = None
    units: Units = field(default_factory=Units)
    masses: Weights = field(default_factory=Weights)
    population: PopulationRows = field(default_factory=PopulationRows)

    def __post_init__(self) -> None:
        if self.attributes:
            self._check_table()
        elif self.items is None:
            raise InputError("There is no quasi-identifier: name at least one column that others may know.")

    def _check_table(self) -> None:
        refuse_many_attributes(len(self.attributes))
        if not 0 <= self.suppression <= 1:
            raise InputError(f"'suppression' must be a share from 0 to 1. Got {self.suppression}.")
        if not any(attribute.weight for attribute in self.attributes):
            raise InputError("All attribute weights are 0: give at least one quasi-identifier a weight.")
        if not self.models:
            raise InputError("No privacy model is asked for. Give at least k, such as privacy: {k: 10}.")
        if sum(isinstance(model, KAnonymity) for model in self.models) > 1:
            raise InputError("k-anonymity is asked for twice: keep the larger k.")
        for model in self.models:
            if model.attribute and model.attribute not in self.sensitive:
                raise InputError(
                    f"{model.name} names {model.attribute!r}, which is not a sensitive column. "
                    "Give it the role sensitive."
                )
        self._refuse_infeasible()

    @property
    def n_records(self) -> int:
        if self.attributes:
            return len(self.attributes[0].column)
        assert self.items is not None
        return len(self.items.baskets)

    @property
    def n_people(self) -> int:
        """How many people the records are of."""
        return self.units.n_people(self.n_records)

    @property
    def k(self) -> int:
        """The smallest class that k-anonymity allows; 1 where it is not asked for."""
        return max((model.k for model in self.models if isinstance(model, KAnonymity)), default=1)

    @property
    def max_withheld(self) -> int:
        """How many records may be withheld."""
        return int(Fraction(str(self.suppression)) * self.n_records)

    @property
    def tight(self) -> bool:
        """Whether groups publish the values they have instead of hierarchy nodes."""
        return bool(self.attributes) and self.attributes[0].tight

    @cached_property
    def coded(self) -> Coded:
        """The encoding that all searches share: hierarchies, costs and distinct rows as arrays."""
        return Coded(self.attributes, self.cost)

    def varied(self, **changes: Any) -> Problem:
        """A copy of the problem with some fields changed, as by `dataclasses.replace`.

        Shares the encoding where it stays the same: where neither attributes nor cost change.
        """
        other = replace(self, **changes)
        if other.attributes is self.attributes and other.cost is self.cost:
            vars(other)["coded"] = self.coded
        return other

    @property
    def weights(self) -> np.ndarray:
        """Attribute weights that add up to 1."""
        return self.coded.weights

    @property
    def leaves(self) -> np.ndarray:
        """Records by attributes: the leaf of each cell."""
        return self.coded.leaves

    @property
    def rows(self) -> DistinctRows:
        """The distinct records with their counts: most work is done on these."""
        return self.coded.rows

    def satisfied(
        self, group_of_record: np.ndarray, records: np.ndarray | slice, n_groups: int
    ) -> np.ndarray:
        """For each group of (some) records whether it satisfies every model.

        `group_of_record[i]` is the group of record `records[i]`; every group has at least one record.
        """
        holds = np.ones(n_groups, dtype=bool)
        for model in self.models:
            counts = self.counts(model, group_of_record, records, n_groups)
            holds &= model.holds(counts, self.context(model))
        return holds

    def counts(
        self, model: Model, group_of_record: np.ndarray, records: np.ndarray | slice, n_groups: int
    ) -> ClassCounts:
        """The records, or where people have several the people, of each group as the model counts them."""
        return self.units.counts(model, self.sensitive, group_of_record, records, n_groups)

    def counts_of_whole(self, model: Model) -> ClassCounts:
        """The whole table as one group, as the model counts it.

        Of linked records, those that have values in the model's column.
        """
        return self.units.as_one_class(model, self.sensitive, self.n_records)

    def context(self, model: Model) -> ValueContext:
        """What the model needs to know of its sensitive attribute."""
        return context_of(model, self.sensitive)

    @cached_property
    def row_masses(self) -> np.ndarray:
        """How much the records of each distinct row count in the cost: their number, unless they weigh."""
        return self.masses.totals(self.rows.of_record, self.rows.counts)

    def survives_unions(self, model: Model) -> bool:
        """Whether the union of two classes that keep the model always keeps it."""
        return model.survives_unions_of_people if self.units.several else model.survives_unions

    @property
    def all_survive_unions(self) -> bool:
        """Whether the union of two valid classes is always valid."""
        return all(map(self.survives_unions, self.models))

    def _refuse_infeasible(self) -> None:
        if self.k > self.n_records:
            raise InfeasibleError(
                f"k = {self.k} is impossible: the table has {counted(self.n_records, 'record')}, "
                f"so k can be at most {self.n_records}."
            )
        if self.k > self.n_people:
            raise InfeasibleError(
                f"k = {self.k} is impossible: the {self.n_records} records of the table are of "
                f"{self.n_people} people, so k can be at most {self.n_people}."
            )
        reasons = [reason for model in self.models if (reason := self._refusal(model))]
        if reasons:
            raise InfeasibleError("\n".join(f"{reason.rstrip('.')}." for reason in reasons))

    def _refusal(self, model: Model) -> str | None:
        if isinstance(model, TableModel):
            people = np.full(int(self.population.given), self.population.counts.sum())
            labels = np.zeros((1, len(self.attributes)), dtype=np.int64)
            return model.refusal_in(LabelledClasses(labels, np.array([self.n_records]), people))
        if not model.attribute and not model.by_sampling:
            return None
        whole = self.counts_of_whole(model)
        if self.survives_unions(model) or not self.units.several:
            return model.refusal(whole, self.context(model), k=self.k)
        return self._refusal_for_people(model, whole)

    def _refusal_for_people(self, model: Model, whole: ClassCounts) -> str | None:
        """Why no classes can keep a rule about shares of people, where that is certain; else None.

        All people together who have a value are in some class with it, and a class has no more people than
        records. So the share of people who have the value anywhere, over all records, is nowhere exceeded by
        all classes. Where this does not rule it out, a search has to find out.
        """
        if model.of_people != "having":
            return None
        sizes = np.array([self.n_records])
        least = ClassCounts(sizes, whole.class_of, whole.value_of, whole.count, whole.n_values)
        if model.holds(least, self.context(model)).all():
            return None
        return (
            f"{model.name} of {model.attribute!r} is impossible: {model.describe_for_people()} is asked for, "
            f"but so many of the {self.n_people} people have such a value in one of their records that they "
            f"exceed this share even among all {self.n_records} records"
        )
