"""What a quasi-identifier's values may be generalized to.

Whatever the domain, a generalized value is a **range of leaves**: leaves are numbered so that every
node of a hierarchy, and every interval of an ordered column, is contiguous. "Is under" is then two
comparisons, and the closure of a group of records needs only its least and greatest leaf.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

STAR = "*"


@dataclass(frozen=True, eq=False)
class GeneralizedValues:
    """Some generalized values of one attribute as arrays: all that costs need to know of them.

    width      leaves covered
    mass       records of the original table whose value is covered
    mass_log   sum of c*log2(c) over the covered values' counts c (for entropies)
    level      height in the hierarchy over the hierarchy's height, 0 to 1
    star       published as `*`
    height     the height of the hierarchy; 1 where there is none
    """

    width: np.ndarray
    mass: np.ndarray
    mass_log: np.ndarray
    level: np.ndarray
    star: np.ndarray
    n_leaves: int
    n_records: int
    height: int = 1


class Domain(Protocol):
    """The generalized values that an attribute may take: a Hierarchy or an OrderedDomain."""

    @property
    def leaves(self) -> tuple[str | None, ...]:
        """Texts of the leaves in order; a missing value is None."""
        ...

    def closure(self, lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The smallest generalized values that cover the leaf ranges lo..hi (both ends included)."""
        ...

    def labels(self, lo: np.ndarray, hi: np.ndarray) -> list[str | None]:
        """How these generalized values are published."""
        ...

    @property
    def height(self) -> int:
        """The number of steps from a value to the most general one."""
        ...

    def levels(self, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
        """Height of these generalized values over the domain's height."""
        ...


@dataclass(frozen=True, eq=False)
class OrderedDomain:
    """Values in an order and no hierarchy: any interval of them may be published.

    `loners` values at the end (a missing value, a `*` that was there before) belong to no interval:
    together with anything else they become `*`.
    """

    leaves: tuple[str | None, ...]
    loners: int = 0

    def closure(self, lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        everything = (hi >= len(self.leaves) - self.loners) & (lo < hi)
        return np.where(everything, 0, lo), np.where(everything, len(self.leaves) - 1, hi)

    def labels(self, lo: np.ndarray, hi: np.ndarray) -> list[str | None]:
        everything, leaves = (0, len(self.leaves) - 1), self.leaves
        return [
            leaves[a] if a == b else STAR if (a, b) == everything else f"[{leaves[a]}, {leaves[b]}]"
            for a, b in zip(lo.tolist(), hi.tolist())
        ]

    @property
    def height(self) -> int:
        return 1

    def levels(self, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
        """The share of all values that each interval covers, in place of a level."""
        return (hi - lo) / max(len(self.leaves) - 1, 1)
