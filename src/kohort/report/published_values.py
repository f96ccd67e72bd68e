"""A quasi-identifier as a release shows it: its labels, how often each is used, and what they cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kohort.data.domain import STAR
from kohort.pipeline.before_after import BeforeAfter
from kohort.problem.attribute import Attribute
from kohort.verification.covering import Covering, covering_of
from kohort.verification.reading import Reading, read_labels


@dataclass(frozen=True, eq=False)
class PublishedValues:
    """A quasi-identifier before and after. Records that were left out of the file count as `*`.

    labels  the different labels that are published
    uses    how many records have each of them
    """

    attribute: Attribute
    labels: Sequence[str | None]
    uses: np.ndarray
    reading: Reading
    covering: Covering

    def spread(self) -> np.ndarray:
        """The number of records per original value, as a reader of the release would guess it.

        Every published value is spread evenly over the original values that it covers, as nobody knows
        better. O(labels + values), and what scattered labels cover.
        """
        covering = self.covering
        each = self.uses / np.maximum(covering.widths, 1)
        steps = np.zeros(len(covering.rank_of_code) + 1)
        np.add.at(steps, covering.first, each)
        np.add.at(steps, covering.last + 1, -each)
        by_rank = np.cumsum(steps)
        label, rank = covering.scattered
        np.add.at(by_rank, rank, each[label])
        return by_rank[covering.rank_of_code]


def published_values(sides: BeforeAfter) -> list[PublishedValues]:
    """Every quasi-identifier of a release, with its published labels."""
    left_out = sides.n_records - sides.n_published
    return [_published(sides, place, left_out) for place in range(len(sides.attributes))]


def _published(sides: BeforeAfter, place: int, left_out: int) -> PublishedValues:
    attribute, column, reading = sides.attributes[place], sides.labels[place], sides.readings[place]
    if not left_out:
        return PublishedValues(attribute, column.texts, column.counts, reading, sides.coverings[place])
    labels = [*column.texts, STAR]
    reading = read_labels(labels, attribute)
    uses = np.append(column.counts, left_out)
    return PublishedValues(attribute, labels, uses, reading, covering_of(reading))
