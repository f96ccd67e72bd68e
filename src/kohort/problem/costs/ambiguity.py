"""The ambiguity metric (AM): how many original records a published one could stand for."""

from __future__ import annotations

from typing import ClassVar

from kohort.problem.costs.cost import Cost

__all__ = ["Ambiguity"]


class Ambiguity(Cost):
    """The mean over records of the product of the leaves covered (Nergiz and Clifton, 2007).

    Hundreds of attributes make it larger than any floating-point number: then it is the largest one, 1.8e308.
    """

    name: ClassVar[str] = "ambiguity"
    meaning: ClassVar[str] = (
        "combinations of original values that a published record could stand for, on average"
    )
