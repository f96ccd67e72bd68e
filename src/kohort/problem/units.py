"""Who the records of a table are of. Promises count these people, never records.

`Units()` is the trivial value: everybody has one record, so that counting people is counting records, and its
methods cost nothing. With households, these are counted in the place of people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from kohort.data.column import Column
from kohort.data.counting import count_pairs, distinct_rows
from kohort.data.hierarchy import Hierarchy
from kohort.problem.promises import ClassCounts, Model, PersonCells, ValueContext, ValueTree, spread_overall

Records = np.ndarray | slice
ALL = slice(None)
NOBODY = np.zeros(0, dtype=np.int64)
_NO_EVENTS = frozenset({-1})


@dataclass(frozen=True, eq=False)
class Weights:
    """How much each record counts; `Weights()`: all count the same."""

    each: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def even(self) -> bool:
        """Whether all records count the same."""
        return not len(self.each)

    def of(self, records: np.ndarray) -> Weights:
        """The weights of some records."""
        return self if self.even else Weights(self.each[records])

    def per_record(self, n_records: int) -> np.ndarray:
        """The weight of each record."""
        return np.ones(n_records) if self.even else self.each

    def scaled(self) -> Weights:
        """The same weights in another unit: 1 on average."""
        return self if self.even else Weights(self.each / self.each.mean())

    def totals(self, group_of: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """What the records of each group weigh together, given how many they are."""
        return sizes if self.even else np.bincount(group_of, self.each, minlength=len(sizes))


@dataclass(frozen=True, eq=False)
class Histories:
    """The records of each person, which a published pseudonym links; `Histories()`: records are not linked.

    persons  the number of each record's person, from 0 on without gaps
    slots    the number of each record's slot, at most one record of a person in each; None: the records of a
             person are an unordered bag
    nothing  of a table that was joined from people and their events: per record whether it stands for a
             person without events, and is the only one of that person; empty: no record does
    missing  the columns that such a record lacks: those of the events
    """

    persons: np.ndarray = field(default_factory=lambda: NOBODY)
    slots: np.ndarray | None = None
    nothing: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    missing: frozenset[str] = frozenset()

    @property
    def linked(self) -> bool:
        """Whether records are seen together."""
        return len(self.persons) > 0

    @cached_property
    def n_people(self) -> int:
        return int(self.persons.max()) + 1

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many records each person has."""
        return np.bincount(self.persons)

    @property
    def marks(self) -> list[np.ndarray]:
        """What is seen of a record besides its values: whether it stands for a person without events."""
        return [self.nothing.astype(np.int64)] if len(self.nothing) else []

    def having(self, column: str, records: np.ndarray) -> np.ndarray:
        """For each of these records whether it has a value in the column, which may be missing there."""
        if not self._lacks(column):
            return np.ones(len(records), dtype=bool)
        return ~self.nothing[records]

    def with_value(self, column: str) -> Records:
        """The records that have a value in the column."""
        return np.flatnonzero(~self.nothing) if self._lacks(column) else ALL

    def _lacks(self, column: str) -> bool:
        return len(self.nothing) > 0 and column in self.missing

    def ordered(self, leaves: Sequence[np.ndarray]) -> np.ndarray:
        """The records person by person, each person's by slot; in a bag by these leaves, the first first."""
        keys = [self.slots] if self.slots is not None else list(leaves)
        return np.lexsort([*keys[::-1], self.persons])

    def patterns(self) -> tuple[list[frozenset[int]], np.ndarray]:
        """The different patterns of slots, and the number of each person's pattern.

        A bag of n records has the pattern {0, ..., n - 1}, and a person without events has {-1}. O(n log n).
        """
        if self.slots is None:
            events = self.sizes
            if len(self.nothing):
                events = events - np.bincount(self.persons, weights=self.nothing).astype(np.int64)
            sizes, number = np.unique(events, return_inverse=True)
            return [frozenset(range(size)) or _NO_EVENTS for size in sizes.tolist()], number
        records = self.ordered(())
        first = np.cumsum(self.sizes) - self.sizes
        place = np.arange(len(records)) - np.repeat(first, self.sizes)
        slots = np.zeros((self.n_people, int(self.sizes.max())), dtype=np.int64)
        slots[self.persons[records], place] = self.slots[records] + 1  # 0: no such record
        rows, _, number = distinct_rows(slots)
        return [frozenset((row[row > 0] - 1).tolist()) for row in rows], number


@dataclass(frozen=True, eq=False)
class Units:
    """Everybody has one record. See `People` and `PeopleElsewhere` for people who have several.

    persons    the number of each record's person, from 0 on without gaps; empty where everybody has one
               record, and where they are elsewhere
    histories  the records of each person, where a published pseudonym links them
    """

    several: ClassVar[bool] = False
    """Whether people have several records, so that they are counted."""
    word: ClassVar[str] = "records"
    """What is counted."""

    persons: np.ndarray = field(default_factory=lambda: NOBODY, kw_only=True)
    histories: Histories = field(default_factory=Histories, kw_only=True)

    @property
    def linked(self) -> bool:
        """Whether the records of a person are seen together."""
        return self.histories.linked

    def n_people(self, n_records: int) -> int:
        """How many people these records, all there are, are of."""
        return n_records

    def of(self, records: np.ndarray) -> np.ndarray:
        """The number of the person of each of these records; where everybody has one record, its number."""
        return records

    def different(self, records: np.ndarray) -> np.ndarray:
        """The different people of these records."""
        return records

    def part(self, records: np.ndarray) -> Units:
        """The units of some records, which are not linked; people keep their numbers."""
        return Units()

    def per_class(self, class_of: np.ndarray, sizes: np.ndarray, records: Records = ALL) -> np.ndarray:
        """How many different people each class has.

        class_of  the class of each of these records
        sizes     how many records each class has
        """
        return sizes

    def cells(
        self, class_of: np.ndarray, column: Column, records: np.ndarray, n_classes: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Classes, values of a column in them, and how many people of the class have each value there.

        class_of  the class of each of these records; some classes may have none
        """
        return count_pairs(class_of, column.codes[records], n_classes, len(column.texts))

    def counts(
        self, model: Model, sensitive: Sensitive, class_of: np.ndarray, records: Records, n_classes: int
    ) -> ClassCounts:
        """The counts of each class that a model is to be judged by.

        sensitive  the sensitive columns, that of the model among them
        class_of   the class of each of these records; every class has at least one
        """
        if not model.attribute:
            everybody = [len(class_of)]
            return ClassCounts.of_sizes(everybody if n_classes == 1 else np.bincount(class_of))
        of = sensitive[model.attribute]
        if n_classes == 1 and isinstance(records, slice) and records == ALL and not of.column.is_part:
            there = np.flatnonzero(of.column.counts)  # known already
            counts = of.column.counts[there]
            return ClassCounts.from_cells(np.zeros(len(there)), there, counts, 1, of.n_values)
        return ClassCounts.from_records(class_of, of.column.at(records), n_classes, of.n_values)

    def as_one_class(self, model: Model, sensitive: Sensitive, n_records: int) -> ClassCounts:
        """All records as one class, as a model counts them: those that have a value in its column."""
        records = self.histories.with_value(model.attribute)
        n = n_records if isinstance(records, slice) else len(records)
        return self.counts(model, sensitive, np.zeros(n, dtype=np.int64), records, 1)

    def overall(self, column: Column) -> np.ndarray:
        """How often each value of a column occurs in the whole table, everybody counted once."""
        return column.counts


@dataclass(frozen=True, eq=False)
class People(Units):
    """People who have several records."""

    several: ClassVar[bool] = True
    word: ClassVar[str] = "people"

    persons: np.ndarray

    def n_people(self, n_records: int) -> int:
        return int(self.persons.max(initial=-1)) + 1

    def of(self, records: np.ndarray) -> np.ndarray:
        return self.persons[records]

    def different(self, records: np.ndarray) -> np.ndarray:
        return np.unique(self.persons[records])

    def part(self, records: np.ndarray) -> Units:
        return People(self.persons[records])

    def per_class(self, class_of: np.ndarray, sizes: np.ndarray, records: Records = ALL) -> np.ndarray:
        return PersonCells.from_records(class_of, self.persons[records], None, len(sizes)).people

    def cells(
        self, class_of: np.ndarray, column: Column, records: np.ndarray, n_classes: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        present, place = np.unique(class_of, return_inverse=True)
        values, n_values = column.codes[records], len(column.texts)
        having = PersonCells.from_records(
            place, self.persons[records], values, len(present), n_values
        ).having()
        return present[having.class_of], having.value_of, having.count

    def counts(
        self, model: Model, sensitive: Sensitive, class_of: np.ndarray, records: Records, n_classes: int
    ) -> ClassCounts:
        persons = self.persons[records]
        if not model.attribute:
            return ClassCounts.of_sizes(PersonCells.from_records(class_of, persons, None, n_classes).people)
        of = sensitive[model.attribute]
        cells = PersonCells.from_records(class_of, persons, of.column.at(records), n_classes, of.n_values)
        return cells.counts_for(model, of.context)

    def overall(self, column: Column) -> np.ndarray:
        return spread_overall(self.persons, column.codes, len(column.texts))


@dataclass(frozen=True, eq=False)
class PeopleElsewhere(Units):
    """People with several records of a table that is elsewhere, such as on a cluster: counted there.

    number_of_people  how many the records are of
    whole             how each model of values counts all of them as one class
    spread            for each sensitive column how many people have each value: see `spread_overall`
    """

    several: ClassVar[bool] = True
    word: ClassVar[str] = "people"

    number_of_people: int
    whole: Mapping[Model, ClassCounts] = field(default_factory=dict)
    spread: Mapping[str, np.ndarray] = field(default_factory=dict)

    def n_people(self, n_records: int) -> int:
        return self.number_of_people

    def as_one_class(self, model: Model, sensitive: Sensitive, n_records: int) -> ClassCounts:
        return self.whole[model] if model.attribute else ClassCounts.of_sizes([self.number_of_people])

    def overall(self, column: Column) -> np.ndarray:
        return self.spread[column.name]


@dataclass(frozen=True, eq=False)
class SensitiveAttribute:
    """A sensitive column; hierarchical t-closeness measures distances between its values by `hierarchy`.

    units  whose the records are, in the whole table
    """

    column: Column
    hierarchy: Hierarchy | None = None
    units: Units = field(default_factory=Units)

    @property
    def n_values(self) -> int:
        return len(self.column.texts)

    @cached_property
    def context(self) -> ValueContext:
        return ValueContext(
            labels=self.column.texts,
            order=np.arange(self.n_values) if self.column.ordered else None,
            tree=self.tree,
            overall=self.units.overall(self.column),
        )

    @property
    def tree(self) -> ValueTree | None:
        if (tree := self.hierarchy) is None:
            return None
        nodes = [int(tree.leaf_node[tree.leaf_of[text]]) for text in self.column.texts]
        return ValueTree(tree.parent, np.array(nodes), tree.level)


Sensitive = Mapping[str, SensitiveAttribute]
"""The sensitive columns by their names."""
