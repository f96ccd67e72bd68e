"""Withheld records and a group published as `*` everywhere look alike: they are judged as one class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kohort.algorithms import Run
from kohort.algorithms.uniting.diversify import diversify
from kohort.data.domain import STAR
from kohort.errors import counted
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups
from kohort.recoding.recoding import Recoding

__all__ = ["settled"]


def settled(
    problem: Problem,
    recoding: Recoding,
    run: Run,
    solve: Callable[[Problem], Recoding],
    *,
    null_is_star: bool,
    can_be_left_out: bool = False,
) -> Recoding:
    """A recoding whose records that are `*` everywhere may be published as they are, withheld or not.

    can_be_left_out  whether withheld records are left out later where they may not be published as `*`

    They may if together they satisfy every model, or if they are few enough to count as withheld, all of
    them. Under t-closeness only the first will do, since its records cannot be left out either: it compares
    classes with the whole table. Otherwise groups are united with them until they satisfy the models; a
    recoding that has no groups is replaced by one of `solve` that withholds nobody. Takes the time of
    applying the recoding, and only where somebody is withheld.
    """
    withheld = recoding.withheld
    if not withheld.any():
        return recoding
    starred = _starred(problem, recoding, null_is_star)
    alike = starred | withheld
    can_be_withheld = can_be_left_out or not starred.any() or alike.sum() <= problem.max_withheld
    if _satisfies(problem, alike) or (can_be_withheld and not _compares_with_whole_table(problem)):
        return recoding
    if not isinstance(recoding, Groups):
        return solve(replace(problem, suppression=0.0))
    one_group = np.where(alike, recoding.n_groups, recoding.group_of_record).astype(np.int32)
    united = diversify(problem, replace(recoding, group_of_record=_renumbered(one_group)), run)
    note = (
        f"{counted(int(withheld.sum()), 'record')} to withhold, and whoever else is `*` everywhere, would "
        "have broken the promise together: they were united with other groups until they kept it."
    )
    return replace(united, notes=(*united.notes, note))


def _starred(problem: Problem, recoding: Recoding, null_is_star: bool) -> np.ndarray:
    """Per record whether it is published as `*` everywhere without being withheld."""
    starred = ~recoding.withheld
    for attribute in problem.attributes:
        if not starred.any():
            break
        published = recoding.apply(attribute)
        is_star = [label == STAR or (label is None and null_is_star) for label in published.labels]
        starred &= np.array(is_star, dtype=bool)[published.of_record]
    return starred


def _compares_with_whole_table(problem: Problem) -> bool:
    return any(model.compares_with_whole_table for model in problem.models)


def _satisfies(problem: Problem, chosen: np.ndarray) -> bool:
    records = np.flatnonzero(chosen)
    return bool(problem.satisfied(np.zeros(len(records), dtype=np.int64), records, 1).all())


def _renumbered(group_of_record: np.ndarray) -> np.ndarray:
    return np.unique(group_of_record, return_inverse=True)[1].astype(np.int32)
