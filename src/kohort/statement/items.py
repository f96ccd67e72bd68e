"""What is asked of a set-valued column, and how a file of nothing but baskets holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kohort.algorithms import ItemsAlgorithm, items_algorithm_named
from kohort.data.hierarchies import Builder
from kohort.data.hierarchies.build_hierarchy import FileSource
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError
from kohort.parameters import Option, Share, check_parameters
from kohort.statement.options import options_of


def _known_items_algorithm(name: str) -> None:
    if name != "auto":
        items_algorithm_named(name)


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
    hierarchy: Builder | Hierarchy | FileSource | None = None
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

    def __bool__(self) -> bool:
        """Whether there is such a column."""
        return self.column != ""


OF_ITEMS = ("hierarchy", "separator", "multiset", "suppress")
"""What is said of items as of a column that has the role."""
BASKETS = "items"  # the column that a file of nothing but baskets makes


@dataclass(frozen=True)
class BasketShape:
    """How a file holds baskets: one per line, or one item per row beside the `id` of its basket.

    separator  between the items of a line; by default a comma in .csv, a tab in .tsv, else a space
    id, item   the names of the two columns of a long table
    """

    separator: str | None = None
    id: str | None = None
    item: str | None = None

    def __post_init__(self) -> None:
        if (self.id is None) != (self.item is None):
            raise InputError(
                "A long table of baskets needs both 'id' and 'item': the names of its two columns."
            )
        if self.id is not None and self.separator is not None:
            raise InputError(
                "'separator' is for files with one basket per line; leave it out beside 'id' and 'item'."
            )
