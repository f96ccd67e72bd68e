"""CountingAlike: wraps an algorithm that counts all records alike, for a cost in which they have weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from kohort.algorithms.run import Run
from kohort.algorithms.solver import Solver
from kohort.problem.problem import Problem
from kohort.problem.units import Weights
from kohort.recoding.recoding import Recoding


@dataclass(frozen=True)
class CountingAlike:
    """An algorithm around an algorithm whose search does not weigh records.

    What it has proven about costs holds for records that all count the same, so it is left out.

    name  that of the algorithm, for the note
    """

    inner: Solver
    name: str

    def refuse(self, problem: Problem) -> None:
        """Raise UnsupportedError for a problem that the inner algorithm cannot solve."""
        self.inner.refuse(problem.varied(masses=Weights()))

    def solve(self, problem: Problem, run: Run) -> Recoding:
        """The recoding that the inner algorithm finds, without its proofs."""
        found: Any = self.inner.solve(problem.varied(masses=Weights()), run)
        note = (
            f"{self.name} searched as if all records had the same weight; the loss is measured with the "
            "weights. mondrian and full-domain search with them."
        )
        return replace(found, guarantee=None, bound=None, proof=None, notes=(*found.notes, note))
