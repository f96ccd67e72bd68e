"""The classes of a published table: records that look alike in every quasi-identifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.data.counting import stretches_of
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, UnsupportedError
from kohort.problem.attribute import Attribute
from kohort.tables.table import Table
from kohort.verification.people import RECORDS, CountedPeople, Units, people_fitting
from kohort.verification.promises import (
    OF_CLASSES,
    OF_TABLES,
    AllClasses,
    Counts,
    Judged,
    Promise,
    Stated,
    Values,
    stated,
)
from kohort.verification.verdict import Check

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def published_classes(
    published: Table,
    quasi_identifiers: Sequence[str],
    models: Sequence[Stated | Promise],
    *,
    hierarchies: Mapping[str, Hierarchy] = _NOTHING,
    orders: Mapping[str, Sequence[str]] = _NOTHING,
    units: Units = RECORDS,
    population: Sequence[Attribute] = (),
    overall: Mapping[str, np.ndarray] = _NOTHING,
) -> PublishedClasses:
    """The classes of a published table and the sensitive columns that the models look at.

    units       whose the records are, where that is known
    population  the quasi-identifiers of everybody whom promises compare the table with
    overall     of a part of a table: per sensitive column the people of the whole table by value
    """
    if not quasi_identifiers:
        raise InputError("There is no quasi-identifier: name at least one column that others may know.")
    published.require(list(quasi_identifiers))
    sensitive, values = {}, {}
    for name in sorted({p.attribute for p in stated(models) if p.attribute is not None}):
        column = published.sensitive_column(name)
        if name in orders:
            column = column.in_order(orders[name])
        sensitive[name] = column
        whole = overall[name] if name in overall else units.overall(column)
        values[name] = Values(column.texts, whole, column.ordered, hierarchies.get(name))
    columns = [published.column(name) for name in quasi_identifiers]
    return PublishedClasses(columns, sensitive, values, units, population)


@dataclass(frozen=True, eq=False)
class PublishedClasses:
    """The equivalence classes of a published table, and the promises judged in each.

    Classes are numbered in the order of their published values, histories in that of their first records.

    sensitive   the columns that promises are about; values: what is known of the values of each
    units       whose the records are: people are counted where that is known
    population  the same quasi-identifiers of everybody, where promises compare with them
    """

    columns: Sequence[Column]
    sensitive: Mapping[str, Column] = field(default_factory=dict)
    values: Mapping[str, Values] = field(default_factory=dict)
    units: Units = RECORDS
    population: Sequence[Attribute] = ()

    @cached_property
    def _keys(self) -> ClassKeys:
        return ClassKeys(self.columns)

    @cached_property
    def _sorted(self) -> bool:
        """Whether classes are counted as sorted numbers: not people, nor where columns are too many."""
        widest = max((len(column.texts) for column in self.sensitive.values()), default=1)
        return not self.units.are_people and self._keys.fit(widest)

    @cached_property
    def _cells(self) -> list[tuple[Column | None, Cells]]:
        """Columns, and how often their values occur in the classes, as far as somebody asked for that."""
        return []

    def _counted(self, column: Column | None) -> Cells:
        for known, cells in self._cells:
            if known is column:
                return cells
        self._cells.append((column, self._keys.cells(column)))
        return self._cells[-1][1]

    @cached_property
    def _classes(self) -> Cells:
        """The classes in order, counted together with the values of a sensitive column if there is one."""
        if self._cells:
            return self._cells[0][1]
        return self._counted(next(iter(self.sensitive.values()), None))

    def count_with(self, column: Column) -> None:
        """Count the classes together with the values of a column that will be asked for: in one sort."""
        if self._sorted and self._keys.fit(len(column.texts)):
            self._counted(column)

    @cached_property
    def class_of_record(self) -> np.ndarray:
        """The number of each record's class."""
        return self.units.class_of_record(self.columns)

    @cached_property
    def sizes(self) -> np.ndarray:
        return self._classes.sizes if self._sorted else np.bincount(self.class_of_record)

    @cached_property
    def counted_people(self) -> CountedPeople:
        """The people behind the records, where people are counted."""
        return CountedPeople(self.class_of_record, self.units.persons, len(self.sizes))

    @cached_property
    def members(self) -> np.ndarray:
        """How many different people each class has, or records, if these are counted."""
        return self.counted_people.in_classes if self.units.are_people else self.sizes

    @cached_property
    def _codes(self) -> list[np.ndarray]:
        """Per column the code of each class: that of any of its records."""
        if self._sorted:
            return self._keys.codes(self._classes.keys)
        record = np.empty(len(self.sizes), dtype=np.int64)
        record[self.class_of_record] = np.arange(len(self.class_of_record))
        return [column.codes[record] for column in self.columns]

    @cached_property
    def labelled_classes(self) -> AllClasses:
        """All classes with their labels and, where a population is given, with the people whom they fit."""
        labels = np.column_stack(self._codes).astype(np.int64)
        if not self.population:
            return AllClasses(labels, self.sizes)
        of_name = {attribute.name: attribute for attribute in self.population}
        everybody = [of_name[column.name] for column in self.columns]
        return AllClasses(labels, self.sizes, *people_fitting(self.columns, self._codes, everybody))

    @cached_property
    def all_star(self) -> np.ndarray:
        """Per class whether it is `*` everywhere, so that it may count as withheld: one at most is."""
        star = np.full(len(self.sizes), self.units.may_withhold)
        for column, codes in zip(self.columns, self._codes if self.units.may_withhold else ()):
            star &= _stars(column)[codes]
        return star

    @cached_property
    def all_star_records(self) -> np.ndarray:
        """The same per record."""
        star = np.full(len(self.columns[0]), self.units.may_withhold)
        for column in self.columns if self.units.may_withhold else ():
            of_code = _stars(column)
            for rows in stretches_of(len(star)):
                star[rows] &= of_code[column.at(rows)]
        return star

    def how_many(self, column: str, chosen: np.ndarray) -> int:
        """How many people, or records, there are in the chosen of the classes with values in a column.

        Somebody with records in several of them counts once.
        """
        among = self.having(column)
        among[among] = chosen
        if not self.units.are_people:
            return int(self.sizes[among].sum())
        return int(np.count_nonzero(np.bincount(self.units.persons[among[self.class_of_record]])))

    def having(self, column: str | None) -> np.ndarray:
        """Per class whether its records have values in the column: all of a class have, or none."""
        there = np.ones(len(self.sizes), dtype=bool)
        if len(lacking := self.units.lacking(column)):
            there[self.class_of_record[lacking]] = False
        return there

    def counts(self, promise: Promise) -> Counts:
        """How often each sensitive value occurs in each class: in records, or where they are known people.

        Of classes that have values in the column, which the result numbers from 0 on.
        """
        if promise.attribute is None:
            return Counts(self.members)
        column = self.sensitive[promise.attribute]
        if not self.units.are_people:
            return self.counts_of(column)
        people, codes = self._people_with(column)
        return people.counts_for(promise, self.values[promise.attribute], codes)

    def counts_of(self, column: Column) -> Counts:
        """How often each value of a column occurs in each class that has any; in people, who have it."""
        n_values = len(column.texts)
        if self.units.are_people:
            people, codes = self._people_with(column)
            return people.having(codes, n_values)
        if self._sorted and self._keys.fit(n_values):
            found = self._counted(column)
            return Counts(found.sizes, found.number, found.value, found.count, n_values)
        return Counts.of_records(self.class_of_record, column.codes, len(self.sizes), n_values)

    def _people_with(self, column: Column) -> tuple[CountedPeople, np.ndarray]:
        """The people with a value in the column, and the codes of their values."""
        lacking = self.units.lacking(column.name)
        if not len(lacking):
            return self.counted_people, column.codes
        there = np.delete(np.arange(len(self.class_of_record)), lacking)
        present, number = np.unique(self.class_of_record[there], return_inverse=True)
        return CountedPeople(number, self.units.persons[there], len(present)), column.codes[there]

    def judged(self, promise: Promise, counts: Counts) -> Judged:
        """What is found of a promise; a class without values in its column has nothing to keep.

        counts  as `counts` returns them, of the classes that have values
        """
        if promise.name in OF_TABLES:
            return OF_TABLES[promise.name](promise, self.labelled_classes)
        if promise.name not in OF_CLASSES:
            raise UnsupportedError(
                f"Verification has no definition of the model {promise.name!r}, so it cannot be promised. "
                f"Choose from: {', '.join([*OF_CLASSES, *OF_TABLES])}."
            )
        values = Values() if promise.attribute is None else self.values[promise.attribute]
        found = OF_CLASSES[promise.name](promise, counts, values)
        having = self.having(promise.attribute)
        holds = ~having
        holds[having] = found.holds
        return Judged(found.asked, holds, lambda chosen: found.worst(chosen[having]))

    def own_checks(self, promises: Sequence[Promise]) -> list[Check]:
        """Checks of what else the promises need; none where records are not linked."""
        if not self.units.are_people:
            return []
        about = [(p, p.attribute) for p in promises if p.attribute is not None]
        known = [(p, self.sensitive[name], self.values[name]) for p, name in about]
        return self.units.checks(self.class_of_record, known)

    def labelled(self, chosen: np.ndarray, extra: Mapping[str, Sequence]) -> pa.Table:
        """A table of the `chosen` classes: their published values, their sizes and the `extra` columns."""
        arrays = {
            column.name: pa.array([column.texts[code] for code in codes[chosen]], pa.string())
            for column, codes in zip(self.columns, self._codes)
        }
        people = {"class_people": self.members[chosen]} if self.units.are_people else {}
        for name, values in {"class_size": self.sizes[chosen], **people, **extra}.items():
            while any(name == column.name for column in self.columns):
                name += "_"
            arrays[name] = pa.array(values)
        return pa.table(arrays)


def _stars(column: Column) -> np.ndarray:
    return np.array([text == STAR for text in column.texts], dtype=bool)


_LARGEST = 2**62
_AT_ONCE = 1 << 22  # records that are sorted at a time
_SAMPLED = 1 << 14
_SHORT = 2**15
_MOST_CUTS = 255  # the number of a part fits into a byte


@dataclass(frozen=True, eq=False)
class Cells:
    """The classes of a table in order, and how often each value of another column occurs in each.

    keys, sizes  of each class
    number, value, count  per cell that is not empty: its class, its value and how many records have it;
                          in as few bytes as they need, since there may be a cell for nearly every record
    """

    keys: np.ndarray
    sizes: np.ndarray
    number: np.ndarray
    value: np.ndarray
    count: np.ndarray


@dataclass(frozen=True, eq=False)
class ClassKeys:
    """Numbers for the classes of a table: equal for records that look alike, in the order of their codes."""

    columns: Sequence[Column]

    def fit(self, n_values: int) -> bool:
        """Whether a class and one of so many values fit into one number."""
        widths = (max(len(column.texts), 1) for column in self.columns)
        return prod(widths, start=max(n_values, 1)) <= _LARGEST  # of any length, as Python's integers are

    def cells(self, values: Column | None = None) -> Cells:
        """Count the records of each class, and of each value of another column in it. O(n log n).

        Numbers are sorted in parts of which each lies above the one before. They are made twice where there
        are several parts, so that those of one part are held at a time.
        """
        keyed = [*self.columns, *([] if values is None else [values])]
        n_records, n_values = len(self.columns[0]), 1 if values is None else max(len(values.texts), 1)
        limits = _limits(keyed, n_values, n_records // _AT_ONCE)
        part = np.zeros(n_records if limits else 0, dtype=np.uint8)
        for rows in stretches_of(len(part)):
            part[rows] = np.searchsorted(limits, _numbers(keyed, rows), side="right")
        columns: list[list[np.ndarray]] = [[] for _ in fields(Cells)]
        for number in range(len(limits) + 1):
            keys = _numbers(keyed, np.flatnonzero(part == number) if limits else slice(None))
            keys.sort()
            for column, found in zip(columns, _counted(keys, n_values, sum(map(len, columns[0])))):
                column.append(found)
        joined = []
        for column in columns:
            joined.append(np.concatenate(column))
            column.clear()  # whose memory is needed
        return Cells(*joined)

    def codes(self, keys: np.ndarray) -> list[np.ndarray]:
        """Per column the code of each class."""
        found = []
        for column in reversed(self.columns):
            keys, code = np.divmod(keys, max(len(column.texts), 1))
            found.append(code.astype(np.int32))
        return found[::-1]


def _numbers(columns: Sequence[Column], rows: slice | np.ndarray) -> np.ndarray:
    """A number for each of these records, in the order of their codes in the columns."""
    key = columns[0].at(rows).astype(np.int64)
    for column in columns[1:]:
        key *= max(len(column.texts), 1)
        key += column.at(rows)
    return key


def _limits(columns: Sequence[Column], n_values: int, n_cuts: int) -> list[int]:
    """Numbers that cut all records into parts of about the same size; they lie between classes."""
    if not n_cuts:
        return []
    sample = np.linspace(0, len(columns[0]) - 1, _SAMPLED).astype(np.int64)
    keys = np.sort(_numbers(columns, sample)) // n_values * n_values
    places = np.linspace(0, len(keys) - 1, min(n_cuts, _MOST_CUTS) + 2)[1:-1].astype(np.int64)
    return sorted({int(key) for key in keys[places] if key > 0})


def _counted(keys: np.ndarray, n_values: int, first_class: int) -> tuple[np.ndarray, ...]:
    """The fields of `Cells` of sorted numbers; classes are counted from `first_class` on."""
    of_cell = _starts(keys)
    cell, count = keys[of_cell], np.diff(np.append(of_cell, len(keys)))
    of_class = cell // n_values
    cell -= of_class * n_values
    first = _starts(of_class)
    number = np.repeat(
        np.arange(first_class, first_class + len(first), dtype=np.int32), np.diff(np.append(first, len(cell)))
    )
    return (
        of_class[first],
        np.add.reduceat(count, first) if len(cell) else count,
        number,
        cell.astype(np.int16 if n_values < _SHORT else np.int32),
        count.astype(np.int32 if len(keys) < 2**31 else np.int64),
    )


def _starts(keys: np.ndarray) -> np.ndarray:
    """Where the runs of equal numbers begin in a sorted list."""
    return np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else keys
