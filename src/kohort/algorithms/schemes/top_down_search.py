"""Top-down search: from one class for everybody on, classes are split (Bayardo and Agrawal, 2005)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kohort.algorithms.schemes.enumerated_search import EnumeratedSearch
from kohort.algorithms.schemes.enumeration_tree import EnumerationTree, FromCoarsest

__all__ = ["TopDownSearch"]


@dataclass(frozen=True)
class TopDownSearch(EnumeratedSearch):
    """The rival of bottom-up: the same tree of all recodings from the other end.

    The tree begins with everything as one class; a child splits a block of one attribute. Whoever is in a
    class below k stays there, and others cost no less than in the finest classes that may still come, which
    bounds all that comes after a node. Its techniques can be switched off like those of bottom-up.

    scheme                    see optimal-recoding
    node_pruning              leave out nodes whose bound is not below the best cost
    applicator_pruning        leave out attributes whose children are all left out
    seeding                   begin with the best of some random recodings
    modified_bfs              look at a node's bound again when its turn comes
    node_rearrangement        the least bound first, not the first come
    applicator_rearrangement  attributes that split few classes first

    Exponential; O(distinct rows * attributes) per node.
    """

    name: ClassVar[str] = "top-down-search"
    scheme_search: ClassVar[str | None] = name
    summary: ClassVar[str] = (
        "the best recoding of whole columns under a scheme, enumerated from the coarsest one on; for large k"
    )
    paper: ClassVar[str] = (
        "Bayardo, Agrawal: Data privacy through optimal k-anonymization, ICDE 2005; schemes: Li, Li (2008)"
    )
    tree: ClassVar[type[EnumerationTree]] = FromCoarsest
