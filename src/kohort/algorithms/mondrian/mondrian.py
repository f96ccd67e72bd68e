"""Mondrian: cut the records into two or more parts, repeatedly, while every part satisfies the models."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.kernels.costs import costs_by_group
from kohort.algorithms.mondrian.cutting import Cutting
from kohort.algorithms.refusals import refuse_unknown_costs
from kohort.algorithms.run import Run
from kohort.errors import UnsupportedError
from kohort.problem.problem import Problem
from kohort.problem.promises import Model
from kohort.problem.units import Weights
from kohort.recoding.groups import Groups


@dataclass(frozen=True)
class Mondrian(Algorithm):
    """Mondrian multidimensional partitioning (LeFevre, DeWitt and Ramakrishnan, 2006).

    Starts from one group that holds all records. A group is cut along one attribute: between two values
    where any interval or set may be published, into the children of its node (small ones pooled) where there
    is a hierarchy. Among the cuts that leave every model satisfied on every side, the one with the least
    resulting cost over all attributes is taken (`choose="cost"`), or the attribute with the widest range is
    cut in the middle as in the paper (`choose="range"`). `strict` keeps records with equal values together;
    otherwise they may be dealt to both sides.

    Large groups are cut first; those that fit a cache are then cut to the end, on all cores.
    O(n * attributes^2 * depth); memory O(n * attributes).

    >>> import pyarrow as pa, kohort as ko
    >>> people = pa.table({"age": [21, 22, 41, 42]})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers=["age"], privacy=[ko.KAnonymity(2)], algorithm=ko.Mondrian(),
    ...     shuffle=False,
    ... )
    >>> release.table["age"].to_pylist()
    ['[21, 22]', '[21, 22]', '[41, 42]', '[41, 42]']
    """

    name: ClassVar[str] = "mondrian"
    summary: ClassVar[str] = "cuts the table into ever smaller groups; near-linear, for tables of any size"
    paper: ClassVar[str] = "LeFevre, DeWitt, Ramakrishnan: Mondrian multidimensional k-anonymity, ICDE 2006"
    promise: ClassVar[str] = "no bound on the loss"
    recoding: ClassVar[type[Groups]] = Groups
    people = "counts"
    in_regions: ClassVar[bool] = True
    largest_region: ClassVar[float] = math.inf
    weighs: ClassVar[bool] = True

    choose: Literal["cost", "range"] = "cost"
    strict: bool = False

    @classmethod
    def meets(cls, model: type[Model]) -> bool:
        return not (model.of_table or model.by_sampling)

    def refuse(self, problem: Problem) -> None:
        self.refuse_cost(problem.cost)
        if not problem.cost.linear:
            refuse_unknown_costs(problem)
        if not all(m.holds(problem.counts_of_whole(m), problem.context(m)).all() for m in problem.models):
            raise UnsupportedError(
                "mondrian starts from the whole table as one group, which does not satisfy the models "
                "(alpha with rounding: ceiling asks for more than the whole table has). Leave rounding out."
            )

    def solve(self, problem: Problem, run: Run) -> Groups:
        """The groups; where records weigh, the better ones of two searches, with weights and without.

        Each cut is the best by itself, which need not lead to the best groups: so weights may mislead it.
        """
        if problem.masses.even:
            return self._cut_up(problem, run)
        tried = [self._cut_up(asked, run) for asked in (problem, problem.varied(masses=Weights()))]
        return min(tried, key=lambda groups: _weighed_cost(problem, groups.group_of_record))

    def _cut_up(self, problem: Problem, run: Run) -> Groups:
        # under the ceiling two groups that look alike are one class that may fail: cut between values only
        strict = self.strict or not problem.all_survive_unions
        return Cutting(problem, strict=strict, widest=self.choose == "range").cut_up(run)


def _weighed_cost(problem: Problem, group_of_record: np.ndarray) -> float:
    """The total cost of all records, each counted by its mass."""
    order = np.argsort(group_of_record, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(group_of_record))])
    costs = costs_by_group(problem.coded.tables, problem.coded.searched_leaves(), order, start)
    return float(np.dot(costs, np.bincount(group_of_record, problem.masses.each)))
