"""Columns of a release and of its original as an analyst reads them: as numbers, or as shares of values."""

from __future__ import annotations

from typing import Literal

import numpy as np

from kohort.data.column import Column
from kohort.errors import InputError
from kohort.pipeline.before_after import BeforeAfter
from kohort.verification.covering import Covering

Labels = Literal["midpoint", "spread"]
MOST_VALUES = 20


def numbers_before(column: Column) -> np.ndarray:
    """The numbers of a column by code; a missing one is NaN."""
    assert column.numbers is not None
    numbers = np.full(len(column.texts), np.nan)
    numbers[: len(column.numbers)] = column.numbers
    return numbers


def midpoints(column: Column, covering: Covering) -> np.ndarray:
    """Per label the middle between the least and the greatest number that it covers; NaN: it covers none."""
    numbers = numbers_before(column)
    by_rank = np.empty(len(numbers))
    by_rank[covering.rank_of_code] = numbers
    low, high = np.full(covering.n_labels, np.inf), np.full(covering.n_labels, -np.inf)
    for label in range(covering.n_labels):
        some = by_rank[covering.first[label] : covering.last[label] + 1]
        some = some[np.isfinite(some)]
        if len(some):
            low[label], high[label] = some.min(), some.max()
    label, rank = covering.scattered
    known = np.isfinite(by_rank[rank])
    np.minimum.at(low, label[known], by_rank[rank[known]])
    np.maximum.at(high, label[known], by_rank[rank[known]])
    return np.where(np.isfinite(low), (low + high) / 2, np.nan)


def drawn_codes(labels: np.ndarray, covering: Covering, rng: np.random.Generator) -> np.ndarray:
    """For each record a value that its label covers, every one of them as likely."""
    code_of_rank = np.argsort(covering.rank_of_code, kind="stable")
    width = np.maximum(covering.last - covering.first + 1, 0)
    label, rank = covering.scattered
    listed = np.bincount(label, minlength=covering.n_labels)
    order = np.argsort(label, kind="stable")
    starts = np.cumsum(listed) - listed
    place = np.floor(rng.random(len(labels)) * np.maximum((width + listed)[labels], 1)).astype(np.int64)
    in_range = place < width[labels]
    ranks = np.where(in_range, covering.first[labels] + place, 0)
    beyond = np.flatnonzero(~in_range & (listed[labels] > 0))
    ranks[beyond] = rank[order][starts[labels[beyond]] + place[beyond] - width[labels[beyond]]]
    return code_of_rank[ranks]


def shares_before(column: Column) -> np.ndarray:
    """Indicators of the values by code, without the most frequent one, which the others are compared with."""
    n = len(column.texts)
    if n > MOST_VALUES:
        raise InputError(
            f"Column {column.name!r} has {n} values, and a model can have a coefficient for at most "
            f"{MOST_VALUES} of a column that is no number. Leave it out of the model, or group its values."
        )
    return np.delete(np.eye(n), int(np.argmax(column.counts)), axis=1)


def shares_after(sides: BeforeAfter, place: int) -> np.ndarray:
    """The same by label: each value that a label covers has an equal share."""
    return sides.coverings[place].shares(shares_before(sides.attributes[place].column))
