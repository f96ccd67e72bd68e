"""Whom of a population the classes of a published table fit, read from their labels alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kohort.data.column import Column
from kohort.problem.attribute import Attribute
from kohort.verification.covering import read_covering

__all__ = ["Fitting", "people_fitting"]


class Fitting(NamedTuple):
    """How many people each class fits, how many fit none, and whether nobody fits two."""

    people: np.ndarray
    elsewhere: int
    apart: bool


def people_fitting(
    columns: Sequence[Column], codes: Sequence[np.ndarray], population: Sequence[Attribute]
) -> Fitting:
    """Count the people of a population whom the labels of each class cover in every column.

    columns     the published quasi-identifiers
    codes       per column the code of each class
    population  the same columns of the population, with the hierarchies that say what labels mean

    O(people * columns) where no value is covered by two labels; else O(people * classes * columns) bits.
    """
    covers = [
        read_covering(column.texts, attribute).covers(np.arange(len(attribute.column.texts)))
        for column, attribute in zip(columns, population)
    ]
    everybody, counts = np.unique(
        np.column_stack([attribute.column.codes for attribute in population]), axis=0, return_counts=True
    )
    if all((covered.sum(axis=1) <= 1).all() for covered in covers):
        return _by_their_only_labels(covers, everybody, counts, np.column_stack(codes))
    return _one_class_at_a_time(covers, everybody, counts, codes)


def _by_their_only_labels(
    covers: Sequence[np.ndarray], everybody: np.ndarray, counts: np.ndarray, classes: np.ndarray
) -> Fitting:
    """Where a value has one label at most, a person fits the class with their labels, if there is one."""
    labels = [np.where(c.any(axis=1), c.argmax(axis=1), -1)[values] for c, values in zip(covers, everybody.T)]
    rows = np.concatenate([classes, np.column_stack(labels)])
    _, number = np.unique(rows, axis=0, return_inverse=True)
    number = number.ravel()
    fitting = np.bincount(number[len(classes) :], weights=counts, minlength=int(number.max()) + 1)
    people = fitting[number[: len(classes)]].astype(np.int64)
    return Fitting(people, int(counts.sum() - people.sum()), apart=True)


def _one_class_at_a_time(
    covers: Sequence[np.ndarray], everybody: np.ndarray, counts: np.ndarray, codes: Sequence[np.ndarray]
) -> Fitting:
    people = np.zeros(len(codes[0]), dtype=np.int64)
    times = np.zeros(len(everybody), dtype=np.int64)
    packed = [_bits(covered, values) for covered, values in zip(covers, everybody.T)]
    for number, labels in enumerate(zip(*codes)):
        fitting = packed[0][labels[0]]
        for bits, label in zip(packed[1:], labels[1:]):
            fitting = fitting & bits[label]
        fits = np.flatnonzero(np.unpackbits(fitting, count=len(everybody)))
        people[number] = counts[fits].sum()
        times[fits] += 1
    return Fitting(people, int(counts[times == 0].sum()), apart=bool((times <= 1).all()))


def _bits(covered: np.ndarray, values: np.ndarray) -> np.ndarray:
    """For each label a bit per person: whether it covers their value."""
    return np.array([np.packbits(of_label[values]) for of_label in covered.T])
