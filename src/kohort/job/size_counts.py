"""The sizes of classes, counted: as much as many figures need to know, however many classes there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class SizeCounts:
    """How many classes there are of each size.

    Classes of n people have at most sqrt(2 n) different sizes.

    size   the different sizes, ascending
    times  how many classes have each of them
    """

    size: np.ndarray
    times: np.ndarray

    @classmethod
    def of(cls, sizes: np.ndarray) -> SizeCounts:
        """Count the sizes of classes.

        >>> SizeCounts.of(np.array([3, 2, 3])).times.tolist()
        [1, 2]
        """
        size, times = np.unique(sizes, return_counts=True)
        return cls(size.astype(np.int64), times.astype(np.int64))

    @classmethod
    def united(cls, parts: Sequence[SizeCounts]) -> SizeCounts:
        """The counts of classes that were counted in parts."""
        size, place = np.unique(np.concatenate([part.size for part in parts]), return_inverse=True)
        times = np.zeros(len(size), dtype=np.int64)
        np.add.at(times, place, np.concatenate([part.times for part in parts]))
        return cls(size, times)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.times.sum())

    @property
    def members(self) -> np.ndarray:
        """How many people (or records) are in classes of each size."""
        return self.size * self.times

    @property
    def median(self) -> float:
        """The median size of a class."""
        ends, n = np.cumsum(self.times), self.classes
        middle = np.searchsorted(ends, [(n - 1) // 2, n // 2], side="right")
        return float(self.size[middle].mean())
