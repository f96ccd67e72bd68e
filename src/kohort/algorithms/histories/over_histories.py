"""OverHistories: wraps an algorithm so that it puts people into groups by all their records together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kohort.algorithms.histories.parts import Part, parts_of, wide_problem
from kohort.algorithms.run import Run
from kohort.algorithms.solver import Solver
from kohort.errors import UnsupportedError
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups, HistoryGroups, SolvedPart
from kohort.recoding.recoding import Recoding


@dataclass(frozen=True)
class OverHistories:
    """An algorithm around an algorithm that makes groups.

    People who are published with the same slots are a problem of their own, with one wide record for each of
    them. Its groups are groups of people, and in each slot these people's records are one group.
    """

    inner: Solver

    def refuse(self, problem: Problem) -> None:
        """Raise UnsupportedError for a problem that the inner algorithm cannot solve."""
        for part in parts_of(problem):
            self.inner.refuse(wide_problem(problem, part))

    def solve(self, problem: Problem, run: Run) -> Recoding:
        """Groups of records: those that the people of a group have in the same slot."""
        parts = parts_of(problem)
        published = sum(part.records.size for part in parts)
        share = (problem.max_withheld - (problem.n_records - published)) / max(published, 1)
        solved, done = [], 0
        for part in parts:
            size = part.records.size
            wide = wide_problem(problem, part, max_withheld=int(share * len(part.records)))
            in_time = run.share_of_time(size / (published - done))
            reporting = in_time.part(
                "people with the same slots", done / published, (done + size) / published
            )
            groups = self.inner.solve(wide, reporting)
            if not isinstance(groups, Groups):
                raise UnsupportedError("Linked records need an algorithm that makes groups. Choose mondrian.")
            solved.append(SolvedPart(wide, groups, size / problem.n_records))
            done += size
        return _united(problem, parts, solved)


def _united(problem: Problem, parts: Sequence[Part], solved: Sequence[SolvedPart]) -> HistoryGroups:
    """The groups of all parts as groups of records."""
    of_record = np.full(problem.n_records, -1, dtype=np.int32)
    n_groups = 0
    for part, found in zip(parts, solved):
        assert isinstance(found.recoding, Groups)
        group = found.recoding.group_of_record[:, None] * part.n_slots + np.arange(part.n_slots)
        of_record[part.records] = np.where(found.recoding.withheld[:, None], -1, n_groups + group)
        n_groups += found.recoding.n_groups * part.n_slots
    notes = dict.fromkeys(note for found in solved for note in found.recoding.notes)
    proven = _is_whole_problem(problem)
    return HistoryGroups(
        _renumbered(of_record),
        guarantee=_greatest([found.recoding.guarantee for found in solved]) if proven else None,
        notes=tuple(notes),
        parts=tuple(solved) if proven else (),
    )


def _is_whole_problem(problem: Problem) -> bool:
    """Whether every release of the linked records is one of the problems over people.

    Not where records may be withheld, which may change who has which slots; nor for bags, as other orders of
    a person's records are not tried; nor for costs that depend on how often values occur; nor where records
    weigh, as those of a person may differ in weight.
    """
    if problem.units.histories.slots is None or not problem.masses.even:
        return False
    return not problem.max_withheld and problem.cost.mean_of_cells


def _greatest(factors: Sequence[float | None]) -> float | None:
    known = [factor for factor in factors if factor is not None]
    return max(known) if len(known) == len(factors) else None


def _renumbered(of_record: np.ndarray) -> np.ndarray:
    """Groups numbered from 0 on without gaps; -1 stays."""
    kept = of_record >= 0
    of_record[kept] = np.unique(of_record[kept], return_inverse=True)[1]
    return of_record
