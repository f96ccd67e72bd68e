"""Multinomial logistic regression with a ridge, for the few thousand records that a report learns from.

scikit-learn's takes a second to import, longer than all learning that a report does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Lessons", "predict"]

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
