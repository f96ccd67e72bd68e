"""Meet promises about all classes together: search for the smallest k whose release keeps them.

Such a promise is a limit on the average risk or on the share of records above a risk, k-map, or k over every
few known columns. Classes of some size always keep it, and smaller ones mostly break it the more, the smaller
they are: the k is found by bisection between the k that is promised and the k that is always enough. The
average over records of 1 over the size of their class, for one, is their number over that of all records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kohort.job.prepare import Prepared, kept_by_k
from kohort.job.publish import Published
from kohort.job.solve import Solution
from kohort.kernels.grouping import ranges_by_group
from kohort.pipeline.before_after import Classes, classes_of
from kohort.problem.attribute import Attribute
from kohort.problem.problem import Problem
from kohort.problem.promises import ClassCounts, KAnonymity, LabelledClasses, Model, TableModel

Attempt = tuple[Problem, Solution, Published]


def promised_by_k(prepared: Prepared) -> tuple[Model, ...]:
    """The promises that are kept by a search for a k."""
    return kept_by_k(prepared.request, prepared.n_people) if prepared.attributes else ()


def tries(prepared: Prepared) -> int:
    """How often a problem is solved at most, for each to get its share of a time limit."""
    low, high = prepared.problem.k, _enough(prepared)
    return 1 if low >= high else 2 + (high - low).bit_length()


def solve_within_limits(prepared: Prepared, attempt: Callable[[Problem], Attempt]) -> Attempt:
    """The attempt with the smallest k found whose classes keep every promise about all of them."""
    problem = prepared.problem
    found = attempt(problem)
    low, high = problem.k, _enough(prepared)
    if low >= high or _keeps(prepared, found[2]):
        return _noted(found, problem.k)
    found = attempt(_with_k(problem, high))
    while high - low > 1:
        middle = (low + high) // 2
        tried = attempt(_with_k(problem, middle))
        if _keeps(prepared, tried[2]):
            high, found = middle, tried
        else:
            low = middle
    return _noted(found, high)


def _enough(prepared: Prepared) -> int:
    """A k with which the classes always keep each promise."""
    sizes = (model.enough_k for model in promised_by_k(prepared))
    return min(max(size for size in sizes if size is not None), prepared.n_people)


def _with_k(problem: Problem, k: int) -> Problem:
    others = tuple(model for model in problem.models if not isinstance(model, KAnonymity))
    return problem.varied(models=(KAnonymity(k), *others))


def _keeps(prepared: Prepared, published: Published) -> bool:
    """Whether the classes that would be published keep every promise about all of them."""
    columns = [published.shown.column(attribute.name).codes for attribute in prepared.attributes]
    classes = classes_of(columns, len(published.rows))
    sizes = prepared.units.per_class(classes.of_record, classes.sizes, published.rows)
    for model in promised_by_k(prepared):
        held = (
            model.holds_in(_labelled_classes(prepared, classes))
            if isinstance(model, TableModel)
            else model.holds(ClassCounts.of_sizes(sizes))
        )
        if not held.all():
            return False
    return True


def _noted(found: Attempt, k: int) -> Attempt:
    """The attempt with its k in a note. A bound for that k is none for the promise, which allows others."""
    problem, solution, published = found
    note = (
        f"What is promised of all classes together was met with k = {k}, the smallest that a search by "
        "bisection found to keep it. No lower bound on the loss is known for such a promise."
    )
    recoding = replace(solution.recoding, guarantee=None)  # type: ignore[type-var]
    kept = replace(solution, recoding=recoding, bound=None, notes=(*solution.notes, note))
    return problem, kept, published


def _labelled_classes(prepared: Prepared, classes: Classes) -> LabelledClasses:
    """The classes with their labels and, where a population is given, the people whom they fit at least.

    O(classes * distinct people * columns) bits. Everybody is counted who lies between the labels' first and
    last leaf as the values of a class need them; a label may be wider, and fit more people.
    """
    population = prepared.problem.population
    if not population.given:
        return LabelledClasses(classes.codes, classes.sizes)
    fitting = [
        _inside(leaves, *_ranges(attribute, classes))
        for attribute, leaves in zip(prepared.attributes, population.leaves.T)
    ]
    people = np.zeros(len(classes.sizes), dtype=np.int64)
    for number in range(len(people)):
        fits = np.bitwise_and.reduce([bits[label[number]] for bits, label in fitting])
        people[number] = population.counts[np.unpackbits(fits, count=len(population.counts)).view(bool)].sum()
    return LabelledClasses(classes.codes, classes.sizes, people, apart=False)


def _ranges(attribute: Attribute, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
    """The first and last leaf of the label that the values of each class need."""
    lo, hi = ranges_by_group(attribute.leaves, classes.of_record, len(classes.sizes))
    return attribute.domain.closure(lo, hi)


def _inside(leaves: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each different range a bit per person of the population, and which range each class has."""
    ranges, label = np.unique(np.column_stack([lo, hi]), axis=0, return_inverse=True)
    bits = [np.packbits((first <= leaves) & (leaves <= last)) for first, last in ranges]
    return np.array(bits), label.ravel()
