"""The closed record that each group is published as."""

from __future__ import annotations

import numpy as np

from kohort.kernels.grouping import ranges_by_group
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

__all__ = ["closures"]


def closures(problem: Problem, groups: Groups) -> np.ndarray:
    """Per group and attribute, the lowest node of the hierarchy that covers the records of the group.

    A value that its hierarchy lacks has the root alone above it. O(records * attributes).
    """
    nodes = np.empty((groups.n_groups, len(problem.attributes)), dtype=np.int64)
    for j, (tree, attribute) in enumerate(zip(problem.coded.hierarchies, problem.attributes)):
        lo, hi = ranges_by_group(attribute.leaves, groups.group_of_record, groups.n_groups)
        nodes[:, j] = np.where((lo == hi) & tree.hidden[lo], 0, tree.node(lo, hi))
    return nodes
