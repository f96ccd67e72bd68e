"""A published table to look people up in, or parts of what is known of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kohort.data.column import Column
from kohort.pipeline.before_after import BeforeAfter, Classes, classes_of
from kohort.risk.class_index import ClassIndex
from kohort.verification.covering import Covering


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
