"""Solve a problem where its table lives, within the time limit, and bound the cost of the best solution."""

from __future__ import annotations

from dataclasses import dataclass

from kohort.algorithms import Progress, Run, bound_of, time_for_bound
from kohort.engines import engine_named
from kohort.kernels.ahead import compile_ahead
from kohort.kernels.compile_time import compile_clock
from kohort.pipeline.choose import Choice
from kohort.pipeline.clock import Clock
from kohort.pipeline.request import Request
from kohort.problem.problem import Problem
from kohort.recoding.recoding import Recoding

__all__ = ["Solution", "solve"]


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
    problem: Problem, choice: Choice, request: Request, clock: Clock, progress: Progress | None
) -> Solution:
    """The solution of a problem; compiling is not charged to the time limit."""
    with clock("solve"), compile_clock() as compiling:
        run = Run(time_limit=request.time_limit, progress=progress, excluded=lambda: compiling.seconds)
        compile_ahead(choice.names)
        recoding = engine_named(request.engine).solve(problem, choice.solver, run)
    clock.set_apart("compile", compiling.seconds, of="solve")
    with clock("bound"), compile_clock() as compiling:
        seconds = time_for_bound(clock.seconds["solve"], request.time_limit)
        judging = Run(time_limit=seconds, progress=progress, excluded=lambda: compiling.seconds)
        bound = bound_of(problem, recoding, judging)
    clock.set_apart("compile", compiling.seconds, of="bound")
    cut = _cut_note(request.time_limit) if run.was_cut else ()
    return Solution(recoding, bound.value, run.was_cut, (*bound.notes, *cut))


def _cut_note(asked: float | None) -> tuple[str, ...]:
    """The note on a search that a time limit cut: the one asked for, or the algorithm's own."""
    limit = "the algorithm's own time limit" if asked is None else f"the time limit of {asked:g} s"
    return (
        f"The search was stopped by {limit}. The same input, spec, version and seed may give another release "
        "next time, or on another machine; a search that is not stopped gives the same one.",
    )
