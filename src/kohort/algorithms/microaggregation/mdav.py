"""Microaggregation by MDAV and V-MDAV: near records become groups, which publish their means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.microaggregation.kernels.mdav import mdav_groups, v_mdav_groups
from kohort.algorithms.number_points import points_of, refuse_many_points
from kohort.algorithms.refusals import refuse_other_costs
from kohort.algorithms.run import Run
from kohort.errors import UnsupportedError
from kohort.parameters import Within
from kohort.problem.costs import Cost
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups


@dataclass(frozen=True)
class Mdav(Algorithm):
    """Maximum distance to average vector (Domingo-Ferrer and Mateo-Sanz, 2002; Solanas and others, 2006).

    Records are points: numbers, standardized; other columns by the places of their leaves. Again and again
    the point farthest from the centre of those that are left and its k - 1 nearest become a group, and so do
    the point farthest from that one and its nearest. It keeps the sum of squared distances to the centres of
    groups low, which is what means lose; it does not look at the cost of labels.

    gamma  0: groups of exactly k, but for the last (MDAV). Above: a group takes in its nearest point, up to
           2k - 1 of them, while that is nearer to it than gamma times its nearest other point (V-MDAV)

    O(n^2 * attributes / k).

    >>> import pyarrow as pa, kohort as ko
    >>> people = pa.table({"wage": [10, 40, 11, 42]})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers={"wage": None}, k=2, publish={"wage": "mean"}, algorithm=Mdav(),
    ...     shuffle=False,
    ... )
    >>> release.table["wage"].to_pylist()
    [10.5, 41.0, 10.5, 41.0]
    """

    name: ClassVar[str] = "mdav"
    summary: ClassVar[str] = (
        "groups near records from the outside in; for numbers that are published as means"
    )
    paper: ClassVar[str] = (
        "Domingo-Ferrer, Mateo-Sanz: Practical data-oriented microaggregation for statistical disclosure "
        "control, TKDE 14 (2002); Solanas, Martínez-Ballesté: V-MDAV, COMPSTAT 2006"
    )
    promise: ClassVar[str] = "no bound on the loss; the yardstick for the sum of squares"
    recoding: ClassVar[type[Groups]] = Groups

    gamma: Annotated[float, Within(0, 10)] = 0.0

    @classmethod
    def minimises(cls, cost: Cost) -> bool:
        return cost.adds_up or cost.of_numbers

    def refuse(self, problem: Problem) -> None:
        refuse_many_points(self.name, problem.n_records)
        if not problem.cost.of_numbers:
            refuse_other_costs(self, problem)
        elif not all(model.only_counts for model in problem.models):
            raise UnsupportedError(
                "Groups are united for other privacy models by what labels cost. Choose another cost than "
                "squares."
            )

    def solve(self, problem: Problem, run: Run) -> Groups:
        points = points_of(problem)
        if self.gamma > 0:
            return Groups(v_mdav_groups(points, problem.k, float(self.gamma)).astype("int32"))
        return Groups(mdav_groups(points, problem.k).astype("int32"))
