"""What is asked of a set-valued column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from kohort.algorithms import ItemsAlgorithm, items_algorithm_named
from kohort.data.hierarchies.build_hierarchy import Builder
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError
from kohort.options import options_of
from kohort.parameters import Option, Share, check_parameters


def _known_items_algorithm(algorithm: Any) -> None:
    if isinstance(algorithm, str) and algorithm != "auto":
        items_algorithm_named(algorithm)


@dataclass(frozen=True)
class Items:
    """The set-valued column of a table, and how to publish it.

    column     its name
    hierarchy  over the items: a builder, a Hierarchy, or None for one by frequency, five items to a node
    separator  the character between the items, where a cell is a text and no list
    multiset   whether an item that a basket has twice is another than one it has once
    suppress   whether an item may also be dropped from a basket, where that costs less than generalizing
    algorithm  the name of an algorithm for items, such as local-items; auto is apriori-items
    weight     beside quasi-identifiers: how much what is kept of the items counts against theirs, 0 to 1
    """

    column: str
    hierarchy: Builder | Hierarchy | None = None
    separator: str | None = None
    multiset: bool = False
    suppress: bool = False
    algorithm: Annotated[
        str | ItemsAlgorithm, Option("how to search for the items", check=_known_items_algorithm)
    ] = "auto"
    weight: Annotated[Share, Option("beside quasi-identifiers: how much the loss of the items counts")] = 0.5

    def __post_init__(self) -> None:
        check_parameters(self, say="The {name!r} of items")
        if self.separator is not None and len(self.separator) != 1:
            raise InputError(f"The 'separator' of items must be one character. Got {self.separator!r}.")
        for name, declared in options_of(Items).items():
            declared.check(getattr(self, name))
