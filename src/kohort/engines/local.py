"""The local engine: algorithms run in this process."""

from __future__ import annotations

from typing import ClassVar

from kohort.algorithms import Run, Solver
from kohort.problem.problem import Problem
from kohort.recoding.recoding import Recoding

__all__ = ["LocalEngine"]


class LocalEngine:
    """Runs an algorithm in this process, on as many cores as its kernels use."""

    name: ClassVar[str] = "local"

    def solve(self, problem: Problem, algorithm: Solver, run: Run) -> Recoding:
        return algorithm.solve(problem, run)
