"""The loss metric (LM): the share of the other leaves that a published value also stands for."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kohort.data.domain import GeneralizedValues
from kohort.problem.costs.cost import Line, SeparableCost

__all__ = ["Loss", "NormalizedCertaintyPenalty"]


class Loss(SeparableCost):
    """(leaves covered - 1) / (leaves - 1) per cell (Iyengar 2002; Kenig and Tassa, Eq. 3)."""

    name: ClassVar[str] = "loss"
    meaning: ClassVar[str] = (
        "share of the other values that a published cell also covers: 0 for the exact value, 1 for *"
    )
    mean_of_cells: ClassVar[bool] = True

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        return (values.width - 1) / max(values.n_leaves - 1, 1)

    def line(self, n_values: int) -> Line:
        return Line(0.0, 1 / max(n_values - 1, 1))

    def least_added(self, values: GeneralizedValues) -> np.ndarray:
        return values.width / max(values.n_leaves - 1, 1)


class NormalizedCertaintyPenalty(SeparableCost):
    """leaves covered / leaves per cell, 0 for an exact value (Terrovitis et al., section 3.3)."""

    name: ClassVar[str] = "ncp"
    meaning: ClassVar[str] = "share of all values that a published cell covers; 0 for an exact one"
    of_items: ClassVar[bool] = True
    mean_of_cells: ClassVar[bool] = True

    def cell(self, values: GeneralizedValues) -> np.ndarray:
        return np.where(values.width > 1, values.width / max(values.n_leaves, 1), 0.0)

    def line(self, n_values: int) -> Line:
        return Line(1 / n_values, 1 / n_values)

    def least_added(self, values: GeneralizedValues) -> np.ndarray:
        return values.width / max(values.n_leaves, 1)
