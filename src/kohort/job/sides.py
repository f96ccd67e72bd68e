"""A published table and its original, record by record, in codes: the input of risk and utility."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

import numpy as np
import pyarrow as pa

from kohort.data.baskets import Baskets, read_baskets
from kohort.data.column import Column, code_column
from kohort.data.counting import distinct_rows
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.job.people import weights_of
from kohort.job.publish import labelled
from kohort.problem.attribute import Attribute
from kohort.problem.units import Units, Weights
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table
from kohort.verification.people import history_of_record
from kohort.verification.reading import Covering, Reading, covering_of, read_labels

if TYPE_CHECKING:
    from kohort.release.release import Release


@dataclass(frozen=True, eq=False)
class SizeCounts:
    """How many classes there are of each size: at most sqrt(2 n) different ones, if they have n people.

    size   the different sizes, ascending
    times  how many classes have each of them
    """

    size: np.ndarray
    times: np.ndarray

    @classmethod
    def of(cls, sizes: np.ndarray) -> SizeCounts:
        """Count the sizes of classes.

        >>> SizeCounts.of(np.array([3, 2, 3])).times.tolist()
        [1, 2]
        """
        size, times = np.unique(sizes, return_counts=True)
        return cls(size.astype(np.int64), times.astype(np.int64))

    @classmethod
    def united(cls, parts: Sequence[SizeCounts]) -> SizeCounts:
        """The counts of classes that were counted in parts."""
        size, place = np.unique(np.concatenate([part.size for part in parts]), return_inverse=True)
        times = np.zeros(len(size), dtype=np.int64)
        np.add.at(times, place, np.concatenate([part.times for part in parts]))
        return cls(size, times)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.times.sum())

    @property
    def members(self) -> np.ndarray:
        """How many people (or records) are in classes of each size."""
        return self.size * self.times

    @property
    def median(self) -> float:
        """The median size of a class."""
        ends, n = np.cumsum(self.times), self.classes
        middle = np.searchsorted(ends, [(n - 1) // 2, n // 2], side="right")
        return float(self.size[middle].mean())


Side = Literal["before", "after"]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Classes:
    """Records that look alike: their codes per column, how many there are, and the class of each record.

    Of linked records: all records of people whose histories look alike; `codes` are those of one of them.
    """

    codes: np.ndarray
    sizes: np.ndarray
    of_record: np.ndarray


@dataclass(frozen=True, eq=False)
class BasketPair:
    """The baskets of a table as they were and as they are published, and the tree of their items."""

    original: Baskets
    published: Baskets
    hierarchy: Hierarchy
    m: int


@dataclass(frozen=True, eq=False)
class RecordCodes:
    """Some original records in codes, and as they are published.

    codes     per quasi-identifier the values
    labels    per quasi-identifier the labels; -1: the record was left out
    withheld  whether they are published as `*` everywhere, in no class that keeps the promise
    """

    codes: tuple[np.ndarray, ...]
    labels: tuple[np.ndarray, ...]
    withheld: np.ndarray


@dataclass(frozen=True, eq=False)
class BeforeAfter:
    """The quasi-identifiers and sensitive columns of a table, as they were and as they are published.

    rows      per published record its original; records that were left out have none
    withheld  per published record: `*` everywhere, and in no class that keeps the promise
    units     whose the original records are, and which are seen together
    weights   per original record how many people of the population it stands for
    numbers   per original record its number in the table that it is from; None: they are all records of it
    drawn_of  how many records that table has, where these were drawn from it; else None

    A table on a cluster is never here as a whole. So figures that look at single records are counted by
    `tally`: there in parts that hold whole classes, here at once.
    """

    in_parts: ClassVar[bool] = False

    attributes: tuple[Attribute, ...]
    labels: tuple[Column, ...]
    sensitive: tuple[Column, ...]
    rows: np.ndarray
    withheld: np.ndarray
    n_records: int
    baskets: BasketPair | None = None
    units: Units = field(default_factory=Units)
    weights: Weights = field(default_factory=Weights)
    numbers: np.ndarray | None = None
    drawn_of: int | None = None

    def tally(
        self, count: Callable[[BeforeAfter], T], unite: Callable[[Sequence[T]], T], *, by: Side = "after"
    ) -> T:
        """What `count` finds in the table, counted once; on a cluster, in its parts, whose counts are united.

        count  a function that can be sent to other processes
        by     whether parts hold whole classes of the original (before) or of the release (after)
        """
        tallies: dict = vars(self).setdefault("_tallies", {})
        if (count, by) not in tallies:
            tallies[count, by] = self._tally(count, unite, by)
        return tallies[count, by]

    def _tally(self, count: Callable[[BeforeAfter], T], unite: Callable[[Sequence[T]], T], by: Side) -> T:
        return unite([count(self)])

    def drawn(self) -> BeforeAfter:
        """These records or, of a table that is not here, some of them, drawn at random."""
        return self

    def codes_of_records(self, numbers: np.ndarray) -> RecordCodes:
        """The codes of original records, by their numbers from 0 on, in this order."""
        place = self.published_of[numbers]
        there = place >= 0
        return RecordCodes(
            tuple(attribute.column.codes[numbers] for attribute in self.attributes),
            tuple(np.where(there, column.codes[place], -1) for column in self.labels),
            there & self.withheld[place],
        )

    @property
    def n_published(self) -> int:
        """How many of the original records are published, the withheld ones among them."""
        return len(self.rows)

    @cached_property
    def n_withheld(self) -> int:
        """How many records are published as `*` everywhere, in no class that keeps the promise."""
        return int(self.withheld.sum())

    @property
    def n_people(self) -> int:
        """How many people the original is of."""
        return self.units.n_people(self.n_records)

    @cached_property
    def readings(self) -> list[Reading]:
        """What the published labels of each quasi-identifier mean."""
        return [read_labels(column.texts, a) for column, a in zip(self.labels, self.attributes)]

    @cached_property
    def coverings(self) -> list[Covering]:
        """What the published labels of each quasi-identifier cover."""
        return [covering_of(reading) for reading in self.readings]

    @cached_property
    def before(self) -> Classes:
        """The classes of the original table."""
        return self._classes([attribute.column.codes for attribute in self.attributes], self.n_records, None)

    @cached_property
    def after(self) -> Classes:
        """The classes of the published table, that of withheld records included."""
        return self._classes([column.codes for column in self.labels], len(self.rows), self.rows)

    def _classes(self, columns: list[np.ndarray], n_records: int, rows: np.ndarray | None) -> Classes:
        """The classes of records or, where these are linked, of histories; `rows` are the originals."""
        if not self.units.linked:
            return classes_of(columns, n_records)
        every, histories = slice(None) if rows is None else rows, self.units.histories
        persons, slots = histories.persons[every], histories.slots
        seen = [*columns, *(mark[every] for mark in histories.marks)]
        history = history_of_record(persons, None if slots is None else slots[every], seen)
        _, first = np.unique(history, return_index=True)
        return Classes(np.column_stack(columns)[first], np.bincount(history), history)

    def classes_before(self, attributes: Sequence[int]) -> Classes:
        """The classes of the original table by some of the quasi-identifiers."""
        return classes_of([self.attributes[a].column.codes for a in attributes], self.n_records)

    def classes_after(self, attributes: Sequence[int]) -> Classes:
        """The classes of the published table by some of the quasi-identifiers."""
        return classes_of([self.labels[a].codes for a in attributes], len(self.rows))

    @cached_property
    def sizes_before(self) -> np.ndarray:
        """How many people each class of the original table has: records, where everybody has one."""
        return self.units.per_class(self.before.of_record, self.before.sizes)

    @cached_property
    def sizes_after(self) -> np.ndarray:
        """How many people each class of the published table has: records, where everybody has one."""
        return self.units.per_class(self.after.of_record, self.after.sizes, self.rows)

    def kept(self, by: Side) -> np.ndarray:
        """The numbers of the classes of a side that are not withheld."""
        if by == "before":
            return np.arange(len(self.before.sizes))
        return np.setdiff1d(np.arange(len(self.after.sizes)), self.after.of_record[self.withheld])

    def least_sizes(self, by: Side) -> np.ndarray:
        """Per person the size of the smallest class that they are in, in people; 0 where all are withheld."""
        if by == "before":
            classes, sizes, persons = self.before, self.sizes_before, self.units.persons
        else:
            classes, sizes, persons = self.after, self.sizes_after, self.units.of(self.rows)
        known = np.zeros(len(sizes), dtype=bool)
        known[self.kept(by)] = True
        there = known[classes.of_record]
        unseen = np.iinfo(np.int64).max
        least = np.full(self.n_people, unseen)
        np.minimum.at(least, persons[there], sizes[classes.of_record[there]])
        return np.where(least < unseen, least, 0)

    def people_by_size(self, by: Side) -> SizeCounts:
        """How many people are in classes of each size: everybody by the smallest class that they are in."""
        least = self.least_sizes(by)
        return SizeCounts.of(least[least > 0])

    def most_frequent(self, column: Column, by: Side) -> float:
        """The share of people who have the most frequent value of a column; the withheld are not counted."""
        records = np.arange(self.n_records) if by == "before" else self.rows[~self.withheld]
        _, _, count = self.value_counts(column, classes_of([], len(records)), records)
        return float(count.max() / len(self.units.different(records)))

    def value_counts(
        self, column: Column, classes: Classes, records: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Classes, sensitive values in them, and how many people of the class have each value there.

        records  per record of the classes its original; -1: it is not counted
        """
        kept = records >= 0
        if self.units.linked:
            kept &= self.units.histories.having(column.name, records)
        return self.units.cells(classes.of_record[kept], column, records[kept], len(classes.sizes))

    @property
    def counted(self) -> str:
        """What is counted: people, or records where everybody has one."""
        return self.units.word

    @cached_property
    def published_of(self) -> np.ndarray:
        """Per original record its place in the published table; -1 if it was left out."""
        place = np.full(self.n_records, -1, dtype=np.int64)
        place[self.rows] = np.arange(len(self.rows))
        return place


def before_after(release: Release) -> BeforeAfter:
    """Read both sides of a release, the published one from the published table; `release.sides` keeps it."""
    published, rows = release.published.shown, release.published.rows
    if release.published.counterfeits:  # figures are about people
        genuine = release.original_rows >= 0
        published, rows = MemoryTable(release.arrow.filter(pa.array(genuine))), rows[genuine]
    attributes = release.problem.attributes
    labels = tuple(_labels(release, published, attribute, rows) for attribute in attributes)
    dropped = release.dataset.n_records - len(rows)
    withheld = np.zeros(len(rows), dtype=bool)
    if attributes and release.verdict.withheld > dropped:
        withheld = starred(labels)
    return BeforeAfter(
        attributes=attributes,
        labels=labels,
        sensitive=tuple(release.dataset.sensitive_column(name) for name in release.roles.having("sensitive")),
        rows=rows,
        withheld=withheld,
        n_records=release.dataset.n_records,
        baskets=_baskets(release, published),
        units=release.problem.units,
        weights=weights_of(release.dataset, release.roles),
    )


def _labels(release: Release, published: Table, attribute: Attribute, rows: np.ndarray) -> Column:
    """The labels of a column; where classes publish their means, the intervals that these stand for."""
    if release.request.publish.get(attribute.name, "interval") == "interval":
        return published.column(attribute.name)
    found = labelled(release.recoding.apply(attribute), release.recoding.withheld, null_is_star=False)
    return code_column(attribute.name, found.take(pa.array(rows)))


def classes_of(columns: list[np.ndarray], n_records: int) -> Classes:
    """The classes of records that are equal in these columns; without columns, all are one. O(n log n)."""
    codes = np.column_stack(columns) if columns else np.zeros((n_records, 0), dtype=np.int32)
    return Classes(*distinct_rows(codes))


def starred(labels: Sequence[Column]) -> np.ndarray:
    """Per record whether it is `*` in all of these columns."""
    stars = (np.array([text == STAR for text in column.texts], dtype=bool)[column.codes] for column in labels)
    return np.logical_and.reduce(list(stars))


def _baskets(release: Release, published: Table) -> BasketPair | None:
    if release.items is None:
        return None
    request = release.request.items
    assert release.request.km is not None
    shown = read_baskets(published, request.column, separator=request.separator)
    problem = release.items.problem
    if problem.confidence is not None:  # sensitive items are not known to an attacker
        shown, _ = shown.parted(problem.confidence.sensitive, multiset=problem.multiset)
    return BasketPair(problem.baskets, shown, problem.hierarchy, release.request.km.m)
