"""Whether the order of records gives something away about a column: tests against a random order.

Three scores per column, each a distance from its mean in standard deviations, by the exact moments over all
orders of the records: the trend (values rise or fall along the table), the agreement of neighbours (equal
values stand together, or apart; A. M. Mood, 1940) and their closeness (near values stand together; A. Wald
and J. Wolfowitz, 1943).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np

__all__ = ["scores", "telling_columns"]

Name = TypeVar("Name", bound=Hashable)

_SURE = 5.0  # a random order of any table is hardly ever this far from the mean
_UNSUSPICIOUS = 3.0
_FEW, _MANY = 50, 2_000  # records: below, scores say little by themselves; above, drawing orders takes long
_ORDERS, _LEVEL = 199, 0.01


def telling_columns(columns: Mapping[Name, np.ndarray]) -> list[Name]:
    """Names of the columns about which the order of the records gives something away.

    columns  per name the codes of the records, numbered in the natural order of the values

    A score above 5 is significant. In tables of up to 2,000 records a smaller one is compared with the
    highest of all scores in each of 199 random orders: it is significant if at most 1 % of these are as
    high. O(n).
    """
    ranks = {name: _middle_ranks(codes) for name, codes in columns.items()}
    found = {name: scores(codes, ranks[name]).max() for name, codes in columns.items()}
    n = len(next(iter(columns.values()))) if columns else 0
    highest = max(found.values(), default=0.0)
    limit = _SURE
    if n < _FEW or (n <= _MANY and highest > _UNSUSPICIOUS):
        limit = min(_SURE, _highest_by_chance(columns, ranks, n))
    return [name for name, score in found.items() if score > limit]


def scores(codes: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Trend, agreement and closeness of one column; of many orders of it where the arrays have two axes."""
    return np.abs([_trend(ranks), _agreement(codes), _closeness(ranks)])


def _highest_by_chance(columns: Mapping[Name, np.ndarray], ranks: Mapping[Name, np.ndarray], n: int) -> float:
    """The score that the highest of all columns reaches in one of 100 random orders.

    P. Westfall and S. Young, *Resampling-Based Multiple Testing*, 1993.
    """
    rng = np.random.default_rng(0)
    orders = rng.permuted(np.tile(np.arange(n), (_ORDERS, 1)), axis=1)
    highest = np.zeros(_ORDERS)
    for name, codes in columns.items():
        highest = np.maximum(highest, scores(codes[orders], ranks[name][orders]).max(axis=0))
    allowed = int(_LEVEL * (_ORDERS + 1))  # the order of the table counts as one of them
    return float(np.sort(highest)[-allowed]) + 1e-9


def _middle_ranks(codes: np.ndarray) -> np.ndarray:
    """The mean rank of each record's value, centred so that the mean over all records is 0."""
    counts = np.bincount(codes)
    middle = np.cumsum(counts) - (counts + 1) / 2
    return (middle - (len(codes) - 1) / 2)[codes]


def _trend(ranks: np.ndarray) -> np.ndarray:
    """Score of the sum of place times rank. `ranks` have the mean 0."""
    n = ranks.shape[-1]
    place = np.arange(n) - (n - 1) / 2
    variance = (place * place).sum() * (ranks * ranks).sum(axis=-1) / max(n - 1, 1)
    return _score(ranks @ place, 0.0, variance)


def _agreement(codes: np.ndarray) -> np.ndarray:
    """Score of the number of neighbours with the same value."""
    n = codes.shape[-1]
    counts = np.bincount(codes if codes.ndim == 1 else codes[0]).astype(np.float64)
    squares, cubes = (counts**2).sum(), (counts**3).sum()
    same = (codes[..., 1:] == codes[..., :-1]).sum(axis=-1)
    variance = squares * (squares + n * (n + 1)) - 2 * n * cubes - float(n) ** 3
    return _score(same, squares / n - 1, variance / (float(n) ** 2 * max(n - 1, 1)))


def _closeness(ranks: np.ndarray) -> np.ndarray:
    """Score of the sum of products of neighbours' ranks, the last record and the first among them."""
    n = ranks.shape[-1]
    squared = ranks * ranks
    squares, fourths = squared.sum(axis=-1), (squared * squared).sum(axis=-1)
    products = (ranks[..., 1:] * ranks[..., :-1]).sum(axis=-1) + ranks[..., -1] * ranks[..., 0]
    mean = -squares / max(n - 1, 1)
    variance = (squares**2 - fourths) / max(n - 1, 1) - mean**2
    variance = variance + (squares**2 - 2 * fourths) / max((n - 1) * (n - 2), 1)
    return _score(products, mean, variance)


def _score(found: np.ndarray, mean: np.ndarray | float, variance: np.ndarray | float) -> np.ndarray:
    """Distance from the mean in standard deviations; 0 where every order gives the same."""
    possible = np.asarray(variance) > 1e-9 * np.maximum(np.abs(np.asarray(found, dtype=np.float64)), 1.0)
    return np.where(possible, (found - mean) / np.sqrt(np.where(possible, variance, 1.0)), 0.0)
