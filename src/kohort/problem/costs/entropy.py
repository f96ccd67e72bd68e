"""Entropy measures: the bits that are missing to know the original value (Gionis and Tassa, 2009)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kohort.data.domain import GeneralizedValues
from kohort.problem.costs.cost import SeparableCost

__all__ = ["Entropy", "MonotoneEntropy"]


class Entropy(SeparableCost):
    """H(X | B): entropy of the column's distribution inside the published value, in bits per cell.

    Not monotone: two equally rare values cost one bit, and adding a frequent value lowers it.
    """

    name: ClassVar[str] = "entropy"
    meaning: ClassVar[str] = "bits per cell that are missing to know the original value"
    monotone: ClassVar[bool] = False

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        mass = np.maximum(values.mass, 1)
        return np.maximum(np.log2(mass) - values.mass_log / mass, 0.0)


class MonotoneEntropy(Entropy):
    """Pr(B) * H(X | B): the monotone variant, for which approximation guarantees hold."""

    name: ClassVar[str] = "monotone-entropy"
    meaning: ClassVar[str] = "bits that are missing per cell, weighted by how common the published value is"
    monotone: ClassVar[bool] = True

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        return super().cell(values) * values.mass / values.n_records
