"""Fresh: a release as if there were no earlier ones. For comparison; the ledger shows what it gives away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kohort.algorithms.again.standing import Standing
from kohort.algorithms.run import Run
from kohort.algorithms.solver import Solver
from kohort.errors import UnsupportedError
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups, PlacedGroups
from kohort.recoding.recoding import Recoding


@dataclass(frozen=True)
class Fresh:
    """An algorithm that solves the whole table; everybody keeps a place of their own."""

    inner: Solver
    standing: Standing

    def refuse(self, problem: Problem) -> None:
        """Raise UnsupportedError for a problem that the inner algorithm cannot solve."""
        self.inner.refuse(problem)

    def solve(self, problem: Problem, run: Run) -> Recoding:
        """The inner algorithm's groups, each record in its person's place."""
        groups = self.inner.solve(problem, run)
        if not isinstance(groups, Groups):
            raise UnsupportedError(
                "With a ledger, an algorithm that makes groups is needed. Choose mondrian."
            )
        standing = self.standing
        place = np.where(standing.holds, standing.place_of_record, -1)
        new = np.flatnonzero(place < 0)
        place[new] = standing.n_places + np.arange(len(new))
        return PlacedGroups(
            groups.group_of_record,
            notes=groups.notes,
            place_of_record=np.where(groups.withheld, -1, place),
            told={"passed_on": 0, "resting": 0, "waiting": int(groups.withheld.sum())},
        )
