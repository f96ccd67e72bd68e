"""Regressions, labels and intervals by definition."""

from __future__ import annotations

from math import exp, log

import numpy as np


def least_squares(features, response):
    """Coefficients and standard errors by the normal equations."""
    x, y = np.array(features, dtype=float), np.array(response, dtype=float)
    inverse = np.linalg.inv(x.T @ x)
    beta = inverse @ x.T @ y
    residual = y - x @ beta
    variance = residual @ residual / (len(y) - x.shape[1])
    return beta, np.sqrt(variance * np.diag(inverse))


def log_likelihood(features, response, beta):
    total = 0.0
    for row, y in zip(features, response):
        p = 1 / (1 + exp(-sum(a * b for a, b in zip(row, beta))))
        total += y * log(p) + (1 - y) * log(1 - p)
    return total


def second_derivatives(features, response, beta, h=1e-4):
    """The matrix of second derivatives of the likelihood, by differences."""
    k = len(beta)
    found = np.zeros((k, k))
    for i in range(k):
        for j in range(k):
            total = 0.0
            for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                moved = np.array(beta, dtype=float)
                moved[i] += a * h
                moved[j] += b * h
                total += a * b * log_likelihood(features, response, moved)
            found[i, j] = total / (4 * h * h)
    return found


def overlap(one, other):
    """The mean of the shares of two intervals that they have in common."""
    common = max(min(one[1], other[1]) - max(one[0], other[0]), 0)
    return (common / (one[1] - one[0]) + common / (other[1] - other[0])) / 2
