"""United: wraps an algorithm and unites its groups until models hold that it does not support itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.run import Run
from kohort.errors import UnsupportedError, counted
from kohort.late import late_function
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups
from kohort.recoding.recoding import Recoding

diversify = late_function("kohort.algorithms.uniting.diversify", "diversify")


@dataclass(frozen=True)
class United:
    """An algorithm around an algorithm that makes groups.

    inner   the algorithm whose groups are united
    unmet   names of the models that it does not support
    weight  how much the cost counts against the models when groups are chosen for a union, 0 to 1
    """

    inner: Algorithm
    unmet: tuple[str, ...]
    weight: float

    def refuse(self, problem: Problem) -> None:
        """Raise UnsupportedError for a problem that the inner algorithm cannot solve."""
        self.inner.refuse(problem)

    def solve(self, problem: Problem, run: Run) -> Recoding:
        """The inner algorithm's groups, united until every model holds."""
        groups = self.inner.solve(problem, run)
        if not isinstance(groups, Groups):
            raise UnsupportedError(
                f"{self.inner.name} does not support {', '.join(self.unmet)}, and makes no groups that could "
                "be united until it holds."
            )
        united = diversify(problem, groups, run, w=self.weight)
        if united is groups:
            return groups
        note = (
            f"{counted(groups.n_groups, 'group')} were united into {united.n_groups:,}, "
            f"until {' and '.join(self.unmet)} held (diversify)."
        )
        return replace(united, notes=(*united.notes, note))
