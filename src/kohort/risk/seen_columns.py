"""What an adversary sees: the labels of published records, and a table to look people up in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kohort.data.column import Column
from kohort.job.sides import BeforeAfter, Classes, classes_of
from kohort.risk.linkage import ClassIndex
from kohort.verification.covering import Covering

if TYPE_CHECKING:
    from kohort.release.release import Release


@dataclass(frozen=True, eq=False)
class SeenColumn:
    """A column of published records, and that of all original records.

    labels        per published record the number of its label
    ranks         per original record its value, as a rank
    first, last   per label the ranks it covers, where they are a range
    list_of       per label the row of `listed` that says what it covers, -1: it is a range
    listed        for the other labels: per rank whether it is covered
    """

    name: str
    labels: np.ndarray
    ranks: np.ndarray
    first: np.ndarray
    last: np.ndarray
    list_of: np.ndarray
    listed: np.ndarray


class LabelIndex:
    """The original records that each label of a column covers, found without looking at the others.

    covered  per label how many they are
    """

    def __init__(self, column: SeenColumn) -> None:
        self._column = column
        self._order = np.argsort(column.ranks, kind="stable")
        in_order = column.ranks[self._order]
        self._start = np.searchsorted(in_order, column.first, side="left")
        self._end = np.searchsorted(in_order, column.last, side="right")
        self.covered = np.maximum(self._end - self._start, 0)
        for label in np.flatnonzero(column.list_of >= 0):
            self.covered[label] = int(column.listed[column.list_of[label]][column.ranks].sum())

    def records(self, label: int) -> np.ndarray:
        """The records that the label covers."""
        row = self._column.list_of[label]
        if row >= 0:
            return np.flatnonzero(self._column.listed[row][self._column.ranks])
        return self._order[self._start[label] : self._end[label]]

    def covers(self, label: int, records: np.ndarray) -> np.ndarray:
        """For each of these records whether the label covers it."""
        c, ranks = self._column, self._column.ranks[records]
        row = c.list_of[label]
        return c.listed[row][ranks] if row >= 0 else (c.first[label] <= ranks) & (ranks <= c.last[label])


def quasi_identifiers(sides: BeforeAfter) -> list[SeenColumn]:
    """The quasi-identifiers as they are published."""
    return [
        _covered(attribute.name, labels.codes, attribute.column.codes, covering)
        for attribute, labels, covering in zip(sides.attributes, sides.labels, sides.coverings)
    ]


def _covered(name: str, labels: np.ndarray, codes: np.ndarray, covering: Covering) -> SeenColumn:
    label, rank = covering.scattered
    rows = np.unique(label)
    list_of = np.full(covering.n_labels, -1, dtype=np.int64)
    list_of[rows] = np.arange(len(rows))
    listed = np.zeros((max(len(rows), 1), len(covering.rank_of_code)), dtype=bool)
    for row, number in enumerate(rows):
        listed[row, covering.first[number] : covering.last[number] + 1] = True
    listed[list_of[label], rank] = True
    ranks = covering.rank_of_code[codes].astype(np.int64)
    return SeenColumn(name, labels.astype(np.int64), ranks, covering.first, covering.last, list_of, listed)


def unchanged(column: Column, rows: np.ndarray) -> SeenColumn:
    """A column that is published as it is; `rows` are the originals of the published records."""
    codes = np.asarray(column.codes, dtype=np.int64)
    values = np.arange(len(column.texts), dtype=np.int64)
    nothing = np.full(len(values), -1, dtype=np.int64), np.zeros((1, 1), dtype=bool)
    return SeenColumn(column.name, codes[rows], codes, values, values, *nothing)


def as_it_was(columns: Sequence[Column]) -> list[SeenColumn]:
    """Columns of an original that is published as it is."""
    return [unchanged(column, np.arange(len(column))) for column in columns]


def drawn_targets(sides: BeforeAfter, most: int, rng: np.random.Generator) -> np.ndarray:
    """Original records that are published and not withheld, drawn at random."""
    published = np.sort(sides.rows[~sides.withheld])
    if len(published) <= most:
        return published
    return np.sort(rng.choice(published, most, replace=False))


def other_columns(release: Release) -> list[Column]:
    """The columns that are published as they are: sensitive and insensitive ones, without items."""
    untouched = release.roles.untouched(release.request.treatments)
    names = [name for name in untouched if release.roles.of[name] in ("sensitive", "insensitive")]
    return [release.dataset.column(name) for name in names]


@dataclass(frozen=True, eq=False)
class Lookups:
    """A published table, and what is known of everybody.

    labels     per column and published record the label
    coverings  what the labels of each column cover
    known      per column and original record the value
    record_of  per original record its published one; -1: it has none
    persons    per original record whose it is; None where everybody has one record
    """

    labels: Sequence[np.ndarray]
    coverings: Sequence[Covering]
    known: Sequence[np.ndarray]
    record_of: np.ndarray
    persons: np.ndarray | None = None

    @cached_property
    def classes(self) -> Classes:
        """The published records that look alike."""
        return classes_of(list(self.labels), len(self.labels[0]))

    def own_classes(self, person: int) -> np.ndarray:
        """The classes of the published records of somebody, given by an original record of theirs."""
        mine = [person] if self.persons is None else np.flatnonzero(self.persons == self.persons[person])
        records = self.record_of[mine]
        return self.classes.of_record[records[records >= 0]]

    def fitting(self, columns: Sequence[int], people: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of people, and for each of them the classes that fit what is known in these columns."""
        part = Classes(self.classes.codes[:, columns], self.classes.sizes, self.classes.of_record)
        index = ClassIndex(part, [self.coverings[c] for c in columns])
        return index.fitting([self.known[c][people] for c in columns])

    def records_that_fit(self, people: np.ndarray) -> list[np.ndarray]:
        """For each of these people the published records that fit all that is known of them."""
        order = np.argsort(self.classes.of_record, kind="stable")
        ends = np.cumsum(self.classes.sizes)
        starts = ends - self.classes.sizes
        found = []
        for _, fits in self.fitting(range(len(self.labels)), people):
            for row in fits:
                runs = [order[starts[c] : ends[c]] for c in np.flatnonzero(row)]
                found.append(np.concatenate(runs) if runs else order[:0])
        return found


def of_original(sides: BeforeAfter) -> Lookups:
    """The original as if it were published."""
    codes = [attribute.column.codes for attribute in sides.attributes]
    coverings = [_itself(attribute.column) for attribute in sides.attributes]
    return Lookups(codes, coverings, codes, np.arange(sides.n_records), sides.persons)


def _itself(column: Column) -> Covering:
    """Labels that are values: each covers itself."""
    values = np.arange(len(column.texts))
    return Covering(values, values, values, np.zeros((2, 0), dtype=np.int64))


def of_release(sides: BeforeAfter) -> Lookups:
    """The release."""
    known = [attribute.column.codes for attribute in sides.attributes]
    labels = [column.codes for column in sides.labels]
    return Lookups(labels, sides.coverings, known, sides.published_of, sides.persons)
