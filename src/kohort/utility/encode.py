"""Columns as expected indicators: a generalized value counts for each value it covers, by equal shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kohort.data.column import Column
from kohort.pipeline.before_after import BeforeAfter


@dataclass(frozen=True, eq=False)
class Encoded:
    """A column of records: the label of each, and what share of each group of values a label stands for."""

    name: str
    labels: np.ndarray
    shares: np.ndarray

    def features(self, records: np.ndarray) -> np.ndarray:
        """The share of each group in each record."""
        return self.shares[self.labels[records]]


def group_values(column: Column, most: int) -> np.ndarray:
    """For each value of a column its group: numbers by quantiles, the most frequent others by themselves.

    A missing value is a group of its own. At most `most` groups. O(values log values).
    """
    n = len(column.texts) - int(column.has_null)
    room = most - int(column.has_null)
    if n <= room:
        return np.arange(len(column.texts))
    counts = column.counts[:n]
    if column.ordered:
        middle = np.cumsum(counts) - counts / 2
        groups = np.minimum((middle * room / counts.sum()).astype(np.int64), room - 1)
        groups = np.unique(groups, return_inverse=True)[1]
    else:
        rank = np.empty(n, dtype=np.int64)
        rank[np.argsort(-counts, kind="stable")] = np.arange(n)
        groups = np.minimum(rank, room - 1)
    return np.append(groups, groups.max() + 1) if column.has_null else groups


def original_side(sides: BeforeAfter, most: int) -> list[Encoded]:
    """The quasi-identifiers and sensitive columns as they were, over original records."""
    columns = [*(attribute.column for attribute in sides.attributes), *sides.sensitive]
    return [Encoded(column.name, column.codes, _indicators(column, most)) for column in columns]


def published_side(sides: BeforeAfter, most: int) -> list[Encoded]:
    """The quasi-identifiers and sensitive columns as they are published, over published records."""
    quasi = [
        Encoded(attribute.name, labels.codes, covering.shares(_indicators(attribute.column, most)))
        for attribute, labels, covering in zip(sides.attributes, sides.labels, sides.coverings)
    ]
    sensitive = [
        Encoded(column.name, column.codes[sides.rows], _indicators(column, most))
        for column in sides.sensitive
    ]
    return quasi + sensitive


def _indicators(column: Column, most: int) -> np.ndarray:
    groups = group_values(column, most)
    return np.eye(int(groups.max()) + 1, dtype=np.float64)[groups]
