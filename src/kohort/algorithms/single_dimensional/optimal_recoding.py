"""Optimal recoding: the least cost of all recodings of a generalization scheme (after Li and Li, 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kohort.algorithms.run import Run
from kohort.algorithms.single_dimensional.branch_and_bound import Search
from kohort.algorithms.single_dimensional.pricing import COSTS_OF_SCHEMES, Pricing
from kohort.algorithms.single_dimensional.recode import (
    MODELS_OF_SCHEMES,
    Schemes,
    as_partitions,
    check_schemes,
    refuse_for_schemes,
)
from kohort.algorithms.single_dimensional.undecided_sets import MOST_SIBLINGS
from kohort.algorithms.single_dimensional.warm_starts import warm_starts
from kohort.errors import UnsupportedError
from kohort.parameters import check_parameters
from kohort.problem.problem import Problem
from kohort.recoding.partitions import Partitions

__all__ = ["OptimalRecoding"]

MOST_VALUES = 1000  # of a column that is parted into runs: prices of all runs are held


@dataclass(frozen=True)
class OptimalRecoding:
    """The best way to publish every value of a column as one and the same thing in all records.

    A scheme says what values may become one: bhs, ghs, gops, ops, gsps or sps, for all columns or, as a
    mapping, for each. By default ghs: nodes of the hierarchy; ops, intervals, for columns without one.
    Records in classes below k are withheld as far as the problem allows.

    Exponential in the worst case. A node of the search takes O(distinct rows * attributes) and some steps of
    O(boxes * attributes), and O(3^siblings) for columns that are parted into sets; adding boxes takes
    O(rows below k * values * distinct rows / 64). At the time limit the best recoding found is returned, with
    a bound on the least cost.

    >>> import pyarrow as pa, kohort as ko
    >>> people = pa.table({"age": [21, 22, 24, 41, 42, 47]})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers={"age": ko.intervals(5, 10)}, privacy=[ko.KAnonymity(3)], scheme="ops",
    ... )
    >>> sorted(release.table["age"].to_pylist())[2:4]
    ['[20, 25)', '[40, 50)']
    """

    name: ClassVar[str] = "optimal-recoding"
    summary: ClassVar[str] = "the best recoding of whole columns under a scheme, proven by branch and bound"
    paper: ClassVar[str] = (
        "schemes and costs: Li, Li: Towards optimal k-anonymization, DKE 65 (2008); the search is our own"
    )
    promise: ClassVar[str] = "the least cost of all recodings of the scheme"
    models: ClassVar[tuple[str, ...]] = MODELS_OF_SCHEMES
    costs: ClassVar[tuple[str, ...]] = COSTS_OF_SCHEMES

    scheme: Schemes = None

    def __post_init__(self) -> None:
        check_parameters(self)
        check_schemes(self.scheme)

    def refuse(self, problem: Problem) -> None:
        for space in refuse_for_schemes(self, problem, self.scheme):
            siblings = max((len(children) for children in space.space.children), default=0)
            if not space.ordered and siblings > MOST_SIBLINGS:
                raise UnsupportedError(
                    f"The scheme {space.scheme} would have to look at all sets of {siblings} values of "
                    f"column {space.attribute.name!r}; it is for up to {MOST_SIBLINGS}. Take gops or ops, "
                    "or gsps with a hierarchy of smaller groups."
                )
            if space.n > MOST_VALUES:
                raise UnsupportedError(
                    f"Column {space.attribute.name!r} has {space.n:,} different values; optimal-recoding is "
                    f"for up to {MOST_VALUES:,}. Round them first, or choose mondrian."
                )

    def solve(self, problem: Problem, run: Run) -> Partitions:
        pricing = Pricing(problem, refuse_for_schemes(self, problem, self.scheme))
        return as_partitions(pricing, Search(pricing).solve(run, warm_starts))
