"""People behind a published table: whose record each record is, whom of a population a class fits.

Shares no code with the searches, which count people in other ways.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.column import Column
from kohort.problem.attribute import Attribute
from kohort.tables.table import Table
from kohort.verification.covering import read_covering
from kohort.verification.promises import Counts, Promise, Values
from kohort.verification.promises.exact import LONG


def persons_in_release(original: Table, name: str, rows: np.ndarray | slice) -> np.ndarray:
    """A number for the person of each published record; records without a person count as one person's."""
    encoded = original.arrow(name).combine_chunks().dictionary_encode()
    codes = pc.fill_null(encoded.indices.cast(pa.int64()), len(encoded.dictionary))
    return codes.to_numpy(zero_copy_only=False)[rows]


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
    return _one_class_at_a_time(covers, everybody, counts, codes)


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


def _one_class_at_a_time(
    covers: Sequence[np.ndarray], everybody: np.ndarray, counts: np.ndarray, codes: Sequence[np.ndarray]
) -> Fitting:
    people = np.zeros(len(codes[0]), dtype=np.int64)
    times = np.zeros(len(everybody), dtype=np.int64)
    packed = [_bits(covered, values) for covered, values in zip(covers, everybody.T)]
    for number, labels in enumerate(zip(*codes)):
        fitting = packed[0][labels[0]]
        for bits, label in zip(packed[1:], labels[1:]):
            fitting = fitting & bits[label]
        fits = np.flatnonzero(np.unpackbits(fitting, count=len(everybody)))
        people[number] = counts[fits].sum()
        times[fits] += 1
    return Fitting(people, int(counts[times == 0].sum()), apart=bool((times <= 1).all()))


def _bits(covered: np.ndarray, values: np.ndarray) -> np.ndarray:
    """For each label a bit per person: whether it covers their value."""
    return np.array([np.packbits(of_label[values]) for of_label in covered.T])
