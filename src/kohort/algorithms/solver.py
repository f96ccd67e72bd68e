"""Anything that solves problems: an algorithm, or one with others around it."""

from __future__ import annotations

from typing import Protocol

from kohort.algorithms.run import Run
from kohort.problem.problem import Problem
from kohort.recoding.recoding import Recoding


class Solver(Protocol):
    """The interface that an engine runs: refuse a problem, or solve it."""

    def refuse(self, problem: Problem) -> None:
        """Raise UnsupportedError for a problem this solver cannot solve, naming an algorithm that can."""
        ...

    def solve(self, problem: Problem, run: Run) -> Recoding:
        """A recoding that satisfies every model; where time runs out, the best one found so far."""
        ...
