"""Small random tables of classes for the tests of the privacy models."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from kohort.problem.promises import ClassCounts, ValueContext, ValueTree


def classes_of(n_values, max_classes=4, max_count=4):
    """Lists of classes; a class lists the records of each value and has at least one."""
    cells = st.lists(st.integers(0, max_count), min_size=n_values, max_size=n_values).filter(any)
    return st.lists(cells, min_size=1, max_size=max_classes)


class_tables = st.integers(1, 5).flatmap(classes_of)

shares = st.fractions(min_value=0, max_value=1, max_denominator=12)


def counts_of(classes):
    table = np.array(classes)
    class_of, value_of = np.nonzero(table)
    return ClassCounts.from_cells(class_of, value_of, table[class_of, value_of], *table.shape)


def context_of(classes, **known):
    return ValueContext(overall=np.array(classes).sum(axis=0), **known)


@st.composite
def trees(draw, n_values):
    """A random taxonomy: repeatedly some of the nodes without a parent get a new one in common."""
    parent, height, open_nodes = [-1] * n_values, [0] * n_values, list(range(n_values))
    while len(open_nodes) > 1 or (open_nodes == [0] and draw(st.booleans())):
        children = draw(st.lists(st.sampled_from(open_nodes), min_size=1, max_size=3, unique=True))
        if len(parent) > 3 * n_values:
            children = list(open_nodes)
        node = len(parent)
        parent.append(-1)
        height.append(1 + max(height[child] for child in children))
        for child in children:
            parent[child] = node
        open_nodes = [other for other in open_nodes if other not in children] + [node]
    leaf_node = draw(st.permutations(range(n_values)))
    return ValueTree(np.array(parent), np.array(leaf_node), np.array(height))
