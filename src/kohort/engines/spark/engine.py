"""The Spark engine by its name: what it is for, and what runs on it."""

from __future__ import annotations

from typing import ClassVar

from kohort.algorithms import Run, Solver
from kohort.engines.engine import Place
from kohort.errors import UnsupportedError
from kohort.problem.problem import Problem
from kohort.recoding.recoding import Recoding

__all__ = ["SparkEngine"]

_ELSEWHERE = (
    "engine: spark is for tables that Spark reads: use kohort.spark.anonymize in Python, or kohort anonymize "
    "with --engine spark."
)


class SparkEngine:
    """Tables on many machines; see `kohort.spark.anonymize`. Its job is not that of one process."""

    name: ClassVar[str] = "spark"

    def place(self, size: int) -> Place:
        raise UnsupportedError(_ELSEWHERE)

    def solve(self, problem: Problem, algorithm: Solver, run: Run) -> Recoding:
        raise UnsupportedError(_ELSEWHERE)
