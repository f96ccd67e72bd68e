"""Thousands of random tiny tables, fast: for guarantees that are held against brute force."""

from __future__ import annotations

import pyarrow as pa

import kohort as ko
from kohort.data.column import code_column
from kohort.problem.attribute import Attribute
from kohort.problem.costs import cost_named
from kohort.problem.problem import Problem

VALUES = "abcdefgh"
TREES = (  # suppression, two levels, an unbalanced one
    [(v, "*") for v in VALUES],
    [(v, "ad" if v < "e" else "eh", "*") for v in VALUES],
    [("a", "*"), *((v, "bd", "bh", "*") for v in "bcd"), *((v, "bh", "*") for v in "efgh")],
)
HIERARCHIES = [ko.Hierarchy.from_paths(paths) for paths in TREES]
BINARY = ko.Hierarchy.from_paths([("a", "*"), ("b", "*")])


def random_problem(rng, k, *, most_records=8, most_attributes=4, values=8, tree=None, cost="loss"):
    """A problem of k to `most_records` records; tree 0 is suppression only, None any."""
    n = int(rng.integers(k, most_records + 1))
    attributes = []
    for number in range(int(rng.integers(1, most_attributes + 1))):
        column = code_column(f"q{number}", pa.array(rng.choice(list(VALUES[:values]), n).tolist()))
        which = int(rng.integers(len(HIERARCHIES))) if tree is None else tree
        domain = BINARY if values == 2 else HIERARCHIES[which]
        attributes.append(Attribute(column, domain, weight=float(rng.integers(1, 4))))
    return Problem(tuple(attributes), (ko.KAnonymity(k),), cost_named(cost))


def table_problem(rows, k, *, cost="suppressions"):
    """A table with the values or `*`: rows of texts."""
    attributes = []
    for number, values in enumerate(zip(*rows)):
        column = code_column(f"q{number}", pa.array([str(value) for value in values]))
        paths = [(text, "*") for text in column.texts]
        attributes.append(Attribute(column, ko.Hierarchy.from_paths(paths)))
    return Problem(tuple(attributes), (ko.KAnonymity(k),), cost_named(cost))
