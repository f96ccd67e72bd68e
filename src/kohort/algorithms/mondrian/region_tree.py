"""Regions of a table: the leaves of a tree whose cuts are those that mondrian would make first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kohort.algorithms.mondrian.kernels.region_nodes import TreeArrays, find_nodes


@dataclass(frozen=True, eq=False)
class NodeCut:
    """The cut of one region.

    attribute     which attribute is cut
    part_of_leaf  per leaf of it, the part that records with this leaf go to
    lends         per leaf, whether the first records with it go to part 0, the pool, instead; None: none does
    last_lent     the number of the last record that does
    """

    attribute: int
    part_of_leaf: np.ndarray
    lends: np.ndarray | None = None
    last_lent: int = -1


@dataclass(frozen=True, eq=False)
class RegionTree:
    """A tree of cuts, by which every record finds its region; small, whatever the size of the table."""

    arrays: TreeArrays

    @classmethod
    def of_one_region(cls) -> RegionTree:
        """The whole table as one region, node 0."""
        none, nothing = np.array([-1]), np.zeros(0, dtype=np.int64)
        return cls(TreeArrays(none, np.zeros(1, np.int64), nothing, nothing.astype(bool), none, none))

    @property
    def n_nodes(self) -> int:
        return len(self.arrays.attribute)

    def nodes_of(self, rows: np.ndarray, number: np.ndarray) -> np.ndarray:
        """The region of each record, given its leaves and its number in the table."""
        node = np.empty(len(rows), dtype=np.int32)
        find_nodes(self.arrays, rows, number.astype(np.int64, copy=False), node)
        return node

    def with_cuts(self, cuts: Mapping[int, NodeCut]) -> tuple[RegionTree, dict[tuple[int, int], int]]:
        """The tree after some of its regions were cut; and the new node of each old one and part."""
        old = self.arrays
        number: dict[tuple[int, int], int] = {}
        attribute, first, last_lent, pool = (a.tolist() for a in (old[0], old[1], old[4], old[5]))
        child, lends, place = [old.child], [old.lends], len(old.child)
        for node, cut in cuts.items():
            for part in np.unique(np.append(cut.part_of_leaf, [] if cut.lends is None else [0])).tolist():
                number[node, part] = self.n_nodes + len(number)
            attribute[node], first[node], last_lent[node] = cut.attribute, place, cut.last_lent
            pool[node] = number.get((node, 0), -1)
            child.append(np.array([number[node, part] for part in cut.part_of_leaf.tolist()]))
            lends.append(np.zeros(len(child[-1]), dtype=bool) if cut.lends is None else cut.lends)
            place += len(child[-1])
        n_new = len(number)
        arrays = TreeArrays(
            np.array(attribute + [-1] * n_new),
            np.array(first + [0] * n_new),
            np.concatenate(child),
            np.concatenate(lends),
            np.array(last_lent + [-1] * n_new),
            np.array(pool + [-1] * n_new),
        )
        return replace(self, arrays=arrays), number


@dataclass(frozen=True, eq=False)
class Regions:
    """A table in regions.

    sizes     the records of each region, by its node in the tree
    finished  the regions that mondrian would not cut any further: each is one group
    """

    tree: RegionTree
    sizes: dict[int, int]
    finished: frozenset[int] = frozenset()
