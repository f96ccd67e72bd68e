"""`auto`: the algorithm for people who do not want to choose one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.local.improve import Improve
from kohort.algorithms.local.mondrian import Mondrian
from kohort.algorithms.run import Run
from kohort.errors import UnsupportedError, counted
from kohort.problem.problem import Problem
from kohort.recoding.recoding import Recoding

__all__ = ["Auto"]

_MOST_ROWS, _MOST_ATTRIBUTES = 150_000, 11  # distinct rows, quasi-identifiers: more closed records do not fit


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
        table = (
            f"{counted(problem.n_records, 'record')} and "
            f"{counted(len(problem.attributes), 'quasi-identifier')}"
        )
        obstacle = _obstacle(problem)
        if obstacle is None:
            return Improve(), (
                f"improve was chosen for {table}: it loses least, and proves how little can be lost at all."
            )
        return Mondrian(), (
            f"mondrian was chosen for {table}: {obstacle}, and mondrian is near-linear and meets every "
            "privacy model."
        )

    def refuse(self, problem: Problem) -> None:
        self.choose(problem)[0].refuse(problem)

    def solve(self, problem: Problem, run: Run) -> Recoding:
        return self.choose(problem)[0].solve(problem, run)


def _obstacle(problem: Problem) -> str | None:
    """Why improve cannot be taken, or None."""
    if len(problem.attributes) > _MOST_ATTRIBUTES:
        return f"improve is for at most {_MOST_ATTRIBUTES} quasi-identifiers"
    if problem.tight:
        return "improve is not for tight labels"
    try:
        Improve().refuse(problem)
    except UnsupportedError:
        return "improve needs a hierarchy for every quasi-identifier, and does not know every model"
    if len(problem.rows.counts) > _MOST_ROWS:
        return f"improve is for at most {_MOST_ROWS:,} distinct records"
    return None
