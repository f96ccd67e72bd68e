"""The sum of squares: how much of the variance of numbers is lost where classes publish their means."""

from __future__ import annotations

from typing import ClassVar

from kohort.problem.costs.cost import Cost

__all__ = ["Squares"]


class Squares(Cost):
    """SSE / SST: the squared distances of numbers to the mean of their class, over those to the mean of all.

    A weighted mean over the quasi-identifiers, each by its own variance. It depends on the numbers themselves
    and not on labels, so it is measured on classes and their originals, where it is asked for.
    """

    name: ClassVar[str] = "squares"
    meaning: ClassVar[str] = "share of the variance of numbers that is lost within classes"
    of_numbers: ClassVar[bool] = True
