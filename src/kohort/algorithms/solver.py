"""Anything that solves problems: an algorithm, or one with others around it."""

from __future__ import annotations

from typing import Protocol

from kohort.algorithms.run import Run
from kohort.problem.problem import Problem
from kohort.recoding.recoding import Recoding

__all__ = ["Solver"]


class Solver(Protocol):
    """What an engine runs."""

    def refuse(self, problem: Problem) -> None:
        """Raise UnsupportedError for what it cannot do, naming an algorithm that can."""
        ...

    def solve(self, problem: Problem, run: Run) -> Recoding:
        """A recoding that satisfies every model; where time runs out, the best one found so far."""
        ...
