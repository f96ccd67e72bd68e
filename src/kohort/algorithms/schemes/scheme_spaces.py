"""The six generalization schemes: the partitions of values that they allow (Li and Li, section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kohort.algorithms.levels import level_nodes
from kohort.algorithms.schemes.partition_space import Merging, Partition, PartitionSpace, numbered
from kohort.data.domain import GeneralizedValues
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, UnsupportedError, did_you_mean
from kohort.problem.attribute import Attribute
from kohort.problem.problem import Problem

SCHEMES: dict[str, str] = {
    "bhs": "every value at the same level of the hierarchy",
    "ghs": "nodes of the hierarchy",
    "gops": "runs of neighbouring siblings in the hierarchy",
    "ops": "runs of neighbouring values",
    "gsps": "sets of siblings in the hierarchy",
    "sps": "any sets of values",
}
_MERGING: dict[str, Merging] = {"ghs": "all", "gops": "runs", "ops": "runs", "gsps": "sets", "sps": "sets"}
_GUIDED = ("bhs", "ghs", "gops", "gsps")


def check_scheme(scheme: str) -> None:
    """Raise InputError for a name that is not a scheme."""
    if scheme not in SCHEMES:
        raise InputError(f"There is no scheme {scheme!r}. {did_you_mean(scheme, SCHEMES)}")


def scheme_of(attribute: Attribute, asked: str | Mapping[str, str] | None) -> str:
    """The scheme of an attribute: its own, the one for all, or ghs (ops where there is no hierarchy).

    By default, only labels that the hierarchy has are published.
    """
    own = asked if isinstance(asked, str) or asked is None else asked.get(attribute.name, asked.get("*"))
    guided = isinstance(attribute.domain, Hierarchy)
    found = own or ("ghs" if guided else "ops")
    if found in _GUIDED and not guided:
        raise UnsupportedError(
            f"The scheme {found} needs a hierarchy for column {attribute.name!r}. Give it one "
            "(hierarchy: auto makes one), or use ops or sps for this column."
        )
    return found


def scheme_spaces(problem: Problem, asked: str | Mapping[str, str] | None) -> list[SchemeSpace]:
    """The space of each attribute; raises UnsupportedError for tight labels and hidden values."""
    if problem.tight:
        raise UnsupportedError(
            "Under a scheme every value is published in one way only, which tight labels do not allow. Use "
            "labels: hierarchy."
        )
    for attribute in problem.attributes:
        if isinstance(attribute.domain, Hierarchy) and attribute.domain.hidden.any():
            raise UnsupportedError(
                f"Column {attribute.name!r} has values that its hierarchy lacks, and on_missing: suppress "
                "publishes them as `*`. A scheme needs all values: add them to the hierarchy."
            )
    return [SchemeSpace.of(attribute, scheme_of(attribute, asked)) for attribute in problem.attributes]


@dataclass(frozen=True, eq=False)
class SchemeSpace:
    """The partitions of an attribute's observed values under a scheme, and the leaves of their blocks.

    A missing value is alone, or together with all others; in bhs and ghs it is a value like any other.

    leaf      the leaf of each value; values are in the order of the domain's leaves, but that of `lone` is
              the last, wherever the hierarchy has it, so that the values of every node follow one another
    alone     per node of the space: its first and last leaf if it is a block by itself
    joined    per node of the space: its first and last leaf if it shares a block, which then covers the whole
              group, also leaves that no record has
    lone      the leaf of a missing value, or -1 (always in bhs and ghs): no block covers it but its own and
              that of everything
    ranges    per level (bhs only): the first and last leaf of each value's node
    """

    attribute: Attribute
    scheme: str
    space: PartitionSpace
    leaf: np.ndarray
    alone: np.ndarray
    joined: np.ndarray
    lone: int = -1
    ranges: list[np.ndarray] = field(default_factory=list)

    @classmethod
    def of(cls, attribute: Attribute, scheme: str) -> SchemeSpace:
        leaf = np.flatnonzero(attribute.leaf_counts > 0)
        if scheme == "bhs":
            return _levels(attribute, leaf)
        lone = -1 if scheme == "ghs" else _leaf_of_missing(attribute)
        leaf = np.concatenate([leaf[leaf != lone], leaf[leaf == lone]])
        tree = _Tree(attribute, leaf, _MERGING[scheme], lone)
        if scheme in ("ops", "sps"):
            tree.add_flat()
        else:
            tree.add_hierarchy()
        space = PartitionSpace(len(leaf), tuple(tree.children), tuple(tree.merging))
        return cls(attribute, scheme, space, leaf, np.array(tree.alone), np.array(tree.joined), lone)

    @property
    def n(self) -> int:
        return self.space.n

    @cached_property
    def value_of_leaf(self) -> np.ndarray:
        """The value of each leaf, or -1 if no record has it."""
        return _values(self.leaf, self.attribute)

    @cached_property
    def counts(self) -> np.ndarray:
        """How many records have each value."""
        return self.attribute.leaf_counts[self.leaf]

    @property
    def in_domain(self) -> bool:
        """Whether only nodes are published, or intervals of a column without a hierarchy."""
        return self.scheme in ("bhs", "ghs") or (
            self.scheme == "ops" and not isinstance(self.attribute.domain, Hierarchy)
        )

    @cached_property
    def ordered(self) -> bool:
        """Whether all blocks are runs of neighbouring values."""
        return "sets" not in self.space.merging

    def leaves(self, block: Sequence[int], partition: Partition) -> np.ndarray:
        """The leaves that a block of a partition covers."""
        if self.space.levels:
            first, last = self.ranges[self.space.levels.index(partition)][block[0]]
            return np.arange(first, last + 1)
        if len(block) == 1:
            return self.leaf[block]
        node, children, merging = self._node_of(block)
        if merging == "all":
            first, last = self.alone[node]
            return np.arange(first, last + 1)
        members = set(block)
        parts = [self.joined[c] for c in children if self.space.ranges[c][0] in members]
        return self.covered([(parts[0][0], parts[-1][1])] if merging == "runs" else parts)

    def covered(self, ranges: Iterable[tuple[int, int]]) -> np.ndarray:
        """The leaves of ranges, given by their first and last; of several leaves, never that of `lone`."""
        leaves = np.concatenate([np.arange(first, last + 1) for first, last in ranges])
        return leaves[leaves != self.lone] if len(leaves) > 1 else leaves

    def _node_of(self, block: Sequence[int]) -> tuple[int, tuple[int, ...], Merging]:
        """The lowest node that a block is under, its children and how they merge."""
        lowest = self.space.n + len(self.space.children) - 1
        for node, children, merging in self.space.inner():  # parents first
            first, last = self.space.ranges[node]
            if first <= block[0] and block[-1] <= last:
                lowest, found = node, (children, merging)
        return lowest, *found

    def generalized(self, sets: Sequence[np.ndarray]) -> GeneralizedValues:
        """Blocks, given by their leaves, as generalized values with everything that costs depend on."""
        counts = self.attribute.leaf_counts
        logs = counts * np.log2(np.maximum(counts, 1))
        return self.summed(
            np.array([len(leaves) for leaves in sets]),
            np.array([counts[leaves].sum() for leaves in sets]),
            np.array([logs[leaves].sum() for leaves in sets]),
            np.array([leaves[0] for leaves in sets]),
            np.array([leaves[-1] for leaves in sets]),
        )

    def summed(
        self, width: np.ndarray, mass: np.ndarray, mass_log: np.ndarray, lo: np.ndarray, hi: np.ndarray
    ) -> GeneralizedValues:
        """Blocks as generalized values, from sums over the leaves of each block and its first and last leaf.

        A block that is no node is as high as the lowest node above it; without a hierarchy, the share of the
        values that it has is its height.
        """
        attribute = self.attribute
        level = (width - 1) / max(attribute.n_leaves - 1, 1)
        if isinstance(attribute.domain, Hierarchy):
            level = attribute.domain.levels(lo, hi)
        return GeneralizedValues(
            width=width,
            mass=mass,
            mass_log=mass_log,
            level=level,
            star=width == attribute.n_leaves,
            n_leaves=attribute.n_leaves,
            n_records=len(attribute.column),
            height=attribute.domain.height,
        )


def _levels(attribute: Attribute, leaf: np.ndarray) -> SchemeSpace:
    """The space of levels (bhs); of levels that part the observed values alike, only the lowest is kept."""
    hierarchy = attribute.domain
    assert isinstance(hierarchy, Hierarchy)
    levels: dict[Partition, np.ndarray] = {}
    for nodes in level_nodes(hierarchy)[:, leaf]:
        levels.setdefault(
            numbered(nodes.tolist()), np.column_stack([hierarchy.lo[nodes], hierarchy.hi[nodes]])
        )
    nothing = np.zeros((0, 2), dtype=np.int64)
    space = PartitionSpace(len(leaf), levels=tuple(levels))
    return SchemeSpace(attribute, "bhs", space, leaf, nothing, nothing, ranges=list(levels.values()))


def _leaf_of_missing(attribute: Attribute) -> int:
    """The leaf of a missing value, or -1 if the domain has none."""
    leaves = attribute.domain.leaves
    return leaves.index(None) if None in leaves else -1


def _values(leaf: np.ndarray, attribute: Attribute) -> np.ndarray:
    """The value of each leaf of the domain, or -1; `leaf` has the leaf of each value."""
    found = np.full(attribute.n_leaves, -1, dtype=np.int64)
    found[leaf] = np.arange(len(leaf))
    return found


class _Tree:
    """A tree over the observed values under construction: children first.

    others  the number of values but for that of `lone`, which is the last and shares a block only with all
    """

    def __init__(self, attribute: Attribute, leaf: np.ndarray, merging: Merging, lone: int) -> None:
        self.attribute, self.leaf, self.how = attribute, leaf, merging
        self.others = int((leaf != lone).sum())
        self.value_of_leaf = _values(leaf, attribute)
        self.children: list[tuple[int, ...]] = []
        self.merging: list[Merging] = []
        self.alone = [(int(one), int(one)) for one in leaf]
        self.joined = list(self.alone)

    def add_flat(self) -> None:
        self._above(list(range(self.others)), self.how, None)
        self._add_missing()

    def add_hierarchy(self) -> None:
        self._add_node(0)
        self._add_missing()

    def _add_node(self, node: int) -> int | None:
        """Add a node of the hierarchy; return its value or inner node, or None if no record is under it."""
        tree = self.attribute.domain
        assert isinstance(tree, Hierarchy)
        first, last = int(tree.lo[node]), int(tree.hi[node])
        if tree.leaf_node[first] == node:
            value = int(self.value_of_leaf[first])
            return value if 0 <= value < self.others else None
        below = []
        for child in tree.children(node).tolist():
            found = self._add_node(child)
            if found is not None:
                self.joined[found] = (int(tree.lo[child]), int(tree.hi[child]))
                below.append(found)
        return self._above(below, self.how, (first, last))

    def _above(self, below: list[int], merging: Merging, leaves: tuple[int, int] | None) -> int | None:
        """Add a node above others and return it; a single one needs no node above it."""
        if len(below) < 2:
            return below[0] if below else None
        self.children.append(tuple(below))
        self.merging.append(merging)
        self.alone.append(leaves or (self.alone[below[0]][0], self.alone[below[-1]][1]))
        self.joined.append(self.alone[-1])
        return len(self.leaf) + len(self.children) - 1

    def _add_missing(self) -> None:
        """Add a root above all other values and a missing one: together they are everything."""
        if 0 < self.others < len(self.leaf):
            top = len(self.leaf) + len(self.children) - 1 if self.others > 1 else 0
            self._above([top, self.others], "all", (0, self.attribute.n_leaves - 1))
