"""Solve a problem where its table lives, within the time limit, and bound the cost of the best solution.

Promises about all classes together are met by a search for the smallest k whose release keeps them.
Such a promise is a limit on the average risk or on the share of records above a risk, k-map, or k over every
few known columns. Classes of some size always keep it, and smaller ones mostly break it the more, the smaller
they are: the k is found by bisection between the k that is promised and the k that is always enough. The
average over records of 1 over the size of their class, for one, is their number over that of all records.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kohort.algorithms import Progress, Run, Stop, bound_of, time_for_bound
from kohort.job.choose import Choice
from kohort.job.prepare import Prepared
from kohort.job.publish import Published
from kohort.kernels.compile_time import compile_ahead, compile_clock
from kohort.kernels.grouping import ranges_by_group
from kohort.problem.problem import Problem
from kohort.problem.promises import ClassCounts, KAnonymity, LabelledClasses, TableModel
from kohort.recoding.recoding import Recoding
from kohort.statement import Statement
from kohort.tables.source import refuse_too_large

if TYPE_CHECKING:
    from kohort.job.sides import Classes


@dataclass(frozen=True, eq=False)
class Solution:
    """What an algorithm found, with a proven lower bound on the least possible cost or None.

    was_cut  whether a time limit decided anything
    notes    about the bound and the time limit
    """

    recoding: Recoding
    bound: float | None
    was_cut: bool
    notes: tuple[str, ...]


def solve(problem: Problem, choice: Choice, request: Statement, clock: Clock) -> Solution:
    """The solution of a problem; compiling is not charged to the time limit."""
    shared: dict[str, Any] = {"progress": clock.progress, "stop": clock.stop}
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
    notes = [*bound.notes]
    if run.was_cut:
        own = request.time_limit is None
        limit = "the algorithm's own time limit" if own else f"the time limit of {request.time_limit:g} s"
        notes.append(
            f"The search was stopped by {'hand' if run.was_stopped else limit}. The same input, spec, "
            "version and seed may give another release next time, or on another machine; a search that is "
            "not stopped gives the same one."
        )
    return Solution(recoding, bound.value, run.was_cut, tuple(notes))


@dataclass
class Clock:
    """Measures the seconds of each phase of a job.

    progress  called with what is being done, and the share of it that is done
    stop      once it returns True, the best solution so far is taken, and no further bound is computed
    """

    seconds: dict[str, float]
    progress: Progress | None = None
    stop: Stop | None = None

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - start

    def set_apart(self, phase: str, seconds: float, *, of: str) -> None:
        """Count a part of one phase as a phase of its own."""
        self.seconds[of] -= seconds
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds


Attempt = tuple[Problem, Solution, Published]


def _limits_of_k(prepared: Prepared) -> tuple[int, int]:
    """The k that is promised, and one with which the classes always keep each promise."""
    sizes = (model.enough_k for model in prepared.kept_by_k)
    most = min(max(size for size in sizes if size is not None), prepared.n_people)
    return prepared.problem.k, max(most, prepared.problem.k)


def tries(prepared: Prepared) -> int:
    """How often a problem is solved at most, for each to get its share of a time limit."""
    low, high = _limits_of_k(prepared)
    return 1 if low == high else 2 + (high - low).bit_length()


def solve_within_limits(prepared: Prepared, attempt: Callable[[Problem], Attempt]) -> Attempt:
    """The attempt with the smallest k found whose classes keep every promise about all of them.

    Its k is in a note. A bound for that k is none for the promise, which allows others.
    """
    others = tuple(model for model in prepared.problem.models if not isinstance(model, KAnonymity))

    def with_k(k: int) -> Attempt:
        return attempt(prepared.problem.varied(models=(KAnonymity(k), *others)))

    low, high = _limits_of_k(prepared)
    found = attempt(prepared.problem)
    if low == high or _keeps(prepared, found[2]):
        high = low
    else:
        found = with_k(high)
    while high - low > 1:
        middle = (low + high) // 2
        tried = with_k(middle)
        if _keeps(prepared, tried[2]):
            high, found = middle, tried
        else:
            low = middle
    problem, solution, published = found
    note = (
        f"What is promised of all classes together was met with k = {high}, the smallest that a search by "
        "bisection found to keep it. No lower bound on the loss is known for such a promise."
    )
    recoding = replace(solution.recoding, guarantee=None)
    return problem, replace(solution, recoding=recoding, bound=None, notes=(*solution.notes, note)), published


def _keeps(prepared: Prepared, published: Published) -> bool:
    """Whether the classes that would be published keep every promise about all of them."""
    from kohort.job.sides import classes_of

    columns = [published.shown.column(attribute.name).codes for attribute in prepared.attributes]
    classes = classes_of(columns, len(published.rows))
    sizes = prepared.units.per_class(classes.of_record, classes.sizes, published.rows)
    return all(
        model.holds_in(_labelled_classes(prepared, classes)).all()
        if isinstance(model, TableModel)
        else model.holds(ClassCounts.of_sizes(sizes)).all()
        for model in prepared.kept_by_k
    )


def _labelled_classes(prepared: Prepared, classes: Classes) -> LabelledClasses:
    """The classes with their labels and, where a population is given, the people whom they fit at least.

    A bit per person and range of leaves: O(classes * distinct people * columns) bits. Those are counted who
    lie between the labels' first and last leaf as the values of a class need them; a label may be wider, and
    fit more people.
    """
    population = prepared.problem.population
    if not population.given:
        return LabelledClasses(classes.codes, classes.sizes)
    fitting = []
    for attribute, leaves in zip(prepared.attributes, population.leaves.T):
        needed = ranges_by_group(attribute.leaves, classes.of_record, len(classes.sizes))
        ends = np.column_stack(attribute.domain.closure(*needed))
        ranges, label = np.unique(ends, axis=0, return_inverse=True)
        bits = np.array([np.packbits((first <= leaves) & (leaves <= last)) for first, last in ranges])
        fitting.append((bits, label.ravel()))
    people = np.zeros(len(classes.sizes), dtype=np.int64)
    for number in range(len(people)):
        fits = np.bitwise_and.reduce([bits[label[number]] for bits, label in fitting])
        people[number] = population.counts[np.unpackbits(fits, count=len(population.counts)).view(bool)].sum()
    return LabelledClasses(classes.codes, classes.sizes, people, apart=False)
