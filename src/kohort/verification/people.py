"""People behind a published table: whose record each record is, and whom of a population a class fits.

Records may be linked by a pseudonym. Then what is seen of a person is their history: the quasi-identifiers
of all their records, slot by slot; without slots, an unordered bag of records. How many records there are,
and in which slots, is a part of the history.

Shares no code with the searches, which count people in other ways.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.column import Column
from kohort.errors import counted
from kohort.problem.attribute import Attribute
from kohort.tables.table import Table
from kohort.verification.promises import OF_CLASSES, Counts, Promise, Values
from kohort.verification.promises.promise import LONG
from kohort.verification.reading import read_covering
from kohort.verification.two_files import EVENTS_OF_ALL, Eventless
from kohort.verification.verdict import Check

Promised = tuple[Promise, Column, Values]  # about the values of a column


@dataclass(frozen=True, eq=False)
class Units:
    """Whose records the published ones are: each is somebody else's, or nobody knows. Records are counted."""

    are_people: ClassVar[bool] = False
    may_withhold: ClassVar[bool] = True
    """Whether a record with `*` everywhere says nothing of anybody."""

    @property
    def persons(self) -> np.ndarray:
        """Per record a number for whose it is."""
        raise NotImplementedError

    def overall(self, column: Column) -> np.ndarray:
        """How often each value occurs in the whole table."""
        return column.counts

    def class_of_record(self, columns: Sequence[Column]) -> np.ndarray:
        """The number of each record's class: those that look alike, in the order of what is published."""
        number = np.zeros(len(columns[0]), dtype=np.int64)
        size = 1
        for column in columns:
            width = max(len(column.texts), 1)
            if size * width > 2**62:
                number = _renumbered(number)
                size = int(number.max()) + 1
            number *= width
            number += column.codes
            size *= width
        return _renumbered(number)

    def lacking(self, column: str | None) -> np.ndarray:
        """The records that have no value in a column, as everybody sees: those of people without events."""
        return np.empty(0, dtype=np.int64)

    def checks(self, class_of: np.ndarray, promised: Sequence[Promised]) -> list[Check]:
        """What else is checked, given the class of each record, and the promises about values."""
        return []

    def beside(self, genuine: np.ndarray) -> Units:
        """The same among further records, where `genuine` is False, each of which is somebody else's."""
        return self


RECORDS = Units()
"""Every record counts by itself."""


@dataclass(frozen=True, eq=False)
class Persons(Units):
    """Records of which it is known whose they are: people are counted.

    number  per record that of its person
    """

    are_people: ClassVar[bool] = True
    number: np.ndarray

    @property
    def persons(self) -> np.ndarray:
        return self.number

    def overall(self, column: Column) -> np.ndarray:
        """The people by value, everybody spread evenly over their records."""
        everybody = np.zeros(len(column), dtype=np.int64)
        counts = CountedPeople(everybody, self.number, 1).spread(column.codes, len(column.texts))
        overall = np.zeros(len(column.texts), dtype=counts.count.dtype)
        overall[counts.value_of] = counts.count
        return overall

    def beside(self, genuine: np.ndarray) -> Units:
        if genuine.all():
            return self
        found = np.empty(len(genuine), dtype=np.int64)
        found[genuine] = self.number
        found[~genuine] = int(self.number.max(initial=-1)) + 1 + np.arange(int((~genuine).sum()))
        return Persons(found)


def persons_in_release(original: Table, name: str, rows: np.ndarray | slice) -> Persons:
    """The person of each published record; records without a person count as one person's."""
    encoded = original.arrow(name).combine_chunks().dictionary_encode()
    codes = pc.fill_null(encoded.indices.cast(pa.int64()), len(encoded.dictionary))
    return Persons(codes.to_numpy(zero_copy_only=False)[rows])


@dataclass(frozen=True, eq=False)
class Histories(Units):
    """Linked records: people with the same history are a class, with all their records.

    person     the column that links the records of a person
    slots      the columns that say which of a person's records it is: one, or none
    eventless  the records of people without events, where people and events were joined
    """

    are_people: ClassVar[bool] = True
    may_withhold: ClassVar[bool] = False  # a history of stars still shows the number of records
    person: Column
    slots: Sequence[Column]
    eventless: Eventless

    @property
    def persons(self) -> np.ndarray:
        return self.person.codes

    def class_of_record(self, columns: Sequence[Column]) -> np.ndarray:
        seen = [column.codes for column in (*self.slots, *columns)]
        if self.eventless.records.any():
            seen.append(self.eventless.records.astype(np.int64))
        return history_of_record(self.person.codes, None, seen)

    def lacking(self, column: str | None) -> np.ndarray:
        return self.eventless.lacking(column)

    def checks(self, class_of: np.ndarray, promised: Sequence[Promised]) -> list[Check]:
        """Check that records are linked as they should be, and the models in every slot by itself.

        Every published record has a pseudonym, and nobody two records in a slot. Whoever knows a person's
        history may look at one slot of it.
        """
        person = self.person
        missing = int(person.counts[-1]) if person.has_null else 0
        good = f"Every record has a pseudonym in {person.name!r}."
        bad = f"{counted(missing, 'record has', 'records have')} no pseudonym in {person.name!r}."
        checks = [Check.of("linked records", missing, good, bad)]
        for slot in self.slots:
            pairs = person.codes.astype(np.int64) * len(slot.texts) + slot.codes
            twice = len(pairs) - len(np.unique(pairs))
            good = f"Nobody has two records in one slot of {slot.name!r}."
            bad = (
                f"{counted(twice, 'record is', 'records are')} in the same slot of {slot.name!r} as another "
                "one of the same person."
            )
            checks.append(Check.of("slots", twice, good, bad))
        for slot in self.slots if promised else ():
            cells = class_of * len(slot.texts) + slot.codes
            broken = [about[0].name for about in promised if not self._holds_in(cells, *about)]
            good = "The models of sensitive values hold in every slot of every history by itself."
            bad = f"In some slot of some history, {', '.join(broken)} does not hold among the records there."
            checks.append(Check.of("models slot by slot", broken, good, bad))
        return checks

    def _holds_in(self, cells: np.ndarray, promise: Promise, column: Column, values: Values) -> bool:
        present = np.ones(len(cells), dtype=bool)
        present[self.lacking(promise.attribute)] = False
        if not present.any():
            return True
        there, number = np.unique(cells[present], return_inverse=True)
        counts = Counts.of_records(number, column.codes[present], len(there), len(values.texts))
        return bool(OF_CLASSES[promise.name](promise, counts, values).holds.all())


def linked(
    published: Table, person: str, slot: str | None, eventless: Eventless = EVENTS_OF_ALL
) -> Histories:
    """The histories of a table whose records are linked by a column."""
    names = [person] if slot is None else [person, slot]
    published.require(names)
    column, *slots = map(published.column, names)
    return Histories(column, slots, eventless)


def history_of_record(
    persons: np.ndarray, slots: np.ndarray | None, columns: Sequence[np.ndarray]
) -> np.ndarray:
    """For each record a number for the history of its person, from 0 on; equal histories have the same.

    columns  the quasi-identifiers in codes

    Records are numbered by what is seen of them; a history is the sorted numbers of a person's records.
    O(n log n), and Python touches each person once.
    """
    seen = np.zeros(len(persons), dtype=np.int64)
    for codes in columns if slots is None else [slots, *columns]:
        _, seen = np.unique(seen * (int(codes.max()) + 1) + codes, return_inverse=True)
    order = np.lexsort([seen, persons])
    starts = np.flatnonzero(np.diff(persons[order], prepend=-1))
    ends = np.append(starts[1:], len(order))
    in_order = np.ascontiguousarray(seen[order])
    number_of: dict[bytes, int] = {}
    history = np.empty(len(order), dtype=np.int64)
    for start, end in zip(starts.tolist(), ends.tolist()):
        key = in_order[start:end].tobytes()
        history[order[start:end]] = number_of.setdefault(key, len(number_of))
    return history


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


@dataclass(frozen=True, eq=False)
class CountedPeople:
    """Published records with their classes and persons, and the people that models ask for.

    class_of, person_of  per record
    """

    class_of: np.ndarray
    person_of: np.ndarray
    n_classes: int

    @cached_property
    def n_people(self) -> int:
        """How many people the published records are of."""
        return int(np.count_nonzero(np.bincount(self.person_of)))

    @cached_property
    def in_classes(self) -> np.ndarray:
        """How many different people each class has."""
        number, _ = _distinct_pairs(self.class_of, self.person_of)
        return np.bincount(number, minlength=self.n_classes)

    def counts_for(self, promise: Promise, values: Values, codes: np.ndarray) -> Counts:
        """The people of each class by value, as a promise looks at them.

        Each is spread over their records there, or counts for every value that they have in any of them: once
        for values that the promise does not tell apart, as alpha those that it does not list.
        """
        n_values = len(values.texts)
        if promise.spreads_people:
            return self.spread(codes, n_values)
        counted_as = np.arange(max(n_values, 1))
        if (listed := promise.parameters.get("values")) is not None:
            bounded = np.array(values.codes(listed), dtype=np.int64)
            others = np.setdiff1d(counted_as, bounded)
            counted_as[others] = others[:1]
            if promise.parameters.get("combine", True):
                counted_as[bounded] = bounded[:1]
        return self.having(counted_as[codes], n_values)

    def having(self, values: np.ndarray, n_values: int) -> Counts:
        """How many people of each class have each value in any of their records there."""
        cell_of = self.class_of * max(n_values, 1) + values
        cell, _ = _distinct_pairs(cell_of, self.person_of)
        starts = np.flatnonzero(np.diff(cell, prepend=-1))
        count = np.diff(np.append(starts, len(cell)))
        number, value = np.divmod(cell[starts], max(n_values, 1))
        return Counts(self.in_classes, number, value, count, n_values)

    def spread(self, values: np.ndarray, n_values: int) -> Counts:
        """The people of each class by value, every one spread evenly over their records there."""
        share_of = self._records_of_person_in_class()
        parts: dict[tuple[int, int], int] = defaultdict(int)
        multiple: dict[int, int] = defaultdict(lambda: 1)
        cells = _counted(self.class_of, values, share_of)
        for (number, _, records), _ in cells:
            multiple[number] = lcm(multiple[number], records)
        for (number, value, records), times in cells:
            parts[number, value] += times * (multiple[number] // records)
        found = sorted(parts.items())
        people = self.in_classes
        sizes = [int(people[number]) * multiple[number] for number in range(self.n_classes)]
        places = np.array([place for place, _ in found], dtype=np.int64).reshape(-1, 2)
        return Counts(
            _whole(sizes), places[:, 0], places[:, 1], _whole([count for _, count in found]), n_values
        )

    def _records_of_person_in_class(self) -> np.ndarray:
        """Per record how many records its person has in its class."""
        order = np.lexsort((self.person_of, self.class_of))
        person, number = self.person_of[order], self.class_of[order]
        ends = np.append(np.flatnonzero((np.diff(person) != 0) | (np.diff(number) != 0)), len(order) - 1)
        lengths = np.diff(np.append(-1, ends))
        found = np.empty(len(order), dtype=np.int64)
        found[order] = np.repeat(lengths, lengths)
        return found


def _distinct_pairs(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct pairs of two columns of numbers, sorted; overflow is ruled out by renumbering."""
    width = int(right.max(initial=0)) + 1
    if (int(left.max(initial=0)) + 1) * width > 2**62:
        names, place = np.unique(left, return_inverse=True)
        pairs = _distinct_pairs(place, right)
        return names[pairs[0]], pairs[1]
    keys = np.sort(left * width + right)
    kept = np.ones(len(keys), dtype=bool)
    kept[1:] = keys[1:] != keys[:-1]
    return np.divmod(keys[kept], width)


def _counted(*columns: np.ndarray) -> list[tuple[tuple[int, ...], int]]:
    """The distinct rows of some columns, and how often each occurs."""
    names = [f"column {place}" for place in range(len(columns))]
    table = pa.table([*columns, np.ones(len(columns[0]), dtype=np.int64)], names=[*names, "times"])
    rows = table.group_by(names, use_threads=False).aggregate([("times", "sum")])
    keys = zip(*(rows[name].to_pylist() for name in names))
    return list(zip(keys, rows["times_sum"].to_pylist()))


def _whole(numbers: list[int]) -> np.ndarray:
    """Numbers in 64 bits, or as Python's integers if their sum does not fit."""
    return np.array(numbers, dtype=np.int64 if sum(numbers) <= LONG else object)


class Fitting(NamedTuple):
    """How many people each class fits, how many fit none, and whether nobody fits two."""

    people: np.ndarray
    elsewhere: int
    apart: bool


def people_fitting(
    columns: Sequence[Column], codes: Sequence[np.ndarray], population: Sequence[Attribute]
) -> Fitting:
    """Count the people of a population whom the labels of each class cover in every column.

    columns     the published quasi-identifiers
    codes       per column the code of each class
    population  the same columns of the population, with the hierarchies that say what labels mean

    O(people * columns) where no value is covered by two labels; else O(people * classes * columns) bits.
    """
    covers = [
        read_covering(column.texts, attribute).covers(np.arange(len(attribute.column.texts)))
        for column, attribute in zip(columns, population)
    ]
    everybody, counts = np.unique(
        np.column_stack([attribute.column.codes for attribute in population]), axis=0, return_counts=True
    )
    if all((covered.sum(axis=1) <= 1).all() for covered in covers):
        return _by_their_only_labels(covers, everybody, counts, np.column_stack(codes))
    people = np.zeros(len(codes[0]), dtype=np.int64)
    times = np.zeros(len(everybody), dtype=np.int64)
    packed = [  # per column and label a bit for each person: whether it covers their value
        np.array([np.packbits(of_label[values]) for of_label in covered.T])
        for covered, values in zip(covers, everybody.T)
    ]
    for number, labels in enumerate(zip(*codes)):
        fitting = np.bitwise_and.reduce([bits[label] for bits, label in zip(packed, labels)])
        fits = np.flatnonzero(np.unpackbits(fitting, count=len(everybody)))
        people[number] = counts[fits].sum()
        times[fits] += 1
    return Fitting(people, int(counts[times == 0].sum()), apart=bool((times <= 1).all()))


def _by_their_only_labels(
    covers: Sequence[np.ndarray], everybody: np.ndarray, counts: np.ndarray, classes: np.ndarray
) -> Fitting:
    """Where a value has one label at most, a person fits the class with their labels, if there is one."""
    labels = [np.where(c.any(axis=1), c.argmax(axis=1), -1)[values] for c, values in zip(covers, everybody.T)]
    rows = np.concatenate([classes, np.column_stack(labels)])
    _, number = np.unique(rows, axis=0, return_inverse=True)
    number = number.ravel()
    fitting = np.bincount(number[len(classes) :], weights=counts, minlength=int(number.max()) + 1)
    people = fitting[number[: len(classes)]].astype(np.int64)
    return Fitting(people, int(counts.sum() - people.sum()), apart=True)
