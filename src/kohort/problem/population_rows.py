"""A population in the codes of a problem: distinct rows of leaves, and how many people have each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["PopulationRows"]


@dataclass(frozen=True, eq=False)
class PopulationRows:
    """Everybody of a population by the leaves of their quasi-identifiers.

    leaves  distinct rows by attributes: the leaf of each value, -1 for one that the hierarchy lacks
    counts  how many people have each row
    """

    leaves: np.ndarray
    counts: np.ndarray
