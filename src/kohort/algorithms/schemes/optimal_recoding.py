"""Optimal recoding: the least cost of all recodings of a generalization scheme (after Li and Li, 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kohort.algorithms.run import Run
from kohort.algorithms.schemes.branch_and_bound import BranchAndBound
from kohort.algorithms.schemes.pricing import Pricing
from kohort.algorithms.schemes.scheme_search import SchemeSearch, as_partitions
from kohort.algorithms.schemes.undecided_sets import MOST_SIBLINGS
from kohort.errors import UnsupportedError
from kohort.problem.problem import Problem
from kohort.recoding.columns import Partitions

MOST_VALUES = 1000  # most values of a column that is parted into runs: prices of all runs are held


@dataclass(frozen=True)
class OptimalRecoding(SchemeSearch):
    """The best recoding of whole columns: every value is published as the same label in all records.

    A scheme says which values may be merged: bhs, ghs, gops, ops, gsps or sps, for all columns or, as a
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
    summary: ClassVar[str] = (
        "finds the best recoding of whole columns under a scheme and proves it by branch and bound"
    )
    paper: ClassVar[str] = (
        "schemes and costs: Li, Li: Towards optimal k-anonymization, DKE 65 (2008); the search is our own"
    )
    scheme_search: ClassVar[str | None] = name

    def refuse(self, problem: Problem) -> None:
        for space in self.spaces(problem):
            siblings = max((len(children) for children in space.space.children), default=0)
            if not space.ordered and siblings > MOST_SIBLINGS:
                raise UnsupportedError(
                    f"The scheme {space.scheme} would have to consider every set of {siblings} values of "
                    f"column {space.attribute.name!r}; its limit is {MOST_SIBLINGS} values. Use gops or ops, "
                    "or gsps with a hierarchy of smaller groups."
                )
            if space.n > MOST_VALUES:
                raise UnsupportedError(
                    f"Column {space.attribute.name!r} has {space.n:,} different values; the limit of "
                    f"optimal-recoding is {MOST_VALUES:,}. Round them first, or choose mondrian."
                )

    def solve(self, problem: Problem, run: Run) -> Partitions:
        pricing = Pricing(problem, self.spaces(problem))
        return as_partitions(pricing, BranchAndBound(pricing).solve(run))
