"""The ambiguity metric (AM): how many original records a published one could stand for."""

from __future__ import annotations

import sys
from typing import ClassVar

import numpy as np

from kohort.problem.costs.cost import Cost, PublishedTable

__all__ = ["Ambiguity"]


class Ambiguity(Cost):
    """The mean over records of the product of the leaves covered (Nergiz and Clifton, 2007).

    Hundreds of attributes make it larger than any floating-point number: then it is the largest one, 1.8e308.
    """

    name: ClassVar[str] = "ambiguity"
    meaning: ClassVar[str] = (
        "combinations of original values that a published record could stand for, on average"
    )

    def measure(self, table: PublishedTable) -> float:
        combinations = np.ones(table.n_records, dtype=float)
        with np.errstate(over="ignore"):
            for attribute in table.attributes:
                combinations *= attribute.values.width[attribute.value_of_record]
            return min(float(combinations.mean()), sys.float_info.max)
