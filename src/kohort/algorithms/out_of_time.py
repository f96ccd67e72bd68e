"""Groups of mondrian, returned by algorithms that run out of time before they have any groups."""

from __future__ import annotations

from dataclasses import replace

from kohort.algorithms.mondrian.mondrian import Mondrian
from kohort.algorithms.run import Run
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

SHARE_BEFORE = 0.8  # share of the time after which an algorithm gives up; mondrian gets the rest


def mondrian_instead(problem: Problem, run: Run, unfinished: str) -> Groups:
    """The groups that mondrian finds in the time that is left, with a note that says what was unfinished."""
    note = f"Stopped at the time limit before {unfinished}: mondrian made the groups, without a guarantee."
    groups = Mondrian().solve(problem, run)
    return replace(groups, notes=(note, *groups.notes))
