"""Linear and logistic regression with confidence intervals, by least squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_Z = 1.959963984540054
_STEPS = 60


@dataclass(frozen=True, eq=False)
class Fit:
    """The coefficients of a model and their standard errors; NaN where one cannot be estimated."""

    coefficients: np.ndarray
    errors: np.ndarray

    @property
    def intervals(self) -> np.ndarray:
        """The 95 % intervals: coefficients by two ends."""
        return np.column_stack([self.coefficients - _Z * self.errors, self.coefficients + _Z * self.errors])


def estimable(features: np.ndarray) -> np.ndarray:
    """Per column whether it is no linear combination of those before it.

    By Gram and Schmidt, each column against what is left of the earlier ones, twice for accuracy.
    """
    kept = np.zeros(features.shape[1], dtype=bool)
    basis: list[np.ndarray] = []
    for place, column in enumerate(features.T):
        rest = column.astype(np.float64)
        for _ in range(2):
            for unit in basis:
                rest = rest - unit * (unit @ rest)
        length, whole = float(np.linalg.norm(rest)), float(np.linalg.norm(column))
        if length > 1e-7 * max(whole, 1e-300):
            kept[place] = True
            basis.append(rest / length)
    return kept


def fit_linear(features: np.ndarray, response: np.ndarray) -> Fit:
    """Ordinary least squares; the variance of the errors is the same for all records."""
    kept = estimable(features)
    x = features[:, kept]
    n, p = x.shape
    solved, *_ = np.linalg.lstsq(x, response, rcond=None)
    residual = response - x @ solved
    variance = float(residual @ residual) / max(n - p, 1)
    return _spread(kept, solved, np.sqrt(np.diag(np.linalg.inv(x.T @ x)) * variance))


def fit_logistic(features: np.ndarray, response: np.ndarray) -> Fit:
    """Logistic regression by iteratively reweighted least squares; the response is a share from 0 to 1.

    Newton's steps are halved until the likelihood does not fall. Where classes can be told apart by a line,
    coefficients grow without bound: the search stops, and their errors are as large.
    """
    kept = estimable(features)
    x = features[:, kept]
    beta = np.zeros(x.shape[1])
    for _ in range(_STEPS):
        chance = _chance(x @ beta)
        weight = np.maximum(chance * (1 - chance), 1e-10)
        step = np.linalg.lstsq(x.T @ (x * weight[:, None]), x.T @ (response - chance), rcond=None)[0]
        size = 1.0
        while size > 1e-6 and _likelihood(x, response, beta + size * step) < _likelihood(x, response, beta):
            size /= 2
        beta = beta + size * step
        if np.abs(size * step).max(initial=0.0) < 1e-9:
            break
    chance = _chance(x @ beta)
    weight = np.maximum(chance * (1 - chance), 1e-10)
    covariance = np.linalg.pinv(x.T @ (x * weight[:, None]))
    return _spread(kept, beta, np.sqrt(np.maximum(np.diag(covariance), 0.0)))


def _chance(linear: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(linear, -35, 35)))


def _likelihood(x: np.ndarray, response: np.ndarray, beta: np.ndarray) -> float:
    linear = np.clip(x @ beta, -35, 35)
    return float((response * linear - np.logaddexp(0.0, linear)).sum())


def _spread(kept: np.ndarray, coefficients: np.ndarray, errors: np.ndarray) -> Fit:
    """Coefficients of all columns, NaN for those that were left out."""
    full = np.full((2, len(kept)), np.nan)
    full[0, kept], full[1, kept] = coefficients, errors
    return Fit(full[0], full[1])


def interval_overlap(one: np.ndarray, other: np.ndarray) -> float:
    """The mean of the shares of two intervals that they have in common (Karr and others, 2006); 0: apart.

    >>> interval_overlap(np.array([0.0, 2.0]), np.array([1.0, 3.0]))
    0.5
    """
    if np.isnan(one).any() or np.isnan(other).any():
        return 0.0
    common = min(one[1], other[1]) - max(one[0], other[0])
    lengths = one[1] - one[0], other[1] - other[0]
    if min(lengths) <= 0:
        return 1.0 if common >= 0 else 0.0
    return float(max(common, 0.0) * (1 / lengths[0] + 1 / lengths[1]) / 2)
