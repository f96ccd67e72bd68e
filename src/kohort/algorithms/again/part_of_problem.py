"""The problem of some of the records, as a table of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kohort.problem.problem import Problem

__all__ = ["part_of_problem"]


def part_of_problem(problem: Problem, records: np.ndarray, max_withheld: int) -> Problem:
    """What is asked of some records alone; raises InfeasibleError where it is impossible for them.

    max_withheld  how many of them may be withheld
    """
    n_records = len(records)
    columns = {
        name: replace(s, column=replace(s.column, codes=s.column.codes[records]))
        for name, s in problem.sensitive.items()
    }
    masses = problem.masses
    return problem.varied(
        attributes=tuple(
            replace(a, column=replace(a.column, codes=a.column.codes[records])) for a in problem.attributes
        ),
        sensitive=columns,
        suppression=_share(max_withheld, n_records),
        masses=None if masses is None else masses[records] / masses[records].mean(),
    )


def _share(max_withheld: int, n_records: int) -> float:
    """A share of the records that is at most this many of them, in few digits so that it is exact in text."""
    return min(max_withheld * 1_000_000 // max(n_records, 1), 999_999) / 1_000_000
