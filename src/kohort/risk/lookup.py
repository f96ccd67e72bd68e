"""What an adversary finds who looks people up: candidates, and how often one of them is the right one."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Lookup:
    """The candidates that an adversary finds for each target, and the place of its own record among them.

    `place` is -1 where the target's record is not among the candidates, or not published at all.
    """

    candidates: np.ndarray
    place: np.ndarray

    @property
    def chance(self) -> np.ndarray:
        """The probability, for each target, that a candidate picked at random is the right one."""
        return np.where(self.place >= 0, 1.0 / np.maximum(self.candidates, 1), 0.0)

    def facts(self, rng: np.random.Generator, threshold: float) -> dict[str, Any]:
        """Success rates over the targets, also that of really picking one candidate for each."""
        n = len(self.candidates)
        picked = rng.integers(0, np.maximum(self.candidates, 1))
        hits = int((picked == self.place).sum())
        chance = self.chance
        return {
            "maximum": float(chance.max()),
            "average": float(chance.mean()),
            "over_threshold": float((chance > threshold * (1 + 1e-12)).mean()),
            "found_for_sure": float(((self.candidates == 1) & (self.place == 0)).mean()),
            "median_candidates": float(np.median(self.candidates)),
            "picks": n,
            "hits": hits,
            "hit_rate": hits / n,
            "interval": list(wilson(hits, n)),
        }


def wilson(hits: int, trials: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson's score interval of a rate, 95 % by default.

    >>> [round(end, 4) for end in wilson(0, 100)]
    [0.0, 0.037]
    """
    if not trials:
        return 0.0, 1.0
    rate, square = hits / trials, z * z / trials
    middle, reach = rate + square / 2, z * sqrt(rate * (1 - rate) / trials + square / (4 * trials))
    low, high = (middle - reach) / (1 + square), (middle + reach) / (1 + square)
    return (0.0 if hits == 0 else low), (1.0 if hits == trials else high)
