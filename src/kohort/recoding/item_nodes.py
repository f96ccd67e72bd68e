"""Recoding of set-valued data: every item of every record as a node of the hierarchy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kohort.data.counting import count_pairs
from kohort.problem.items import ItemsProblem

__all__ = ["ItemNodes"]


@dataclass(frozen=True, eq=False)
class ItemNodes:
    """The node that each occurrence of an item is published as; -1 withholds the basket.

    bound  a lower bound on the least possible NCP, or None
    notes  sentences that the user should read
    """

    node_of_occurrence: np.ndarray
    withheld: np.ndarray
    bound: float | None = None
    notes: tuple[str, ...] = ()

    def nodes_used(self) -> np.ndarray:
        """The nodes that items are published as."""
        return np.flatnonzero(np.bincount(self.node_of_occurrence + 1)[1:])

    def apply(self, problem: ItemsProblem) -> pa.ListArray:
        """The published lists: labels in alphabetical order, each once; a withheld basket is missing."""
        published = problem.hierarchy.published
        used = self.nodes_used()
        labels = sorted({str(published[node]) for node in used})
        number = {label: code for code, label in enumerate(labels)}
        code_of_node = np.zeros(len(published), dtype=np.int64)
        code_of_node[used] = [number[str(published[node])] for node in used]
        kept = self.node_of_occurrence >= 0
        width = max(len(labels), 1)
        record, label, _ = count_pairs(
            problem.baskets.record_of_item[kept],
            code_of_node[self.node_of_occurrence[kept]],
            len(problem.baskets),
            width,
        )
        sizes = np.bincount(record, minlength=len(problem.baskets))
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        values = pa.DictionaryArray.from_arrays(
            pa.array(label.astype(np.int32)), pa.array(labels, pa.string())
        ).cast(pa.string())
        hidden = self.withheld | problem.baskets.missing
        return pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(hidden))
