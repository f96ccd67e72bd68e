"""The classes that a recoding would publish, with whom of a population they fit."""

from __future__ import annotations

import numpy as np

from kohort.kernels.grouping import ranges_by_group
from kohort.pipeline.before_after import Classes
from kohort.pipeline.prepare import Prepared
from kohort.problem.attribute import Attribute
from kohort.problem.models import LabelledClasses

__all__ = ["labelled_classes"]


def labelled_classes(prepared: Prepared, classes: Classes) -> LabelledClasses:
    """The classes with their labels and, where a population is given, the people whom they fit at least.

    O(classes * distinct people * columns) bits. Everybody is counted who lies between the labels' first and
    last leaf as the values of a class need them; a label may be wider, and fit more people.
    """
    population = prepared.problem.population
    if population is None:
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
