"""Columns as an adversary sees them: the labels of published records, and the original values under each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kohort.data.column import Column
from kohort.pipeline.before_after import BeforeAfter
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
