"""Records as points: their numbers, standardized, for searches that measure squared distances."""

from __future__ import annotations

import numpy as np

from kohort.errors import UnsupportedError
from kohort.problem.attribute import Attribute
from kohort.problem.problem import Problem

MOST_POINTS = 100_000


def points_of(problem: Problem) -> np.ndarray:
    """A point per record: columns with the mean 0, and a variance that is their share of all weights.

    Numbers without a hierarchy are taken as they are, other columns by the places of their leaves.
    """
    columns = [_coordinates(attribute) for attribute in problem.attributes]
    points = np.column_stack(columns).astype(float)
    points -= points.mean(axis=0)
    spread = points.std(axis=0)
    return points / np.where(spread > 0, spread, 1.0) * np.sqrt(problem.weights)


def _coordinates(attribute: Attribute) -> np.ndarray:
    numbers = attribute.plain_numbers
    return attribute.leaves if numbers is None else numbers[attribute.column.codes]


def refuse_many_points(algorithm: str, n_records: int) -> None:
    """Raise UnsupportedError where comparing all records with each other would take too long."""
    if n_records > MOST_POINTS:
        raise UnsupportedError(
            f"{algorithm} compares records with each other, and the table has {n_records:,}; at most "
            f"{MOST_POINTS:,} are possible. Choose mondrian."
        )
