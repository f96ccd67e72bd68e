"""A quasi-identifier as a release shows it: its labels, one per original record, and what they cover."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kohort.data.column import Column, code_column
from kohort.data.domain import GeneralizedValues
from kohort.pipeline.release import Release
from kohort.problem.attribute import Attribute
from kohort.verification.covering import read_covering
from kohort.verification.reading import read_labels

__all__ = ["PublishedValues", "published_values"]


@dataclass(frozen=True, eq=False)
class PublishedValues:
    """A quasi-identifier before and after. Records that were left out of the file count as `*`."""

    attribute: Attribute
    labels: Column

    @cached_property
    def generalized(self) -> GeneralizedValues:
        """The labels as costs want them."""
        return read_labels(self.labels.texts, self.attribute).generalized()

    def spread(self) -> np.ndarray:
        """Records per original value as a reader of the release would guess them.

        Every published value is spread evenly over the original values that it covers, as nobody knows
        better. O(labels + values), and what scattered labels cover.
        """
        covering = read_covering(self.labels.texts, self.attribute)
        each = self.labels.counts / np.maximum(covering.widths, 1)
        steps = np.zeros(len(covering.rank_of_code) + 1)
        np.add.at(steps, covering.first, each)
        np.add.at(steps, covering.last + 1, -each)
        by_rank = np.cumsum(steps)
        label, rank = covering.scattered
        np.add.at(by_rank, rank, each[label])
        return by_rank[covering.rank_of_code]


def published_values(release: Release) -> list[PublishedValues]:
    """Every quasi-identifier of a release."""
    attributes = release.problem.attributes
    return [PublishedValues(a, code_column(a.name, release.columns[a.name])) for a in attributes]
