"""What an engine is: a place where an algorithm runs on a problem."""

from __future__ import annotations

from typing import ClassVar, Protocol

from kohort.algorithms import Run, Solver
from kohort.problem.problem import Problem
from kohort.recoding.recoding import Recoding

__all__ = ["Engine"]


class Engine(Protocol):
    """A place where an algorithm solves a problem; its one method returns the recoding."""

    name: ClassVar[str]

    def solve(self, problem: Problem, algorithm: Solver, run: Run) -> Recoding: ...
