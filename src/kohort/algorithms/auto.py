"""`auto`: the algorithm for people who do not want to choose one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.local.mondrian import Mondrian
from kohort.algorithms.run import Run
from kohort.problem.problem import Problem
from kohort.recoding.recoding import Recoding

__all__ = ["Auto"]


@dataclass(frozen=True)
class Auto:
    """Chooses the algorithm by the problem, and says which and why."""

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "chooses the algorithm by the problem, and says which and why"
    paper: ClassVar[str] = ""
    promise: ClassVar[str] = "that of the algorithm it chooses"
    models: ClassVar[tuple[str, ...]] = Mondrian.models
    costs: ClassVar[tuple[str, ...]] = Mondrian.costs

    def choose(self, problem: Problem) -> tuple[Algorithm, str]:
        """The algorithm for this problem, and the reason in a sentence."""
        return Mondrian(), (
            f"mondrian was chosen for {problem.n_records} records and {len(problem.attributes)} "
            "quasi-identifiers: it is near-linear and meets every privacy model."
        )

    def refuse(self, problem: Problem) -> None:
        self.choose(problem)[0].refuse(problem)

    def solve(self, problem: Problem, run: Run) -> Recoding:
        return self.choose(problem)[0].solve(problem, run)
