"""How often each sensitive value occurs in each class, and among how many people: what every model judges.

Where a person may have several records, every model counts people. Each model looks at the people of a class
in one of two ways, which its trait `of_people` names:

having  a value counts the people who have it in any of their records in the class. A person with two values
        counts for both, so that shares may add up to more than 1: the safe side.
spread  every person counts once, spread evenly over their records in the class: of somebody with two records
        there, half a person has the value of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kohort.errors import InternalError
from kohort.problem.promises.exact import INT64_MAX

if TYPE_CHECKING:
    from kohort.problem.promises.promise import Model, ValueContext

DENSE_CELLS_PER_RECORD = 4
"""Up to here a table of all classes x values is counted faster than the records are sorted."""


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """How often each sensitive value occurs in each class, nonzero cells only, sorted by class.

    >>> counts = ClassCounts.from_records([0, 0, 1, 1, 1], [2, 2, 0, 2, 0], n_classes=2, n_values=3)
    >>> counts.largest
    array([2, 2])
    """

    sizes: np.ndarray  # int64 [classes], records per class, all > 0
    class_of: np.ndarray  # [cells], ascending; integers of any width, as those of the next two
    value_of: np.ndarray  # [cells], ascending inside a class
    count: np.ndarray  # [cells], > 0
    n_values: int

    @classmethod
    def from_records(
        cls, class_of_record: np.ndarray, value_of_record: np.ndarray, n_classes: int, n_values: int
    ) -> ClassCounts:
        """Count the records of each class by value; every class has at least one."""
        keys = _keys(class_of_record, value_of_record, n_classes, n_values)
        if n_classes * n_values <= DENSE_CELLS_PER_RECORD * len(keys):
            table = np.bincount(keys, minlength=n_classes * n_values)
            found = np.flatnonzero(table)
            return cls._from_sorted(found, table[found], n_classes, n_values)
        found, count = np.unique(keys, return_counts=True)
        return cls._from_sorted(found, count, n_classes, n_values)

    @classmethod
    def from_cells(
        cls, class_of: np.ndarray, value_of: np.ndarray, count: np.ndarray, n_classes: int, n_values: int
    ) -> ClassCounts:
        """Sum counts given in any order, also several or zero for the same class and value."""
        keys, count = _keys(class_of, value_of, n_classes, n_values), np.asarray(count)
        count = count if count.dtype == object else count.astype(np.int64, copy=False)
        if len(count) and count.min() <= 0:
            if count.min() < 0:
                raise InternalError("ClassCounts: a count is negative.")
            keys, count = keys[count != 0], count[count != 0]
        if not (keys[1:] > keys[:-1]).all():
            order = np.argsort(keys)
            keys, count = keys[order], count[order]
            first = np.flatnonzero(np.diff(keys, prepend=-1))
            keys, count = keys[first], np.add.reduceat(count, first)
        return cls._from_sorted(keys, count, n_classes, n_values)

    @classmethod
    def of_sizes(cls, sizes: np.ndarray | Sequence[int]) -> ClassCounts:
        """Classes of which only the number of records is known: enough for k-anonymity."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(np.asarray(sizes, dtype=np.int64), nothing, nothing, nothing, 0)

    @classmethod
    def _from_sorted(cls, keys: np.ndarray, count: np.ndarray, n_classes: int, n_values: int) -> ClassCounts:
        class_of = keys // max(n_values, 1)
        distinct = np.bincount(class_of, minlength=n_classes)
        if not distinct.all():
            raise InternalError("ClassCounts: a class has no records. Number only classes that occur.")
        sizes = np.add.reduceat(count, _starts(distinct))
        return cls(sizes, class_of, keys - class_of * n_values, count, n_values)

    @property
    def n_classes(self) -> int:
        return len(self.sizes)

    @cached_property
    def distinct(self) -> np.ndarray:
        """The number of different values in each class."""
        if self.class_of.dtype == np.int64:
            return np.bincount(self.class_of, minlength=self.n_classes)
        ends = np.searchsorted(
            self.class_of, np.arange(self.n_classes, dtype=self.class_of.dtype), side="right"
        )
        return np.diff(ends, prepend=0)  # without a wider copy of all cells

    @cached_property
    def starts(self) -> np.ndarray:
        """The first cell of each class, as np.ufunc.reduceat takes it."""
        return _starts(self.distinct)

    @cached_property
    def largest(self) -> np.ndarray:
        """The records of the most frequent value in each class."""
        return np.maximum.reduceat(self.count, self.starts)

    def overall(self) -> np.ndarray:
        """The records of each value in all classes together."""
        totals = np.bincount(self.value_of, weights=self.count, minlength=self.n_values)
        return totals.astype(np.int64)  # floats hold whole numbers exactly up to 2**53

    def recoded(self, new_value: np.ndarray, n_values: int) -> ClassCounts:
        """The counts after replacing every value by new_value[value]; equal ones are counted together."""
        return ClassCounts.from_cells(
            self.class_of, new_value[self.value_of], self.count, self.n_classes, n_values
        )

    def pieces(self, cells: int) -> Iterator[ClassCounts]:
        """Runs of classes of at most this many cells (or a single class), so that work fits in memory."""
        ends = self.starts + self.distinct
        first = 0
        while first < self.n_classes:
            fitting = int(np.searchsorted(ends, self.starts[first] + cells, side="right"))
            last = max(fitting, first + 1)
            here = slice(self.starts[first], ends[last - 1])
            sizes, class_of = self.sizes[first:last], self.class_of[here] - first
            yield ClassCounts(sizes, class_of, self.value_of[here], self.count[here], self.n_values)
            first = last


def _keys(class_of: np.ndarray, value_of: np.ndarray, n_classes: int, n_values: int) -> np.ndarray:
    """One number per (class, value) that sorts by class, then by value."""
    class_of, value_of = np.asarray(class_of, dtype=np.int64), np.asarray(value_of, dtype=np.int64)
    for codes, n in ((class_of, n_classes), (value_of, n_values)):
        if len(codes) and not 0 <= codes.min() <= codes.max() < n:
            raise InternalError("ClassCounts: a class or value code lies outside its range.")
    return class_of * n_values + value_of


def _starts(distinct: np.ndarray) -> np.ndarray:
    return np.cumsum(distinct) - distinct


@dataclass(frozen=True, eq=False)
class PersonCells:
    """How many records of each class, person and sensitive value there are, nonzero cells only.

    Cells are sorted by class, then by person, then by value. Every class has at least one.

    >>> cells = PersonCells.from_records([0, 0, 0, 1], [5, 5, 2, 5], [1, 0, 1, 1], n_classes=2, n_values=2)
    >>> cells.people
    array([2, 1])
    >>> cells.having().count  # in class 0, person 5 has both values, and person 2 has value 1
    array([1, 2, 1])
    >>> spread = cells.spread()
    >>> spread.count[:2] / spread.sizes[0]  # person 5 is spread over both
    array([0.25, 0.75])
    """

    class_of: np.ndarray
    person_of: np.ndarray
    value_of: np.ndarray
    records: np.ndarray
    n_classes: int
    n_values: int

    @classmethod
    def from_records(
        cls,
        class_of_record: np.ndarray,
        person_of_record: np.ndarray,
        value_of_record: np.ndarray | None,
        n_classes: int,
        n_values: int = 1,
        counts: np.ndarray | None = None,
    ) -> PersonCells:
        """Count records, or cells of `counts` records each. Without values, all are the same. O(n log n)."""
        persons = np.asarray(person_of_record, dtype=np.int64)
        n_people = int(persons.max(initial=-1)) + 1
        key = np.asarray(class_of_record, dtype=np.int64) * n_people + persons
        if value_of_record is not None:
            key = key * n_values + value_of_record
        keys, place, times = np.unique(key, return_inverse=True, return_counts=True)
        if counts is not None:
            times = np.bincount(place, weights=counts, minlength=len(keys)).astype(np.int64)
        pair, value = np.divmod(keys, n_values)
        class_of, person_of = np.divmod(pair, n_people)
        return cls(class_of, person_of, value, times, n_classes, n_values)

    @cached_property
    def _first_of_person(self) -> np.ndarray:
        """The cells that are the first ones of a person in a class."""
        new = np.ones(len(self.class_of), dtype=bool)
        new[1:] = (np.diff(self.class_of) != 0) | (np.diff(self.person_of) != 0)
        return np.flatnonzero(new)

    @cached_property
    def people(self) -> np.ndarray:
        """How many different people each class has."""
        return np.bincount(self.class_of[self._first_of_person], minlength=self.n_classes)

    def counts_for(self, model: Model, context: ValueContext) -> ClassCounts:
        """The counts of people that a model is to be judged by."""
        if not model.attribute:
            return ClassCounts.of_sizes(self.people)
        return self.spread() if model.of_people == "spread" else self.having(counted_as(model, context))

    def having(self, representative: np.ndarray | None = None) -> ClassCounts:
        """The people of each class, and how many of them have each value there.

        representative  per value another one, or itself, that it is not distinguished from: a person who has
                        one of them or several counts once
        """
        values = self.value_of if representative is None else representative[self.value_of]
        person = np.cumsum(np.bincount(self._first_of_person, minlength=len(values))) - 1  # within a class
        pairs = np.unique(person * self.n_values + values)
        class_of = self.class_of[self._first_of_person][pairs // self.n_values]
        ones = np.ones(len(pairs), dtype=np.int64)
        counts = ClassCounts.from_cells(class_of, pairs % self.n_values, ones, self.n_classes, self.n_values)
        return ClassCounts(self.people, counts.class_of, counts.value_of, counts.count, self.n_values)

    def spread(self) -> ClassCounts:
        """The people of each class by value, each spread evenly over their records, in exact numbers.

        A person counts as many units as the least common multiple of all numbers of records that people have
        in the class, so that every record counts a whole number of them.
        """
        first = self._first_of_person
        times = np.diff(np.append(first, len(self.records)))
        of_person = np.repeat(np.add.reduceat(self.records, first), times)
        cells = (self.class_of, self.value_of, of_person, np.ones_like(of_person), self.records)
        return PeopleTally(*cells, self.n_classes, self.n_values).spread()


@dataclass(frozen=True, eq=False)
class PeopleTally:
    """The people of classes by value, where their records are elsewhere: as many numbers for any many people.

    People who have as many records in a class, of whatever values, are added up. Every class has at least one
    cell.

    of_person  how many records each person of a cell has in the class
    people     how many people there are that have the value
    records    in how many of their records they have it
    """

    class_of: np.ndarray
    value_of: np.ndarray
    of_person: np.ndarray
    people: np.ndarray
    records: np.ndarray
    n_classes: int
    n_values: int

    def having(self, in_class: np.ndarray) -> ClassCounts:
        """How many people of each class have each value; `in_class` is how many each class has."""
        found = ClassCounts.from_cells(
            self.class_of, self.value_of, self.people, self.n_classes, self.n_values
        )
        return ClassCounts(in_class, found.class_of, found.value_of, found.count, self.n_values)

    def spread(self) -> ClassCounts:
        """The people of each class by value, each spread evenly over their records: see `PersonCells`."""
        n_people = int(self.people.sum())
        units = _common_multiples(self.class_of, self.of_person, self.n_classes, n_people)
        share = self.records.astype(units.dtype) * (units[self.class_of] // self.of_person)
        return ClassCounts.from_cells(self.class_of, self.value_of, share, self.n_classes, self.n_values)


def counted_as(model: Model, context: ValueContext) -> np.ndarray:
    """Per value the one that stands for it where a model counts people: the first that it treats alike.

    Where people are spread over their values, each stands for itself.
    """
    if model.of_people == "spread":
        return np.arange(len(context.labels))
    return representatives(model.distinguishes(context))


def representatives(distinguished: np.ndarray) -> np.ndarray:
    """Per value the first one that is not distinguished from it."""
    _, first, number = np.unique(distinguished, return_index=True, return_inverse=True)
    return first[number]


def _common_multiples(class_of: np.ndarray, numbers: np.ndarray, n_classes: int, n_people: int) -> np.ndarray:
    """The least common multiple of the numbers of each class; Python integers where they may be huge."""
    pairs = np.unique(np.column_stack([class_of, numbers]), axis=0)
    starts = np.searchsorted(pairs[:, 0], np.arange(n_classes))
    largest = np.add.reduceat(np.log2(pairs[:, 1]), starts).max()
    many = np.log2(max(n_people, 1))
    kind = np.int64 if largest + many < 62 else object
    return np.lcm.reduceat(pairs[:, 1].astype(kind), starts)


def spread_overall(persons: np.ndarray, values: np.ndarray, n_values: int) -> np.ndarray:
    """How often each value occurs in a whole table if every person is spread evenly over their records.

    In units of a common multiple; Python integers where these may be huge.
    """
    nowhere = np.zeros(len(persons), dtype=np.int64)
    counts = PersonCells.from_records(nowhere, persons, values, 1, n_values).spread()
    overall = np.zeros(n_values, dtype=counts.count.dtype)
    overall[counts.value_of] = counts.count
    return overall if int(overall.sum()) <= INT64_MAX else overall.astype(object)
