"""CountingPeople: wraps an algorithm and unites its groups until every model holds for people."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.run import Run
from kohort.algorithms.uniting.diversify import diversify
from kohort.errors import UnsupportedError, counted
from kohort.problem.models import KAnonymity
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups
from kohort.recoding.recoding import Recoding

__all__ = ["CountingPeople", "needs_uniting"]


def needs_uniting(algorithm: Algorithm, problem: Problem) -> bool:
    """Whether an algorithm that makes groups needs `CountingPeople` around it.

    Not where the problem has one record per person, and not where the algorithm counts people itself and
    every model survives unions. Raises UnsupportedError for an algorithm that cannot count people at all.
    """
    if problem.persons is None:
        return False
    if algorithm.people == "refuses":
        raise UnsupportedError(
            f"{algorithm.name} counts records, and in this table people have several. Choose mondrian, "
            "full-domain or improve, which count people."
        )
    if algorithm.people == "counts":
        return issubclass(algorithm.recoding, Groups) and not problem.all_survive_unions
    return True


@dataclass(frozen=True)
class CountingPeople:
    """An algorithm around an algorithm that makes groups, for tables in which people have several records.

    inner   the algorithm whose groups are united
    weight  how much the cost counts against the models when groups are chosen for a union, 0 to 1
    """

    inner: Algorithm
    weight: float

    def refuse(self, problem: Problem) -> None:
        """Raise UnsupportedError for a problem that the inner algorithm cannot solve."""
        self.inner.refuse(self._inner_problem(problem))

    def solve(self, problem: Problem, run: Run) -> Recoding:
        """The inner algorithm's groups, united until every model holds for people."""
        groups = self.inner.solve(self._inner_problem(problem), run)
        assert isinstance(groups, Groups)
        united = diversify(problem, groups, run, w=self.weight)
        if united is groups:
            return groups
        note = (
            f"{counted(groups.n_groups, 'group')} were united into {united.n_groups:,}, until every promise "
            "held for people (diversify)."
        )
        return replace(united, notes=(*united.notes, note))

    def _inner_problem(self, problem: Problem) -> Problem:
        """The problem that the inner algorithm solves: of people if it counts them, else k alone, of records.

        k people have at least k records, so no group of records that it need not make is ruled out.
        """
        if self.inner.people != "counts":
            return problem.varied(persons=None, models=(KAnonymity(problem.k),))
        whole = np.zeros(problem.n_records, dtype=np.int64)
        kept = tuple(
            model
            for model in problem.models
            if model.holds(problem.counts(model, whole, slice(None), 1), problem.context(model)).all()
        )
        return problem.varied(models=kept or (KAnonymity(1),))
