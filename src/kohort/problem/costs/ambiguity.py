"""The ambiguity metric (AM): how many original records a published one could stand for."""

from __future__ import annotations

import sys
from typing import ClassVar

import numpy as np

from kohort.data.counting import codes_at, stretches_of
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
        total = 0.0
        with np.errstate(over="ignore"):
            for rows in stretches_of(table.n_records):
                combinations = np.ones(rows.stop - rows.start, dtype=float)
                for attribute in table.attributes:
                    combinations *= attribute.values.width[codes_at(attribute.value_of_record, rows)]
                total += float(combinations.sum())
        return min(total / table.n_records, sys.float_info.max)
