"""Solve a problem where its table lives, within the time limit, and bound the cost of the best solution."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kohort.algorithms import Progress, Run, Stop, bound_of, time_for_bound
from kohort.job.choose import Choice
from kohort.kernels.compile_time import compile_ahead, compile_clock
from kohort.problem.problem import Problem
from kohort.recoding.recoding import Recoding
from kohort.statement import Statement
from kohort.tables.places import refuse_too_large


@dataclass(frozen=True, eq=False)
class Solution:
    """What an algorithm found.

    bound      a proven lower bound on the least possible cost, or None
    was_cut    whether a time limit decided anything
    notes      about the bound and the time limit
    """

    recoding: Recoding
    bound: float | None
    was_cut: bool
    notes: tuple[str, ...]


def solve(
    problem: Problem,
    choice: Choice,
    request: Statement,
    clock: Clock,
    progress: Progress | None,
    stop: Stop | None = None,
) -> Solution:
    """The solution of a problem; compiling is not charged to the time limit.

    stop  once it returns True, the best solution so far is taken, and no further bound is computed
    """
    shared: dict[str, Any] = {"progress": progress, "stop": stop}
    with clock("solve"), compile_clock() as compiling:
        run = Run(time_limit=request.time_limit, excluded=lambda: compiling.seconds, **shared)
        compile_ahead(choice.names)
        refuse_too_large(problem.n_records)
        recoding = choice.solver.solve(problem, run)
    clock.set_apart("compile", compiling.seconds, of="solve")
    with clock("bound"), compile_clock() as compiling:
        seconds = time_for_bound(clock.seconds["solve"], request.time_limit)
        judging = Run(time_limit=seconds, excluded=lambda: compiling.seconds, **shared)
        bound = bound_of(problem, recoding, judging)
    clock.set_apart("compile", compiling.seconds, of="bound")
    by_hand = run.was_cut and run.was_stopped
    cut = _cut_note(request.time_limit, by_hand) if run.was_cut else ()
    return Solution(recoding, bound.value, run.was_cut, (*bound.notes, *cut))


def _cut_note(asked: float | None, by_hand: bool) -> tuple[str, ...]:
    """The note on a search that was cut: by hand, by the time limit asked for, or by the algorithm's own."""
    limit = "the algorithm's own time limit" if asked is None else f"the time limit of {asked:g} s"
    by = "hand" if by_hand else limit
    return (
        f"The search was stopped by {by}. The same input, spec, version and seed may give another release "
        "next time, or on another machine; a search that is not stopped gives the same one.",
    )


class Clock:
    """Measures the seconds of each phase of a job."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - start

    def set_apart(self, phase: str, seconds: float, *, of: str) -> None:
        """Count a part of one phase as a phase of its own."""
        self.seconds[of] -= seconds
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds
