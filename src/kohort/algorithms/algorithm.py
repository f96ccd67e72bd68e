"""What an algorithm is: a function from a Problem to a Recoding."""

from __future__ import annotations

from typing import ClassVar, Protocol

from kohort.algorithms.run import Run
from kohort.problem.problem import Problem
from kohort.recoding.recoding import Recoding

__all__ = ["Algorithm"]


class Algorithm(Protocol):
    """A way to solve a problem. Its parameters are frozen fields with defaults; `solve` keeps no state.

    name        as in the spec
    summary     what it does, in a sentence
    paper       where it comes from
    promise     the guarantee it gives, in a sentence
    models      names of the privacy models it meets itself; others that survive unions are met by uniting its
                groups (diversify), which the pipeline does
    costs       names of the costs it can minimise
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    promise: ClassVar[str]
    models: ClassVar[tuple[str, ...]]
    costs: ClassVar[tuple[str, ...]]

    def refuse(self, problem: Problem) -> None:
        """Raise UnsupportedError for what this algorithm cannot do, naming one that can."""
        ...

    def solve(self, problem: Problem, run: Run) -> Recoding:
        """A recoding that satisfies every model; where time runs out, the best one found so far."""
        ...
