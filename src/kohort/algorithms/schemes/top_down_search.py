"""Top-down search: starts from one class of all records and splits it (Bayardo and Agrawal, 2005)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kohort.algorithms.schemes.enumerated_search import EnumeratedSearch
from kohort.algorithms.schemes.enumeration_tree import EnumerationTree, FromCoarsest


@dataclass(frozen=True)
class TopDownSearch(EnumeratedSearch):
    """The rival of bottom-up: a tree of all recodings that begins at the coarsest one.

    The tree begins with all records as one class; a child splits a block of one attribute. A record in a
    class below k stays in one, and others cost no less than in the finest classes below the node, which
    bounds the costs of all nodes below it. Its techniques can be switched off like those of bottom-up.

    scheme                    see optimal-recoding
    node_pruning              leave out nodes whose bound is not below the best cost
    applicator_pruning        leave out attributes whose children are all left out
    seeding                   begin with the best of some random recodings
    modified_bfs              check a node's bound again when its turn comes
    node_rearrangement        nodes of least bound first, not in the order they were found
    applicator_rearrangement  attributes that split few classes first

    Exponential; O(distinct rows * attributes) per node.
    """

    name: ClassVar[str] = "top-down-search"
    scheme_search: ClassVar[str | None] = name
    summary: ClassVar[str] = (
        "finds the best recoding of whole columns under a scheme, starting from the coarsest; for large k"
    )
    paper: ClassVar[str] = (
        "Bayardo, Agrawal: Data privacy through optimal k-anonymization, ICDE 2005; schemes: Li, Li (2008)"
    )
    tree: ClassVar[type[EnumerationTree]] = FromCoarsest
