"""CountingPeople: wraps an algorithm that makes groups, so that every model holds for people."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.run import Run
from kohort.errors import UnsupportedError, counted
from kohort.late import late_function
from kohort.problem.problem import Problem
from kohort.problem.promises import KAnonymity
from kohort.problem.units import Units
from kohort.recoding.groups import Groups
from kohort.recoding.recoding import Recoding

diversify = late_function("kohort.algorithms.uniting.diversify", "diversify")


def needs_uniting(algorithm: Algorithm, problem: Problem) -> bool:
    """Whether an algorithm that makes groups needs `CountingPeople` around it.

    Not where the problem has one record per person, and not where the algorithm counts people itself and
    every model survives unions. Raises UnsupportedError for an algorithm that cannot count people at all.
    """
    if not len(problem.units.persons):  # also where people are elsewhere
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

    One that counts records makes groups of k records first. Then groups are united until every model holds
    for people.

    inner   the algorithm whose groups are united
    weight  how much the cost counts against the models when groups are chosen for a union, 0 to 1
    """

    inner: Algorithm
    weight: float

    def refuse(self, problem: Problem) -> None:
        """Raise UnsupportedError for a problem that the inner algorithm cannot solve."""
        self.inner.refuse(self._of_inner(problem))

    def solve(self, problem: Problem, run: Run) -> Recoding:
        """The inner algorithm's groups, united until every model holds for people."""
        groups = self.inner.solve(self._of_inner(problem), run)
        assert isinstance(groups, Groups)
        united = diversify(problem, groups, run, w=self.weight)
        if united is groups:
            return groups
        note = (
            f"{counted(groups.n_groups, 'group')} were united into {united.n_groups:,}, until every promise "
            "held for people (diversify)."
        )
        return replace(united, notes=(*united.notes, note))

    def _of_inner(self, problem: Problem) -> Problem:
        """The problem that the inner algorithm solves: as far as it can know whose records there are."""
        if self.inner.people == "counts":
            return kept_by_whole_table(problem)
        return problem.varied(models=(KAnonymity(problem.k),), units=Units())


def kept_by_whole_table(problem: Problem) -> Problem:
    """The problem without models that all records as one class break; for these, groups are united later."""
    kept = tuple(
        model
        for model in problem.models
        if model.holds(problem.counts_of_whole(model), problem.context(model)).all()
    )
    return problem.varied(models=kept or (KAnonymity(1),))
