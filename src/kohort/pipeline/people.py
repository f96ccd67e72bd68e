"""Whose record each record is, and how many people of the population it stands for."""

from __future__ import annotations

import numpy as np

from kohort.data.dataset import Dataset
from kohort.data.person_codes import person_codes, record_weights
from kohort.errors import InputError, counted
from kohort.problem.roles import Roles

__all__ = ["persons_of", "weights_of"]


def persons_of(dataset: Dataset, roles: Roles) -> np.ndarray | None:
    """The number of each record's person, from 0 on; None where every record is that of another person.

    Then counting people is counting records, and the search is the same as without the role.
    """
    name = roles.only("person")
    if name is None:
        return None
    persons = checked_persons(dataset, name)
    return None if int(persons.max()) + 1 == len(persons) else persons


def checked_persons(dataset: Dataset, name: str) -> np.ndarray:
    """The number of each record's person; raises InputError where it is missing, or one person is all."""
    persons = person_codes(name, dataset.arrow(name))
    if missing := int((persons < 0).sum()):
        raise InputError(
            f"Column {name!r} says whose record it is, and {counted(missing, 'record has', 'records have')} "
            "no value there. Fill them in, or leave these records out."
        )
    if len(persons) > 1 and int(persons.max()) == 0:
        raise InputError(
            f"Column {name!r} says whose record it is, and all {len(persons):,} records are of one person. "
            "Name the column that tells people apart."
        )
    return persons


def weights_of(dataset: Dataset, roles: Roles) -> np.ndarray | None:
    """The sampling weight of each record; None without a column of weights.

    Raises InputError for weights that are missing, or no positive and finite numbers.
    """
    name = roles.only("weight")
    if name is None:
        return None
    weights = record_weights(name, dataset.arrow(name))
    if wrong := int((~((weights > 0) & np.isfinite(weights))).sum()):
        raise InputError(
            f"Column {name!r} has the role weight, and in {counted(wrong, 'record')} it is no positive, "
            "finite number. Correct these, or leave the role out."
        )
    return weights
