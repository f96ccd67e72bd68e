"""What each published label covers among the values of its column: for adversaries and for analysts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kohort.errors import InputError, counted
from kohort.problem.attribute import Attribute
from kohort.verification.reading import Reading, read_labels


@dataclass(frozen=True, eq=False)
class Covering:
    """Per label the values that it covers: a range of ranks or, where they are scattered, a list of them.

    Values are ranked in the order of the hierarchy's leaves, else in their natural order, so that nearly
    every label is a range. `scattered` holds pairs of a label and a rank for the others.
    """

    rank_of_code: np.ndarray
    first: np.ndarray
    last: np.ndarray
    scattered: np.ndarray

    @classmethod
    def exact(cls, n_values: int) -> Covering:
        """The covering of labels that are the values themselves."""
        every = np.arange(n_values)
        return cls(every, every, every, np.zeros((2, 0), dtype=np.int64))

    @property
    def n_labels(self) -> int:
        return len(self.first)

    @cached_property
    def widths(self) -> np.ndarray:
        """How many values each label covers."""
        return self.totals(np.ones(len(self.rank_of_code)))

    def totals(self, weight_of_code: np.ndarray) -> np.ndarray:
        """Per label the sum of the weights of the values it covers; weights may have several columns."""
        by_rank = np.zeros(weight_of_code.shape)
        by_rank[self.rank_of_code] = weight_of_code
        before = np.concatenate([np.zeros((1, *by_rank.shape[1:])), np.cumsum(by_rank, axis=0)])
        total = before[self.last + 1] - before[self.first]
        label, rank = self.scattered
        np.add.at(total, label, by_rank[rank])
        return total

    def shares(self, weight_of_code: np.ndarray) -> np.ndarray:
        """The mean weight of the values that each label covers: every one of them is as likely."""
        totals = self.totals(weight_of_code)
        widths = np.maximum(self.widths, 1)
        return totals / (widths if totals.ndim == 1 else widths[:, None])

    @cached_property
    def code_of_rank(self) -> np.ndarray:
        return np.argsort(self.rank_of_code, kind="stable")

    @cached_property
    def listed(self) -> tuple[np.ndarray, np.ndarray]:
        """The ranks of scattered values, label by label, and where those of each label begin and end."""
        label, rank = self.scattered
        order = np.argsort(label, kind="stable")
        return rank[order], np.searchsorted(label[order], np.arange(self.n_labels + 1))

    def codes_of(self, label: int) -> np.ndarray:
        """The values that a label covers."""
        ranks, starts = self.listed
        scattered = ranks[starts[label] : starts[label + 1]]
        return self.code_of_rank[np.append(np.arange(self.first[label], self.last[label] + 1), scattered)]

    def extremes(self, by_code: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Per label the least and the greatest number of the values it covers; NaN where none has one."""
        by_rank = np.append(by_code[self.code_of_rank], np.nan)
        order = np.argsort(self.first, kind="stable")
        ends = np.column_stack([self.first, self.last + 1])[order].ravel()
        label, rank = self.scattered
        found = np.empty((2, self.n_labels))
        for each, best in zip(found, (np.fmin, np.fmax)):
            each[order] = best.reduceat(by_rank, ends)[::2]
            each[self.first > self.last] = np.nan
            best.at(each, label, by_rank[rank])
        return found[0], found[1]

    def covers(self, codes: np.ndarray) -> np.ndarray:
        """For each of these distinct values and each label, whether the label covers the value."""
        ranks = self.rank_of_code[codes]
        covered = (self.first <= ranks[:, None]) & (ranks[:, None] <= self.last)
        row_of_rank = np.full(len(self.rank_of_code), -1)
        row_of_rank[ranks] = np.arange(len(ranks))
        label, rank = self.scattered
        asked = row_of_rank[rank] >= 0
        covered[row_of_rank[rank[asked]], label[asked]] = True
        return covered


def read_covering(labels: Sequence[str | None], attribute: Attribute) -> Covering:
    """Read the distinct labels of one published column; a label that means nothing is refused.

    O(values log values + labels), and what scattered labels cover.
    """
    return covering_of(read_labels(labels, attribute))


def covering_of(reading: Reading) -> Covering:
    """The covering of labels that were read; a label that means nothing is refused."""
    attribute = reading.attribute
    unread = int((~reading.understood).sum())
    if unread:
        raise InputError(
            f"Column {attribute.name!r}: {counted(unread, 'published label is', 'published labels are')} not "
            "a value, node, interval, set or *. Give the spec with which the release was made."
        )
    place, by_leaf = reading.place_of_code, reading.in_tree
    order = np.argsort(place, kind="stable")
    rank_of_code = np.empty(len(order), dtype=np.int64)
    rank_of_code[order] = np.arange(len(order))
    first = np.searchsorted(place[order], reading.leaves[:, 0], side="left")
    last = np.searchsorted(place[order], reading.leaves[:, 1], side="right") - 1
    empty = reading.leaves[:, 0] > reading.leaves[:, 1]
    first[empty], last[empty] = 0, -1
    first[reading.stars], last[reading.stars] = 0, len(order) - 1
    scattered = {label: rank_of_code[codes] for label, codes in reading.sets.items()}
    for label in np.flatnonzero(reading.values[:, 0] <= reading.values[:, 1]):
        low, high = reading.values[label]
        if int(label) in scattered:
            continue  # the set has them all
        if by_leaf:  # an interval of values, which the order of the leaves may tear apart
            scattered[int(label)] = rank_of_code[low : high + 1]
        else:
            first[label], last[label] = low, high
    pairs = [np.array([np.full(len(ranks), label), ranks]) for label, ranks in scattered.items()]
    together = np.concatenate(pairs, axis=1) if pairs else np.zeros((2, 0), dtype=np.int64)
    return Covering(rank_of_code, first, last, together)
