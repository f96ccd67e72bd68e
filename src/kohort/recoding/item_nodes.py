"""Recoding of set-valued data: every item of every record as a node of the hierarchy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

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

    def apply(self, problem: ItemsProblem) -> pa.ListArray:
        """The published lists: labels in alphabetical order, each once; a withheld basket is missing."""
        published = problem.hierarchy.published
        used = np.unique(self.node_of_occurrence[self.node_of_occurrence >= 0])
        labels = sorted({str(published[node]) for node in used})
        number = {label: code for code, label in enumerate(labels)}
        code_of_node = np.zeros(len(published), dtype=np.int64)
        code_of_node[used] = [number[str(published[node])] for node in used]
        kept = self.node_of_occurrence >= 0
        width = max(len(labels), 1)
        keys = np.unique(
            problem.baskets.record_of_item[kept] * width + code_of_node[self.node_of_occurrence[kept]]
        )
        sizes = np.bincount(keys // width, minlength=len(problem.baskets))
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        values = pa.DictionaryArray.from_arrays(
            pa.array((keys % width).astype(np.int32)), pa.array(labels, pa.string())
        ).cast(pa.string())
        hidden = self.withheld | problem.baskets.missing
        return pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(hidden))
