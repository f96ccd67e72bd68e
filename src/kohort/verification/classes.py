"""The classes of a published table: records that look alike in every quasi-identifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.data.counting import stretches_of
from kohort.data.domain import STAR
from kohort.errors import UnsupportedError
from kohort.problem.attribute import Attribute
from kohort.verification.class_keys import Cells, ClassKeys
from kohort.verification.people import CountedPeople, people_fitting
from kohort.verification.promises import (
    OF_CLASSES,
    OF_TABLES,
    AllClasses,
    Counts,
    Judged,
    Promise,
    Values,
)
from kohort.verification.verdict import Check


@dataclass(frozen=True, eq=False)
class PublishedClasses:
    """The equivalence classes of a published table, and the promises judged in each.

    Classes are numbered in the order of their published values.

    sensitive  the columns that promises are about; values: what is known of the values of each
    persons  per record a number for whose it is; None where that is not known, or need not be: then records
             are counted
    population  the same quasi-identifiers of everybody, where promises compare with them
    """

    columns: Sequence[Column]
    sensitive: Mapping[str, Column]
    values: Mapping[str, Values] = field(default_factory=dict)
    persons: np.ndarray | None = None
    population: Sequence[Attribute] | None = None

    @cached_property
    def _keys(self) -> ClassKeys | None:
        """The classes as sorted numbers; None where people are counted, or columns are too many for that."""
        widest = max((len(column.texts) for column in self.sensitive.values()), default=1)
        keys = ClassKeys(self.columns)
        return keys if self.persons is None and keys.fit(widest) else None

    @cached_property
    def _cells(self) -> list[tuple[Column | None, Cells]]:
        """Columns, and how often their values occur in the classes, as far as somebody asked for that."""
        return []

    def _counted(self, column: Column | None) -> Cells:
        assert self._keys is not None
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
        if self._keys is not None and self._keys.fit(len(column.texts)):
            self._counted(column)

    @cached_property
    def class_of_record(self) -> np.ndarray:
        """The number of each record's class."""
        number = np.zeros(len(self.columns[0]), dtype=np.int64)
        size = 1
        for column in self.columns:
            width = max(len(column.texts), 1)
            if size * width > 2**62:
                number = _renumbered(number)
                size = int(number.max()) + 1
            number *= width
            number += column.codes
            size *= width
        return _renumbered(number)

    @cached_property
    def sizes(self) -> np.ndarray:
        return np.bincount(self.class_of_record) if self._keys is None else self._classes.sizes

    @cached_property
    def counted_people(self) -> CountedPeople | None:
        """The people behind the records; None where they are not known."""
        if self.persons is None:
            return None
        return CountedPeople(self.class_of_record, self.persons, len(self.sizes))

    @cached_property
    def people(self) -> np.ndarray | None:
        """How many different people each class has; None where they are not known."""
        return None if self.counted_people is None else self.counted_people.in_classes

    @cached_property
    def _codes(self) -> list[np.ndarray]:
        """Per column the code of each class: that of any of its records."""
        if self._keys is not None:
            return self._keys.codes(self._classes.keys)
        record = np.empty(len(self.sizes), dtype=np.int64)
        record[self.class_of_record] = np.arange(len(self.class_of_record))
        return [column.codes[record] for column in self.columns]

    @cached_property
    def labelled_classes(self) -> AllClasses:
        """All classes with their labels and, where a population is given, with the people whom they fit."""
        labels = np.column_stack(self._codes).astype(np.int64)
        if self.population is None:
            return AllClasses(labels, self.sizes)
        of_name = {attribute.name: attribute for attribute in self.population}
        everybody = [of_name[column.name] for column in self.columns]
        return AllClasses(labels, self.sizes, *people_fitting(self.columns, self._codes, everybody))

    @cached_property
    def all_star(self) -> np.ndarray:
        """Per class whether it is published as `*` everywhere (at most one is)."""
        star = np.ones(len(self.sizes), dtype=bool)
        for column, codes in zip(self.columns, self._codes):
            star &= _stars(column)[codes]
        return star

    @cached_property
    def all_star_records(self) -> np.ndarray:
        """Per record whether it is published as `*` everywhere."""
        star = np.ones(len(self.columns[0]), dtype=bool)
        for column in self.columns:
            of_code = _stars(column)
            for rows in stretches_of(len(star)):
                star[rows] &= of_code[column.at(rows)]
        return star

    def how_many(self, chosen: np.ndarray) -> int:
        """How many people have a record in the chosen classes; records, where people are not known.

        Somebody with records in several of them counts once.
        """
        if self.persons is None:
            return int(self.sizes[chosen].sum())
        there = np.zeros(int(self.persons.max()) + 1, dtype=bool)
        there[self.persons[chosen[self.class_of_record]]] = True
        return int(there.sum())

    def lacking(self, column: str | None) -> np.ndarray | None:
        """Per record whether it has no value in the column, as everybody sees; None: every record has.

        Only records that stand for people without events do.
        """
        return None

    def having(self, column: str | None) -> np.ndarray:
        """Per class whether its records have values in the column: all of a class have, or none."""
        there = np.ones(len(self.sizes), dtype=bool)
        if (lacking := self.lacking(column)) is not None:
            there[self.class_of_record[lacking]] = False
        return there

    def counts(self, promise: Promise) -> Counts:
        """How often each sensitive value occurs in each class: in records, or where they are known people.

        Of classes that have values in the column, which the result numbers from 0 on.
        """
        if promise.attribute is None:
            return Counts(self.sizes if self.people is None else self.people)
        column = self.sensitive[promise.attribute]
        if self.counted_people is None:
            return self.counts_of(column)
        people, codes = self._people_with(column)
        return people.counts_for(promise, self.values[promise.attribute], codes)

    def counts_of(self, column: Column) -> Counts:
        """How often each value of a column occurs in each class that has any; in people, who have it."""
        n_values = len(column.texts)
        if self.counted_people is not None:
            people, codes = self._people_with(column)
            return people.having(codes, n_values)
        if self._keys is not None and self._keys.fit(n_values):
            found = self._counted(column)
            return Counts(found.sizes, found.number, found.value, found.count, n_values)
        return Counts.of_records(self.class_of_record, column.codes, len(self.sizes), n_values)

    def _people_with(self, column: Column) -> tuple[CountedPeople, np.ndarray]:
        """The people with a value in the column, and the codes of their values."""
        assert self.counted_people is not None and self.persons is not None
        lacking = self.lacking(column.name)
        if lacking is None or not lacking.any():
            return self.counted_people, column.codes
        present, number = np.unique(self.class_of_record[~lacking], return_inverse=True)
        return CountedPeople(number, self.persons[~lacking], len(present)), column.codes[~lacking]

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
        return []

    def labelled(self, chosen: np.ndarray, extra: Mapping[str, Sequence]) -> pa.Table:
        """A table of the `chosen` classes: their published values, their sizes and the `extra` columns."""
        table = {
            column.name: [column.texts[code] for code in codes[chosen]]
            for column, codes in zip(self.columns, self._codes)
        }
        arrays = {name: pa.array(texts, pa.string()) for name, texts in table.items()}
        people = {} if self.people is None else {"class_people": self.people[chosen]}
        for name, values in {"class_size": self.sizes[chosen], **people, **extra}.items():
            while name in table:  # a quasi-identifier has this name
                name += "_"
            arrays[name] = pa.array(values)
        return pa.table(arrays)


def _renumbered(keys: np.ndarray) -> np.ndarray:
    """Keys as numbers from 0 on without gaps, in the same order.

    By a hash table of Arrow's, which works in a forked process, too. Those of Polars do not: they would wait
    for threads that the process does not have.
    """
    encoded = pa.array(keys).dictionary_encode()
    order = np.argsort(encoded.dictionary.to_numpy(), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[encoded.indices.to_numpy()]


def _stars(column: Column) -> np.ndarray:
    return np.array([text == STAR for text in column.texts], dtype=bool)
