"""Bottom-up: from the original values on, values are merged as long as that may pay (Li and Li, 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kohort.algorithms.schemes.enumerated_search import EnumeratedSearch
from kohort.algorithms.schemes.enumeration_tree import EnumerationTree, FromFinest


@dataclass(frozen=True)
class BottomUp(EnumeratedSearch):
    """The search of Li and Li: an enumeration tree of all recodings, with bounds.

    The tree begins at the original values; a child merges some of them in one attribute. A record in a class
    of k or more stays in one, and its cost only grows, which bounds the costs of all nodes below a node. Each
    of the paper's techniques can be switched off, to see its effect.

    scheme                    see optimal-recoding
    node_pruning              leave out nodes whose bound is not below the best cost
    applicator_pruning        leave out attributes whose children are all left out
    useful_applicators        where no record may be withheld: require attributes that must be generalized
    seeding                   begin with the best of some random recodings
    modified_bfs              check a node's bound again when its turn comes
    node_rearrangement        nodes of least bound first, not in the order they were found
    applicator_rearrangement  attributes that merge few classes first

    Exponential; O(distinct rows * attributes) per node.
    """

    name: ClassVar[str] = "bottom-up"
    scheme_search: ClassVar[str | None] = name
    summary: ClassVar[str] = (
        "finds the best recoding of whole columns under a scheme, starting from the finest; for small k"
    )
    paper: ClassVar[str] = (
        "Li, Li: Towards optimal k-anonymization, Data and Knowledge Engineering 65 (2008), sections 3 and 4"
    )
    tree: ClassVar[type[EnumerationTree]] = FromFinest

    useful_applicators: bool = True
