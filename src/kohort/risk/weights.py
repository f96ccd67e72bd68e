"""How many people of the population a class stands for, by the sampling weights of its records."""

from __future__ import annotations

from typing import Any

import numpy as np

from kohort.errors import percent
from kohort.pipeline.before_after import BeforeAfter, Classes

__all__ = ["weighted_population"]


def weighted_population(sides: BeforeAfter, kept: np.ndarray) -> dict[str, Any] | None:
    """The estimated people of the population in the class that has fewest; None without weights.

    A person with several records in a class counts once, with the mean of their weights.

    kept  per published class its size; 0: it is withheld
    """
    weights = sides.weights
    if weights is None:
        return None
    before = float(_sums(sides, sides.before, np.arange(sides.n_records), weights).min())
    after = _sums(sides, sides.after, sides.rows, weights)[kept > 0]
    least = float(after.min()) if len(after) else None
    chance = None if least is None else 1 / max(least, 1.0)
    return {
        "before": before,
        "after": least,
        "chance": chance,
        "sentence": (
            "By the sampling weights, the published class that stands for fewest people of the population "
            f"stands for an estimated {least or 0:,.0f}; before it was {before:,.0f}. Somebody who does not "
            "know who is in the table finds a person with a chance of about "
            f"{percent(chance or 0.0)} at most."
        ),
    }


def _sums(sides: BeforeAfter, classes: Classes, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The sum of the weights of each class's people."""
    n = len(classes.sizes)
    if sides.persons is None:
        return np.bincount(classes.of_record, weights[rows], minlength=n)
    n_people = int(sides.persons.max()) + 1
    pairs, place = np.unique(classes.of_record * n_people + sides.persons[rows], return_inverse=True)
    mean = np.bincount(place, weights[rows]) / np.bincount(place)
    return np.bincount(pairs // n_people, mean, minlength=n)
