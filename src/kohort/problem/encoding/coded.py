"""One encoding of a problem for all searches: hierarchies, costs and distinct rows, each part built once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kohort.data.counting import distinct_rows
from kohort.data.hierarchy import Hierarchy
from kohort.errors import UnsupportedError
from kohort.problem.attribute import Attribute
from kohort.problem.costs import Cost, SeparableCost
from kohort.problem.encoding.layout import ATTRIBUTE, TREE, CellCosts, Lineages, Tables, Trees
from kohort.problem.encoding.tables import leaf_numbers, tables_of

_SAMPLED = 4  # records of a sample for each distinct row that is looked for


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Distinct rows of leaves with counts; `of_record` says which one each record is."""

    leaves: np.ndarray
    counts: np.ndarray
    of_record: np.ndarray


@dataclass(frozen=True, eq=False)
class Coded:
    """The quasi-identifiers and the cost of a problem as arrays, for all searches.

    Every part is built when it is first asked for, and kept. It must not be changed: copy it first.
    """

    attributes: tuple[Attribute, ...]
    cost: Cost

    @cached_property
    def weights(self) -> np.ndarray:
        """Attribute weights that add up to 1."""
        weights = np.array([attribute.weight for attribute in self.attributes], dtype=float)
        return weights / weights.sum()

    # -- rows ----------------------------------------------------------------------------------

    @cached_property
    def leaves(self) -> np.ndarray:
        """Records by attributes: the leaf of each cell in the attribute's domain."""
        return np.column_stack([attribute.leaves for attribute in self.attributes])

    @cached_property
    def rows(self) -> DistinctRows:
        """The distinct records with their counts: most work is done on these."""
        return DistinctRows(*distinct_rows(self.leaves))

    def has_more_rows_than(self, limit: int) -> bool:
        """Whether there are more distinct rows than `limit`; a sample of the records is asked first.

        The sample has no more distinct rows than the table, so that large tables are seldom collapsed for it.
        """
        n_records = len(self.attributes[0].column)
        if "rows" not in self.__dict__ and n_records > _SAMPLED * limit:
            some = slice(None, None, n_records // (_SAMPLED * limit))
            sample = np.column_stack([a.leaf_of_code[a.column.codes[some]] for a in self.attributes])
            if len(distinct_rows(sample)[1]) > limit:
                return True
        return len(self.rows.counts) > limit

    def searched_leaves(self) -> np.ndarray:
        """The leaf of each cell as numbered in `tables`, records by attributes.

        A new array at each call, which the caller may change; it is as large as the table.
        """
        leaves = np.empty((len(self.attributes[0].column), len(self.attributes)), dtype=np.int32)
        for number, attribute in enumerate(self.attributes):
            leaves[:, number] = leaf_numbers(attribute)[attribute.column.codes]
        return leaves

    @cached_property
    def searched_rows(self) -> np.ndarray:
        """The leaf of each cell as numbered in `tables`, distinct rows by attributes."""
        leaves = np.empty(self.rows.leaves.shape, dtype=np.int32)
        leaves[self.rows.of_record] = self.searched_leaves()
        return leaves

    # -- costs ---------------------------------------------------------------------------------

    @cached_property
    def tables(self) -> Tables:
        """Attributes and costs in the domain that is published: with tight labels, intervals and sets.

        Raises UnsupportedError for a cost that is not known for these.
        """
        return tables_of(self.attributes, self.cost, self.weights)

    @cached_property
    def closure_tables(self) -> Tables:
        """Attributes and costs for searches among `rows`: hierarchy nodes and intervals, never sets.

        With tight labels such a search still forms its groups by the hierarchies.
        """
        if not any(attribute.tight for attribute in self.attributes):
            return self.tables
        loose = [replace(attribute, tight=False) for attribute in self.attributes]
        return tables_of(loose, self.cost, self.weights)

    @cached_property
    def cell_costs(self) -> CellCosts:
        """The costs of cells over any two leaves, numbered as in `tables`."""
        return _cell_costs_of(self.attributes, self.tables)

    @cached_property
    def node_costs(self) -> list[np.ndarray]:
        """Per attribute the weighted cost of a cell published as each node of its hierarchy."""
        return np.split(self.closure_tables.node_cost, self.node_start[1:])

    @property
    def star_cost(self) -> float:
        """The cost of a withheld record: `*` in every column."""
        assert isinstance(self.cost, SeparableCost)
        stars = [self.cost.cell(attribute.star())[0] for attribute in self.attributes]
        return float(np.dot(self.weights, stars))

    # -- hierarchies ---------------------------------------------------------------------------

    @cached_property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        """The hierarchy of each attribute. Raises UnsupportedError for an attribute without one."""
        found = []
        for attribute in self.attributes:
            if not isinstance(attribute.domain, Hierarchy):
                raise UnsupportedError(
                    f"This algorithm needs a hierarchy for column {attribute.name!r}. Give it one "
                    "(hierarchy: auto makes one), or choose mondrian, which publishes any interval."
                )
            found.append(attribute.domain)
        return tuple(found)

    @cached_property
    def node_start(self) -> np.ndarray:
        """Per attribute its first node, where the nodes of all hierarchies are numbered through."""
        return node_starts(self.hierarchies)

    @cached_property
    def lineages(self) -> Lineages:
        """The nodes that the distinct rows are under, at every depth of every hierarchy."""
        return lineages_of(self.hierarchies, self.rows.leaves)

    @cached_property
    def trees(self) -> Trees:
        """The hierarchies of all attributes side by side."""
        return trees_of(self.hierarchies)


def _cell_costs_of(attributes: Sequence[Attribute], tables: Tables) -> CellCosts:
    """The costs of cells over any two leaves. Memory: the square of the leaves of each hierarchy.

    tables  the tables of the same attributes
    """
    pairs = _pairs(attributes, tables)
    about = np.zeros(len(attributes), dtype=ATTRIBUTE).view(np.recarray)
    about.kind, about.n_leaves = tables.kind, np.diff(np.append(tables.leaf_start, len(tables.leaf_cost)))
    about.leaf_start, about.loners_from = tables.leaf_start, tables.loners_from
    about.pair_start = np.cumsum([0, *(len(pair) for pair in pairs)])[:-1]
    about.line_base, about.line_slope, about.whole = tables.base, tables.slope, tables.full
    return CellCosts(about, np.concatenate([*pairs, np.zeros(1)]))


def _pairs(attributes: Sequence[Attribute], tables: Tables) -> list[np.ndarray]:
    """The costs of all pairs of leaves, per attribute; empty for one without a hierarchy."""
    pairs, n_nodes = [], 0
    for attribute, kind, start in zip(attributes, tables.kind, tables.leaf_start):
        if kind != TREE:
            pairs.append(np.zeros(0))
            continue
        tree = attribute.domain
        assert isinstance(tree, Hierarchy)
        node_cost = tables.node_cost[n_nodes : n_nodes + len(tree.label)]
        pairs.append(_pair_costs(tree, node_cost, tables.leaf_cost[start : start + len(tree.leaves)]))
        n_nodes += len(tree.label)
    return pairs


def _pair_costs(tree: Hierarchy, node_cost: np.ndarray, leaf_cost: np.ndarray) -> np.ndarray:
    """The cost of the lowest node over leaves lo <= hi, at lo * leaves + hi; 0 at all other places."""
    cost = np.zeros((len(leaf_cost), len(leaf_cost)))
    for lo, hi, paid in zip(tree.lo, tree.hi, node_cost):  # a node comes before those below it
        cost[lo : hi + 1, lo : hi + 1] = paid
    np.fill_diagonal(cost, leaf_cost)
    return np.triu(cost).ravel()


# -- hierarchies as flat arrays: which node every leaf and every row is under, at every depth ---------


def node_starts(hierarchies: Sequence[Hierarchy]) -> np.ndarray:
    """The first node of each hierarchy, where the nodes of all are numbered through."""
    return np.cumsum([0, *(len(h.label) for h in hierarchies)])[:-1]


def lineages_of(hierarchies: Sequence[Hierarchy], leaves: np.ndarray) -> Lineages:
    """The nodes that rows of leaves are under. Memory: 4 bytes per row and level."""
    levels = []
    for hierarchy, start, column in zip(hierarchies, node_starts(hierarchies), leaves.T):
        by_leaf = _lineages(hierarchy)
        levels.append(np.where(by_leaf < 0, -1, by_leaf + start).astype(np.int32)[:, column])
    return Lineages(
        node=np.concatenate(levels),
        level=np.cumsum([0, *(len(nodes) for nodes in levels)]),
        depth=np.concatenate([_depths(h) for h in hierarchies]),
    )


def trees_of(hierarchies: Sequence[Hierarchy]) -> Trees:
    """The nodes and leaves of all hierarchies, numbered through."""
    starts = node_starts(hierarchies)
    n_leaves = np.array([len(h.leaves) for h in hierarchies])
    lineages = [_lineages(h) for h in hierarchies]
    return Trees(
        leaf_start=np.cumsum(n_leaves) - n_leaves,
        leaf_node=_numbered_through([_leaf_nodes(h) for h in hierarchies], starts),
        parent=_numbered_through([h.parent for h in hierarchies], starts),
        last_leaf=np.concatenate([h.hi for h in hierarchies]).astype(np.int64),
        depth=np.concatenate([_depths(h) for h in hierarchies]),
        lineage_start=np.cumsum([0, *(lineage.size for lineage in lineages)])[:-1],
        lineage=_numbered_through([lineage.ravel() for lineage in lineages], starts),
        n_leaves=n_leaves,
    )


def _numbered_through(parts: list[np.ndarray], starts: np.ndarray) -> np.ndarray:
    """Node numbers of several attributes as numbers among all; -1 stays -1."""
    return np.concatenate([np.where(part < 0, -1, part + start) for part, start in zip(parts, starts)])


def _leaf_nodes(hierarchy: Hierarchy) -> np.ndarray:
    """The lowest node that each leaf may be published as: its own, or the root for a hidden leaf."""
    return np.where(hierarchy.hidden, 0, hierarchy.leaf_node).astype(np.int64)


def _depths(hierarchy: Hierarchy) -> np.ndarray:
    depth = np.zeros(len(hierarchy.parent), dtype=np.int64)
    for node in range(1, len(depth)):  # parents have smaller numbers
        depth[node] = depth[hierarchy.parent[node]] + 1
    return depth


def _lineages(hierarchy: Hierarchy) -> np.ndarray:
    """The ancestor of each leaf at each depth, depths by leaves; -1 where the leaf is higher up."""
    depth = _depths(hierarchy)
    lineage = np.full((int(depth.max()) + 1, len(hierarchy.leaves)), -1, dtype=np.int64)
    node = _leaf_nodes(hierarchy)
    leaf = np.arange(len(node))
    while True:
        lineage[depth[node], leaf] = node
        if not node.any():
            return lineage
        node = np.where(node > 0, hierarchy.parent[node], 0)
