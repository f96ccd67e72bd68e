"""Groups that are published alike: to a reader they are one class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kohort.data.dataset import distinct_rows
from kohort.data.domain import STAR
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

__all__ = ["one_group_per_look"]


def one_group_per_look(problem: Problem, groups: Groups) -> Groups:
    """The groups with those united that have the same labels; withheld records stay so.

    Only rules that do not survive unions need this: two valid groups that look alike are one class, which may
    break such a rule. A missing value counts as `*`, which it may be published as.
    """
    kept = ~groups.withheld
    looks = []
    for attribute in problem.attributes:
        published = groups.apply(attribute)
        texts = [STAR if label is None else label for label in published.labels]
        number = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        looks.append(np.array([number[text] for text in texts])[published.of_record[kept]])
    _, sizes, look_of_record = distinct_rows(np.column_stack(looks))
    if len(sizes) == len(np.unique(groups.group_of_record[kept])):
        return groups
    united = np.full(len(kept), -1, dtype=np.int32)
    united[kept] = look_of_record
    return replace(groups, group_of_record=united, guarantee=None)
