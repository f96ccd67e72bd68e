"""Global recoding: one mapping per attribute, the same for all records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from kohort.data.hierarchy import Hierarchy
from kohort.problem.attribute import Attribute
from kohort.recoding.groups import Groups
from kohort.recoding.lattice import Lattice
from kohort.recoding.recoding import PublishedColumn, Recoding


@dataclass(frozen=True, eq=False)
class AttributeMaps(Recoding):
    """Every leaf of an attribute is published as one node of its hierarchy, wherever it occurs.

    `node_of_leaf` is by the attribute's name, `withheld` by record; `search` is what a search has proven, as
    in Partitions, and `lattice` what it knows of every combination of levels.
    """

    node_of_leaf: Mapping[str, np.ndarray]
    withheld: np.ndarray
    search: Mapping[str, Any] = field(default_factory=dict)
    guarantee: float | None = None
    bound: float | None = None
    notes: tuple[str, ...] = ()
    lattice: Lattice | None = None
    is_global: ClassVar[bool] = True  # type: ignore[misc]

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
