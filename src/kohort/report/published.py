"""The records of a release as they are published: their labels, their classes, who is withheld."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from kohort.data.column import Column, code_column
from kohort.data.dataset import Dataset
from kohort.pipeline.release import Release
from kohort.problem.attribute import Attribute
from kohort.verification import published_classes
from kohort.verification.classes import PublishedClasses
from kohort.verification.reading import Reading, read_labels

__all__ = ["PublishedRecords", "PublishedValues"]


@dataclass(frozen=True, eq=False)
class PublishedValues:
    """A quasi-identifier before and after: its labels, one per record, and what each label covers."""

    attribute: Attribute
    labels: Column

    @cached_property
    def reading(self) -> Reading:
        return read_labels(self.labels.texts, self.attribute)

    def spread(self) -> np.ndarray:
        """Records per original value as a reader of the release would guess them.

        Every published value is spread evenly over the original values that it covers, as nobody knows
        better. O(labels + values).
        """
        codes = len(self.attribute.column.texts)
        uses = self.labels.counts.astype(np.float64)
        stars = self.reading.stars
        total = np.full(codes, uses[stars].sum() / codes)
        total += _over_ranges(self.reading.leaves, uses, self.attribute.leaf_of_code, ~stars)
        total += _over_ranges(self.reading.values, uses, np.arange(codes), ~stars)
        for label, members in self.reading.sets.items():
            total[members] += uses[label] / max(len(members), 1)
        return total


def _over_ranges(ranges: np.ndarray, uses: np.ndarray, place: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Spread uses evenly over the values whose place is in each range; an empty range gets nothing."""
    lo, hi = ranges[:, 0], ranges[:, 1]
    real = chosen & (lo <= hi)
    size = int(max(place.max(initial=0), hi[real].max(initial=0))) + 2
    before = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=size))])
    within = before[hi[real] + 1] - before[lo[real]]
    each = uses[real] / np.maximum(within, 1)
    steps = np.zeros(size)
    np.add.at(steps, lo[real], each)
    np.add.at(steps, hi[real] + 1, -each)
    return np.cumsum(steps)[place]


@dataclass(frozen=True, eq=False)
class PublishedRecords:
    """All records of the original, in their order, as the release shows them."""

    release: Release

    @cached_property
    def values(self) -> list[PublishedValues]:
        """Every quasi-identifier."""
        problem = self.release.problem
        attributes = () if problem is None else problem.attributes
        return [PublishedValues(a, code_column(a.name, self.release.columns[a.name])) for a in attributes]

    @cached_property
    def _classes(self) -> PublishedClasses:
        names = [values.attribute.name for values in self.values]
        table = pa.table({name: self.release.columns[name] for name in names})
        return published_classes(Dataset(table), names, ())

    @cached_property
    def withheld(self) -> np.ndarray:
        """Per record whether it is withheld."""
        n, rows = self.release.dataset.n_records, self.release.rows
        if not self.values or not self.release.verdict.withheld:
            return np.zeros(n, dtype=bool)
        if self.release.request.suppressed == "drop" and rows is not None:
            return ~np.isin(np.arange(n), rows)
        return self._classes.all_star_records

    @cached_property
    def class_of_record(self) -> np.ndarray:
        """The class of each record, numbered from 0; -1 where it is withheld."""
        if not self.values:
            return np.zeros(self.release.dataset.n_records, dtype=np.int64)
        number = self._classes.class_of_record.astype(np.int64)
        _, dense = np.unique(number[~self.withheld], return_inverse=True)
        found = np.full(len(number), -1, dtype=np.int64)
        found[~self.withheld] = dense
        return found

    @cached_property
    def sizes(self) -> np.ndarray:
        """Records in each class."""
        return np.bincount(self.class_of_record[~self.withheld])

    @cached_property
    def first_record(self) -> np.ndarray:
        """One record of each class, to read the labels of the class from."""
        kept = np.flatnonzero(~self.withheld)
        _, first = np.unique(self.class_of_record[kept], return_index=True)
        return kept[first]
