"""The people of regions as privacy models count them, where people have several records.

Each block says who has what in its part of a region; people who have as many records in a region are then
added up, wherever that is done: see `PeopleTally`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kohort.algorithms.mondrian.region_records import Block
from kohort.algorithms.mondrian.region_tree import RegionTree
from kohort.problem.problem import Problem
from kohort.problem.promises import ClassCounts, Model, PeopleTally, PersonCells, ValueContext, counted_as


@dataclass(frozen=True, eq=False)
class PeopleView:
    """How people are looked at: by a sensitive column, in which one value may stand for others.

    attribute   the column; empty: people are counted whatever they have
    stands_for  per value the one that it is counted as
    """

    attribute: str = ""
    stands_for: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))

    @property
    def n_values(self) -> int:
        return len(self.stands_for)

    def cells(
        self, class_of: np.ndarray, person: np.ndarray, codes: np.ndarray | None, n_classes: int
    ) -> PersonCells:
        """The people of classes by value, given the class, person and value of each record."""
        values = None if codes is None else self.stands_for[codes]
        return PersonCells.from_records(class_of, person, values, n_classes, self.n_values)


EVERYBODY = PeopleView()
"""People whatever they have: how many there are."""


def views_of(models: Sequence[Model], contexts: Mapping[str, ValueContext]) -> list[PeopleView]:
    """How models look at people: everybody first, then the values that each model looks at."""
    asked = [model for model in models if model.attribute]
    return [EVERYBODY, *(PeopleView(m.attribute, counted_as(m, contexts[m.attribute])) for m in asked)]


def counts_of_tallies(models: Sequence[Model], tallies: Sequence[PeopleTally]) -> list[ClassCounts]:
    """The people of classes as each model counts them, given the tallies of `views_of` the models."""
    everybody, *of_values = tallies
    in_class = np.bincount(everybody.class_of, everybody.people, everybody.n_classes).astype(np.int64)
    found, rest = [], iter(of_values)
    for model in models:
        if not model.attribute:
            found.append(ClassCounts.of_sizes(in_class))
            continue
        tally = next(rest)
        found.append(tally.spread() if model.of_people == "spread" else tally.having(in_class))
    return found


def person_cells(
    block: Block, tree: RegionTree, nodes: Sequence[int], views: Sequence[PeopleView]
) -> Iterator[tuple[PersonCells, np.ndarray]]:
    """Per view the people of some regions in a block by value; and the people that the cells number.

    The regions are the classes of the cells, numbered in this order.
    """
    assert block.persons is not None
    number = np.full(tree.n_nodes, -1)
    number[list(nodes)] = np.arange(len(nodes))
    class_of = number[block.nodes(tree)]
    records = np.flatnonzero(class_of >= 0)
    people, person = np.unique(block.persons[records], return_inverse=True)
    for view in views:
        codes = block.sensitive[view.attribute][records] if view.attribute else None
        yield view.cells(class_of[records], person, codes, len(nodes)), people


def kept_by_people(problem: Problem, counts: Sequence[ClassCounts]) -> np.ndarray:
    """Whether each class keeps every model, given its people as each model counts them."""
    kept = [model.holds(found, problem.context(model)) for model, found in zip(problem.models, counts)]
    return np.logical_and.reduce(kept)
