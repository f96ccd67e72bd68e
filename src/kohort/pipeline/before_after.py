"""A published table and its original, record by record, in codes: the input of risk and utility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kohort.data.basket_cells import read_baskets
from kohort.data.baskets import Baskets
from kohort.data.column import Column, code_column
from kohort.data.counting import count_pairs
from kohort.data.dataset import Dataset, distinct_rows
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.pipeline.people import weights_of
from kohort.pipeline.publish import labelled
from kohort.problem.attribute import Attribute
from kohort.problem.histories import Histories
from kohort.problem.models import PersonCells
from kohort.verification.covering import Covering, covering_of
from kohort.verification.histories import history_of_record
from kohort.verification.reading import Reading, read_labels

if TYPE_CHECKING:
    from kohort.pipeline.release import VerifiedRelease

__all__ = ["BasketPair", "BeforeAfter", "Classes", "before_after", "classes_of"]


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
class BeforeAfter:
    """The quasi-identifiers and sensitive columns of a table, as they were and as they are published.

    rows      per published record its original; records that were left out have none
    withheld  per published record: `*` everywhere, and in no class that keeps the promise
    histories the records of each person, where they are linked; else None
    persons   per original record the number of its person; None where everybody has one record
    weights   per original record how many people of the population it stands for; None where all count alike
    """

    attributes: tuple[Attribute, ...]
    labels: tuple[Column, ...]
    sensitive: tuple[Column, ...]
    rows: np.ndarray
    withheld: np.ndarray
    n_records: int
    baskets: BasketPair | None = None
    histories: Histories | None = None
    persons: np.ndarray | None = None
    weights: np.ndarray | None = None

    @property
    def n_people(self) -> int:
        """How many people the original is of."""
        return self.n_records if self.persons is None else int(self.persons.max()) + 1

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
        if self.histories is None:
            return classes_of(columns, n_records)
        every = slice(None) if rows is None else rows
        persons, slots = self.histories.persons[every], self.histories.slots
        seen = [*columns, *(mark[every] for mark in self.histories.marks)]
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
        return self._people(self.before, self.persons)

    @cached_property
    def sizes_after(self) -> np.ndarray:
        """How many people each class of the published table has: records, where everybody has one."""
        return self._people(self.after, None if self.persons is None else self.persons[self.rows])

    @staticmethod
    def _people(classes: Classes, persons: np.ndarray | None) -> np.ndarray:
        if persons is None:
            return classes.sizes
        return PersonCells.from_records(classes.of_record, persons, None, len(classes.sizes)).people

    def value_counts(
        self, column: Column, classes: Classes, records: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Classes, sensitive values in them, and how many people of the class have each value there.

        records  per record of the classes its original; -1: it is not counted
        """
        kept = records >= 0
        if self.histories is not None:
            kept &= self.histories.having(column.name, records)
        of_record, records = classes.of_record[kept], records[kept]
        n_classes, n_values = len(classes.sizes), len(column.texts)
        if self.persons is None:
            return count_pairs(of_record, column.codes[records], n_classes, n_values)
        present, number = np.unique(of_record, return_inverse=True)
        cells = PersonCells.from_records(
            number, self.persons[records], column.codes[records], len(present), n_values
        )
        having = cells.having()
        return present[having.class_of], having.value_of, having.count

    @property
    def counted(self) -> str:
        """What is counted: people, or records where everybody has one."""
        return "records" if self.persons is None else "people"

    @cached_property
    def published_of(self) -> np.ndarray:
        """Per original record its place in the published table; -1 if it was left out."""
        place = np.full(self.n_records, -1, dtype=np.int64)
        place[self.rows] = np.arange(len(self.rows))
        return place


def before_after(release: VerifiedRelease) -> BeforeAfter:
    """Read both sides of a release, the published one from the published table; `release.sides` keeps it."""
    published, rows = _genuine(release)
    attributes = release.problem.attributes
    labels = tuple(_labels(release, published, attribute, rows) for attribute in attributes)
    dropped = release.dataset.n_records - len(rows)
    withheld = np.zeros(len(rows), dtype=bool)
    if attributes and release.verdict.withheld > dropped:
        withheld = np.logical_and.reduce([_starred(column) for column in labels])
    return BeforeAfter(
        attributes=attributes,
        labels=labels,
        sensitive=tuple(release.dataset.sensitive_column(name) for name in release.roles.having("sensitive")),
        rows=rows,
        withheld=withheld,
        n_records=release.dataset.n_records,
        baskets=_baskets(release, published),
        histories=release.problem.histories,
        persons=release.problem.persons,
        weights=weights_of(release.dataset, release.roles),
    )


def _genuine(release: VerifiedRelease) -> tuple[Dataset, np.ndarray]:
    """The published records and their originals, without counterfeits: figures are about people."""
    if not release.counterfeits:
        rows = np.arange(release.dataset.n_records) if release.rows is None else release.rows
        return release.shown, rows
    originals = release.original_rows
    return Dataset(release.arrow.filter(pa.array(originals >= 0))), originals[originals >= 0]


def _labels(release: VerifiedRelease, published: Dataset, attribute: Attribute, rows: np.ndarray) -> Column:
    """The labels of a column; where classes publish their means, the intervals that these stand for."""
    if release.request.publish.get(attribute.name, "interval") == "interval":
        return published.column(attribute.name)
    found = labelled(release.recoding.apply(attribute), release.recoding.withheld, null_is_star=False)
    return code_column(attribute.name, found.take(pa.array(rows)))


def classes_of(columns: list[np.ndarray], n_records: int) -> Classes:
    """The classes of records that are equal in these columns; without columns, all are one. O(n log n)."""
    codes = np.column_stack(columns) if columns else np.zeros((n_records, 0), dtype=np.int32)
    return Classes(*distinct_rows(codes))


def _starred(column: Column) -> np.ndarray:
    return np.array([text == STAR for text in column.texts], dtype=bool)[column.codes]


def _baskets(release: VerifiedRelease, published: Dataset) -> BasketPair | None:
    if release.items is None:
        return None
    request = release.request.items
    assert request is not None and release.request.km is not None
    shown = read_baskets(published, request.column, separator=request.separator)
    problem = release.items.problem
    if problem.confidence is not None:  # sensitive items are not known to an attacker
        shown, _ = shown.parted(problem.confidence.sensitive, multiset=problem.multiset)
    return BasketPair(problem.baskets, shown, problem.hierarchy, release.request.km.m)
