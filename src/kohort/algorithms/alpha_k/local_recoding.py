"""What the local recodings of Wong et al. (2009) for (alpha, k)-anonymity have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.refusals import refuse_other_costs, refuse_without_hierarchies
from kohort.errors import InfeasibleError, UnsupportedError
from kohort.problem.costs import Cost
from kohort.problem.counted_cells import CountedCells
from kohort.problem.problem import Problem
from kohort.problem.promises import AlphaDeassociation, KAnonymity, Model
from kohort.recoding.groups import Groups


class LocalRecoding(Algorithm):
    """A local recoding that counts sensitive records while it searches. It does not round alpha up."""

    paper: ClassVar[str] = "Wong, Li, Fu, Wang: (alpha, k)-anonymous data publishing, JIIS 33 (2009)"
    promise: ClassVar[str] = "no bound on the loss"
    recoding: ClassVar[type[Groups]] = Groups

    @classmethod
    def minimises(cls, cost: Cost) -> bool:
        return cost.separable

    @classmethod
    def meets(cls, model: type[Model]) -> bool:
        return model.only_counts or model.bounds_shares

    def refuse(self, problem: Problem) -> None:
        refuse_other_costs(self, problem)
        refuse_without_hierarchies(problem)
        try:
            replace(problem, models=tuple(alpha_k_models(problem)))
        except InfeasibleError as error:  # the problem itself can be solved: alpha is rounded up
            raise UnsupportedError(
                f"{self.name} does not round alpha up, and without that {error} "
                "Choose incognito, which does round it up."
            ) from None

    def rounding_notes(self, problem: Problem) -> tuple[str, ...]:
        """A note that alpha was applied more strictly than requested, if it was."""
        if all(model.survives_unions for model in problem.models):
            return ()
        return (
            f"alpha was not rounded up, though the spec allows it: {self.name} is stricter than requested.",
        )


@dataclass(frozen=True, eq=False)
class Demand:
    """The demand that no sensitive value makes up more than the share alpha of an equivalence class.

    value_of_cell  the sensitive value of each cell, -1 for none; values bounded together count as one
    """

    alpha: Fraction
    value_of_cell: np.ndarray
    n_values: int


def alpha_k_models(problem: Problem) -> list[Model]:
    """The models for k and alpha. Alpha is not rounded up: that is stricter, and survives unions."""
    k = [model for model in problem.models if isinstance(model, KAnonymity)]
    alpha = [
        replace(model, rounding="none") for model in problem.models if isinstance(model, AlphaDeassociation)
    ]
    return [*(k or [KAnonymity(1)]), *alpha]


def alpha_demands(cells: CountedCells) -> list[Demand]:
    """The demands for alpha, without those that every class satisfies anyway."""
    demands = []
    for model in alpha_k_models(cells.problem):
        if isinstance(model, AlphaDeassociation) and model.asked < 1:
            demands.append(_demand(model, cells))
    return demands


def _demand(model: AlphaDeassociation, cells: CountedCells) -> Demand:
    codes = cells.codes[model.attribute].astype(np.int64)
    sensitive = cells.problem.sensitive[model.attribute]
    if model.values is None:
        return Demand(model.asked, codes, sensitive.n_values)
    listed = np.isin(codes, sensitive.context.codes(model.values))
    if model.combine or len(model.values) == 1:
        return Demand(model.asked, np.where(listed, 0, -1), 1)
    return Demand(model.asked, np.where(listed, codes, -1), sensitive.n_values)
