"""Bottom-up: from the original values on, values are merged as long as that may pay (Li and Li, 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kohort.algorithms.schemes.enumerated_search import EnumeratedSearch
from kohort.algorithms.schemes.enumeration_tree import EnumerationTree, FromFinest

__all__ = ["BottomUp"]


@dataclass(frozen=True)
class BottomUp(EnumeratedSearch):
    """The search of Li and Li: an enumeration tree of all recodings, with bounds.

    The tree begins at the original values; a child merges some of them in one attribute. Whoever is in a
    class of k stays so and only gets dearer, which bounds all that comes after a node. Each of the paper's
    techniques can be switched off, to see what it is worth.

    scheme                    see optimal-recoding
    node_pruning              leave out nodes whose bound is not below the best cost
    applicator_pruning        leave out attributes whose children are all left out
    useful_applicators        where nobody may be withheld: insist on attributes that must be generalized
    seeding                   begin with the best of some random recodings
    modified_bfs              look at a node's bound again when its turn comes
    node_rearrangement        the least bound first, not the first come
    applicator_rearrangement  attributes that merge few classes first

    Exponential; O(distinct rows * attributes) per node.
    """

    name: ClassVar[str] = "bottom-up"
    scheme_search: ClassVar[str | None] = name
    summary: ClassVar[str] = (
        "the best recoding of whole columns under a scheme, enumerated from the finest one on; for small k"
    )
    paper: ClassVar[str] = (
        "Li, Li: Towards optimal k-anonymization, Data and Knowledge Engineering 65 (2008), sections 3 and 4"
    )
    tree: ClassVar[type[EnumerationTree]] = FromFinest

    useful_applicators: bool = True
