"""Recoding of linked records: groups of people, each published slot by slot."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups
from kohort.recoding.recoding import Recoding


@dataclass(frozen=True, eq=False)
class SolvedPart:
    """The people who are published with the same slots: their problem, one record each, and its solution.

    share  the share of all records that are theirs
    """

    problem: Problem
    recoding: Recoding
    share: float


@dataclass(frozen=True, eq=False)
class HistoryGroups(Groups):
    """Groups of records: those that the people of a group have in the same slot.

    parts  the solved problems over people, where their bounds together are one for all records; else empty
    """

    parts: tuple[SolvedPart, ...] = ()

    def without_parts(self) -> HistoryGroups:
        return replace(self, parts=())
