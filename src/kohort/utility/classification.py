"""Classification: learn from the release, be tested on original records that were held out.

The regression is written here: scikit-learn's takes a second to import, longer than all learning that a
report does.

Columns as expected indicators: a generalized value counts for each value it covers, by equal shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kohort.data.column import Column
from kohort.errors import percent
from kohort.job.sides import BeforeAfter


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


_TRAIN, _TEST = 10_000, 10_000
_CLASSES = 10
_FEATURES = 2_000


def classification(sides: BeforeAfter, target: Column, *, seed: int) -> dict[str, Any] | None:
    """How well a column is predicted from the quasi-identifiers, learnt from the release.

    Logistic regression, trained on up to 10,000 published records and tested on as many original ones
    that it has not seen; the ceiling is the same trained on the originals, the floor is always guessing the
    most frequent class. A generalized value counts for each value it covers by equal shares. None where
    there is nothing to predict. Where records have weights, learning and testing use them.
    """
    classes = _classes(target)
    train, test = _split(sides, seed)
    if not sides.attributes or len(np.unique(classes[train])) < 2:
        return None
    most = max(min(32, _FEATURES // len(sides.attributes)), 2)
    quasi = len(sides.attributes)
    before, after = original_side(sides, most)[:quasi], published_side(sides, most)[:quasi]
    held_out, truth = _matrix(before, test), classes[test]
    weights = sides.weights.scaled().per_record(sides.n_records)
    values, number = np.unique(classes[train], return_inverse=True)
    guess = values[np.argmax(np.bincount(number, weights[train]))]
    floor = float(np.average(truth == guess, weights=weights[test]))

    def accuracy_of(known: list[Encoded], records: np.ndarray) -> float:
        guesses = predict(_lessons(known, records, classes[train], weights[train]), held_out)
        return float(np.average(guesses == truth, weights=weights[test]))

    ceiling, accuracy = accuracy_of(before, train), accuracy_of(after, sides.published_of[train])
    return {
        "target": target.name,
        "classes": len(values),
        "model": "logistic regression",
        "trained_on": len(train),
        "tested_on": len(test),
        "sampled": len(train) + len(test) < (sides.drawn_of or len(sides.rows)),
        "accuracy": accuracy,
        "ceiling": ceiling,
        "floor": floor,
        "sentence": (
            f"A model that learns {target.name!r} from the release is right for {percent(accuracy)} of "
            f"people it has not seen; a model that learns from the original is right for {percent(ceiling)}, "
            f"and always guessing the most frequent value for {percent(floor)}."
        ),
    }


def _classes(target: Column) -> np.ndarray:
    """The class of each record: the value or, where numbers have many values, their quarter."""
    many = target.ordered and len(target.texts) > _CLASSES
    return group_values(target, 4 + int(target.has_null) if many else _CLASSES)[target.codes]


def _split(sides: BeforeAfter, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Original records to train on (seven of ten that are published) and to test on."""
    shuffled = np.random.default_rng(seed).permutation(np.sort(sides.rows))
    cut = round(0.7 * len(shuffled))
    return shuffled[:cut][:_TRAIN], shuffled[cut:][:_TEST]


def _matrix(columns: list[Encoded], records: np.ndarray) -> np.ndarray:
    return np.column_stack([column.features(records).astype(np.float32) for column in columns])


def _lessons(
    columns: list[Encoded], records: np.ndarray, classes: np.ndarray, weights: np.ndarray
) -> Lessons:
    """Records that look alike and have the same class are one lesson that counts as often: less to learn."""
    look = np.zeros(len(records), dtype=np.int64)
    for values in (*(column.labels[records] for column in columns), classes):
        pair = look * (int(values.max()) + 1) + values
        look = np.unique(pair, return_inverse=True)[1].reshape(-1)
    first = np.unique(look, return_index=True)[1]
    return Lessons(_matrix(columns, records[first]), classes[first], np.bincount(look, weights))


_RIDGE = 10.0
_STEPS, _FLAT = 1_000, 1e-4


class Lessons(NamedTuple):
    """What a model learns from: features, the class of each, and how much it counts."""

    features: np.ndarray
    classes: np.ndarray
    weights: np.ndarray


def predict(lessons: Lessons, tests: np.ndarray) -> np.ndarray:
    """The classes that a model predicts for the tests' features, learnt from the lessons."""
    values, numbers = np.unique(lessons.classes, return_inverse=True)
    slopes = _learn(_with_constant(lessons.features), numbers, lessons.weights.astype(np.float32))
    return values[np.argmax(_with_constant(tests) @ slopes, axis=1)]


def _learn(features: np.ndarray, numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The slopes, features x classes, that make the classes most likely, less a penalty on their squares.

    The second derivative of the penalized loss is nowhere above half of X'WX plus the ridge (Böhning 1992),
    so a step through the inverse of that bound never goes too far; steps are accelerated as by Nesterov and
    start anew when they turn uphill. Takes O(n f^2 + f^3) once, then O(n f c) for each of some 40 steps.
    """
    ridge, inverse = _curvature(features, numbers, weights)
    truth = np.eye(int(numbers.max()) + 1, dtype=np.float32)[numbers]
    at = found = np.zeros((features.shape[1], truth.shape[1]), dtype=np.float32)
    pace = 1.0
    for _ in range(_STEPS):
        slope = features.T @ ((_likelihoods(features @ at) - truth) * weights[:, None]) + ridge * at
        if np.abs(slope).max() <= _FLAT * weights.sum():
            break
        step = at - inverse @ slope
        if np.vdot(at - step, step - found) > 0:
            pace = 1.0
        faster = (1 + np.sqrt(1 + 4 * pace * pace)) / 2
        at, found, pace = step + np.float32((pace - 1) / faster) * (step - found), step, faster
    return at


def _curvature(
    features: np.ndarray, numbers: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The penalty of each feature, and the inverse of the bound on the loss's second derivative.

    The constant, the last feature, has next to no penalty. Two classes share one slope and its negative:
    twice the ridge penalizes their difference as much as one slope.
    """
    ridge = np.full(features.shape[1], _RIDGE * (2 if numbers.max() == 1 else 1))
    ridge[-1] = 1e-6 * weights.sum()
    bound = 0.5 * ((features.T * weights) @ features).astype(np.float64) + np.diag(ridge)
    return ridge[:, None].astype(np.float32), np.linalg.inv(bound).astype(np.float32)


def _likelihoods(scores: np.ndarray) -> np.ndarray:
    """The likelihood of each class from its scores, row by row."""
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def _with_constant(features: np.ndarray) -> np.ndarray:
    return np.column_stack([features, np.ones(len(features), dtype=np.float32)])
