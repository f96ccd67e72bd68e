"""`auto`: the algorithm for people who do not want to choose one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.full_domain.full_domain import FullDomain
from kohort.algorithms.full_domain.incognito import Incognito
from kohort.algorithms.improve.improve import SECONDS, Improve
from kohort.algorithms.mondrian.mondrian import Mondrian
from kohort.algorithms.run import Run
from kohort.errors import UnsupportedError, counted
from kohort.problem.costs import Cost
from kohort.problem.problem import Problem
from kohort.problem.promises import Model
from kohort.recoding.groups import Groups
from kohort.recoding.recoding import Recoding

_MOST_RECORDS = 500_000  # without a time limit; larger tables are then released within seconds


@dataclass(frozen=True)
class Auto(Algorithm):
    """Chooses the algorithm by the problem, and says which and why."""

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "chooses an algorithm for the problem, and says which one and why"
    paper: ClassVar[str] = ""
    promise: ClassVar[str] = "the guarantee of the algorithm that it chooses"
    recoding: ClassVar[type[Groups]] = Groups
    withholds: ClassVar[bool] = True
    scheme_search: ClassVar[str | None] = "optimal-recoding"

    @classmethod
    def minimises(cls, cost: Cost) -> bool:
        return cost.of_numbers or Mondrian.minimises(cost)

    @classmethod
    def meets(cls, model: type[Model]) -> bool:
        return True

    def choice_for(self, problem: Problem, time_limit: float | None) -> tuple[Algorithm, tuple[str, ...]]:
        """The algorithm for this problem, and the reason in a sentence."""
        table = (
            f"{counted(problem.n_records, 'record')} and "
            f"{counted(len(problem.attributes), 'quasi-identifier')}"
        )
        if any(model.of_table for model in problem.models):
            return _over_levels(problem, table)
        if problem.cost.of_numbers:
            return Improve(), (f"improve was chosen for {table}: it minimises {problem.cost.name}.",)
        obstacle_found = obstacle(problem)
        if obstacle_found is None and time_limit is None and problem.n_records > _MOST_RECORDS:
            obstacle_found = (
                f"for more than {_MOST_RECORDS:,} records, improve is chosen only with a time limit"
            )
        if obstacle_found is None:
            seconds = f"{SECONDS if time_limit is None else time_limit:g} s"
            return Improve(), (
                f"improve was chosen for {table}: it usually loses the least information, and takes at most "
                f"{seconds}.",
            )
        return Mondrian(), (
            f"mondrian was chosen for {table}: it is fast on tables of any size and supports every privacy "
            f"model; {obstacle_found}.",
        )

    def refuse(self, problem: Problem) -> None:
        self.choice_for(problem, None)[0].refuse(problem)

    def solve(self, problem: Problem, run: Run) -> Recoding:
        return self.choice_for(problem, run.seconds_left)[0].solve(problem, run)


def _over_levels(problem: Problem, table: str) -> tuple[Algorithm, tuple[str, ...]]:
    """The search for promises about a whole table, and the reason in a sentence."""
    names = ", ".join(model.name for model in problem.models if model.of_table)
    chosen: Algorithm = FullDomain() if FullDomain.minimises(problem.cost) else Incognito()
    return chosen, (
        f"{chosen.name} was chosen for {table}: {names} is a promise about the labels of a whole table, "
        "which searches over the levels of hierarchies can keep.",
    )


def obstacle(problem: Problem) -> str | None:
    """Why the algorithm improve cannot be used for this problem, in words; None if it can be."""
    if problem.items is not None:
        return "with a column of items, groups of many sizes are made and compared"
    if not problem.masses.even:
        return "mondrian minimises a loss in which records have weights"
    try:
        Improve().refuse(problem)
    except UnsupportedError as error:
        return f"improve cannot be used here ({str(error).split('. ')[0].rstrip('.')})"
    return None
