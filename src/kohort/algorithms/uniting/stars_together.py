"""StarsTogether: wraps an algorithm so that its withheld records and groups of stars count as one class."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kohort.algorithms.run import Run
from kohort.algorithms.solver import Solver
from kohort.data.domain import STAR
from kohort.errors import counted
from kohort.late import late_function
from kohort.problem.problem import Problem
from kohort.recoding.columns import Partitions
from kohort.recoding.groups import Groups
from kohort.recoding.recoding import Recoding

diversify = late_function("kohort.algorithms.uniting.diversify", "diversify")


@dataclass(frozen=True)
class StarsTogether:
    """An algorithm around an algorithm that may withhold records.

    Withheld records and a group published as `*` everywhere look alike. They may be published as they are if
    together they satisfy every model, or if they can be left out later. Under t-closeness only the first is
    allowed, since it compares classes with the whole table, of which no record may be missing. Otherwise
    groups are united with them until they satisfy the models; a recoding that has no groups is replaced by
    one that withholds no record. Takes the time of applying the recoding, and only where records are
    withheld.

    inner            the algorithm that finds the recoding
    null_is_star     whether a missing value is published as `*`
    can_be_left_out  whether withheld records are left out where they may not be published as `*`
    """

    inner: Solver
    null_is_star: bool
    can_be_left_out: bool = True

    def refuse(self, problem: Problem) -> None:
        """Raise UnsupportedError for a problem that the inner algorithm cannot solve."""
        self.inner.refuse(problem)

    def solve(self, problem: Problem, run: Run) -> Recoding:
        """The inner algorithm's recoding, changed where its withheld records would violate a model."""
        recoding = self.inner.solve(problem, run)
        if not recoding.withheld.any():
            return recoding
        starred = _starred(problem, recoding, self.null_is_star)
        alike = starred | recoding.withheld
        few_enough = self.can_be_left_out or not starred.any() or alike.sum() <= problem.max_withheld
        if _satisfies(problem, alike) or (few_enough and not _compares_with_whole_table(problem)):
            return _unproven(recoding) if starred.any() and not problem.cost.separable else recoding
        if not isinstance(recoding, Groups):
            return self.inner.solve(problem.varied(suppression=0.0), run)
        return _united_with_stars(problem, recoding, alike, run)


def _unproven(recoding: Recoding) -> Recoding:
    """The recoding without what a search over partitions has proven: it counted stars in two classes.

    A cost by the sizes of classes may be lower where missing values look like withheld records.
    """
    if not isinstance(recoding, Partitions):
        return recoding
    note = (
        "Nothing is proven about the cost: missing values are published as `*`, as withheld records are, and "
        "the search counted the two apart."
    )
    return replace(recoding, search={}, notes=(note,))


def _united_with_stars(problem: Problem, groups: Groups, alike: np.ndarray, run: Run) -> Groups:
    """The groups after the records `alike` became one group and it was united until it meets every model."""
    one_group = np.where(alike, groups.n_groups, groups.group_of_record).astype(np.int32)
    united = diversify(problem, replace(groups, group_of_record=_renumbered(one_group)), run)
    note = (
        f"{counted(int(groups.withheld.sum()), 'record')} to withhold, together with all other records that "
        "are `*` everywhere, would have violated a privacy model: they were united with other groups until "
        "they satisfied every model."
    )
    return replace(united, notes=(*united.notes, note))


def _starred(problem: Problem, recoding: Recoding, null_is_star: bool) -> np.ndarray:
    """Whether each record is published as `*` everywhere without being withheld."""
    starred = ~recoding.withheld
    for attribute in problem.attributes:
        if not starred.any():
            break
        published = recoding.apply(attribute)
        is_star = [label == STAR or (label is None and null_is_star) for label in published.labels]
        starred &= np.array(is_star, dtype=bool)[published.of_record]
    return starred


def _compares_with_whole_table(problem: Problem) -> bool:
    return any(model.compares_with_whole_table for model in problem.models)


def _satisfies(problem: Problem, chosen: np.ndarray) -> bool:
    records = np.flatnonzero(chosen)
    return bool(problem.satisfied(np.zeros(len(records), dtype=np.int64), records, 1).all())


def _renumbered(group_of_record: np.ndarray) -> np.ndarray:
    return np.unique(group_of_record, return_inverse=True)[1].astype(np.int32)
