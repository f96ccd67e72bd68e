"""Global recoding: one mapping per attribute, the same for all records, by nodes or by blocks of values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from kohort.data.hierarchy import Hierarchy
from kohort.problem.attribute import Attribute
from kohort.recoding.groups import Groups, set_label
from kohort.recoding.recoding import PublishedColumn, Recoding


@dataclass(frozen=True, eq=False)
class AttributeMaps(Recoding):
    """Every leaf of an attribute is published as one node of its hierarchy, wherever it occurs.

    `node_of_leaf` is by the attribute's name, `withheld` by record.
    """

    node_of_leaf: Mapping[str, np.ndarray]
    withheld: np.ndarray
    is_global: ClassVar[bool] = True

    def apply(self, attribute: Attribute) -> PublishedColumn:
        """The label of each record's node or, with tight labels, the values that occur under it."""
        assert isinstance(attribute.domain, Hierarchy)
        nodes, of_leaf = np.unique(self.node_of_leaf[attribute.name], return_inverse=True)
        of_record = of_leaf[attribute.leaf_of_code][attribute.column.codes].astype(np.int32)
        if attribute.tight:
            return Groups(np.unique(of_record, return_inverse=True)[1].astype(np.int32)).apply(attribute)
        widths = (attribute.domain.hi - attribute.domain.lo + 1)[nodes]
        return PublishedColumn([attribute.domain.published[node] for node in nodes], of_record, widths)

    def maps(self, attribute: Attribute) -> dict[str | None, str | None]:
        """The published value of every value in the attribute's domain, also of those that the data lacks."""
        assert isinstance(attribute.domain, Hierarchy)
        nodes = self.node_of_leaf[attribute.name]
        return dict(zip(attribute.domain.leaves, (attribute.domain.published[node] for node in nodes)))


@dataclass(frozen=True, eq=False)
class Partitions(Recoding):
    """Every value of an attribute stands for its block of a partition, wherever it occurs.

    `block_of_leaf` is by the attribute's name, `withheld` by record.
    """

    block_of_leaf: Mapping[str, np.ndarray]
    withheld: np.ndarray
    in_domain: bool = field(default=False, kw_only=True)
    is_global: ClassVar[bool] = True

    def apply(self, attribute: Attribute) -> PublishedColumn:
        """The label of each record's block."""
        labels, of_leaf = self._labels(attribute)
        of_record = of_leaf[attribute.leaf_of_code][attribute.column.codes]
        return PublishedColumn(labels, of_record, np.bincount(of_leaf))

    def maps(self, attribute: Attribute) -> dict[str | None, str | None]:
        """The published value of every value in the attribute's domain, also of those that the data lacks."""
        labels, of_leaf = self._labels(attribute)
        return dict(zip(attribute.domain.leaves, (labels[label] for label in of_leaf)))

    def _labels(self, attribute: Attribute) -> tuple[list[str | None], np.ndarray]:
        block_of = self.block_of_leaf[attribute.name]
        blocks, of_leaf = np.unique(block_of, return_inverse=True)
        labels = [block_label(attribute, np.flatnonzero(block_of == block)) for block in blocks]
        return labels, of_leaf.astype(np.int32)


def block_label(attribute: Attribute, leaves: np.ndarray) -> str | None:
    """How a block is published: a value, `*`, a node, an interval of an ordered column, or a set.

    A set of a column with a hierarchy names the highest nodes that are wholly in it.
    """
    domain = attribute.domain
    lo, hi = leaves[:1], leaves[-1:]
    contiguous = hi[0] - lo[0] + 1 == len(leaves)
    if len(leaves) == 1:
        return domain.leaves[lo[0]]
    if len(leaves) == attribute.n_leaves:
        return domain.labels(lo, hi)[0]
    if not isinstance(domain, Hierarchy):
        texts = [domain.leaves[leaf] for leaf in leaves]
        return domain.labels(lo, hi)[0] if contiguous else set_label(texts, attribute.n_leaves, domain.leaves)
    if contiguous and (domain.closure(lo, hi)[1] - domain.closure(lo, hi)[0] + 1)[0] == len(leaves):
        return domain.labels(lo, hi)[0]
    if contiguous and _in_natural_order(attribute, leaves):
        return f"[{domain.leaves[lo[0]]}, {domain.leaves[hi[0]]}]"
    nodes = [domain.published[node] for node in _highest_nodes(domain, leaves)]
    return set_label(nodes, attribute.n_leaves, domain.nodes_of_label)


def _in_natural_order(attribute: Attribute, leaves: np.ndarray) -> bool:
    """Whether these leaves are values of an ordered column, one after the other, and no other is between."""
    column = attribute.column
    if not column.ordered:
        return False
    codes = np.flatnonzero(np.isin(attribute.leaf_of_code, leaves))
    in_a_row = len(codes) == len(leaves) and codes[-1] - codes[0] + 1 == len(codes)
    return bool(
        in_a_row
        and column.texts[codes[-1]] is not None
        and (np.diff(attribute.leaf_of_code[codes]) > 0).all()
    )


def _highest_nodes(hierarchy: Hierarchy, leaves: np.ndarray) -> list[int]:
    """The nodes that make up a set of leaves, as few as there can be; of a chain of nodes the lowest."""
    before = np.zeros(len(hierarchy.leaf_node) + 1, dtype=np.int64)
    before[leaves + 1] = 1
    inside = np.cumsum(before)
    whole = inside[hierarchy.hi + 1] - inside[hierarchy.lo] == hierarchy.hi - hierarchy.lo + 1
    highest = np.flatnonzero(whole & ~whole[np.maximum(hierarchy.parent, 0)])
    return hierarchy.node(hierarchy.lo[highest], hierarchy.hi[highest]).tolist()
