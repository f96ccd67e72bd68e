"""Summaries of a node of the search, from which bounds decide one attribute."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from kohort.algorithms.schemes.partition_space import Partition


class NodeTable(NamedTuple):
    """Cells, grouped by their parts in the other attributes as far as these are decided.

    part_of         the cell's part in this attribute
    order, start    the cells by group
    cells           sizes, `rest` (the cost of the other attributes) and `own` coefficient, one row each
    outer_of        per group: the widest group that it may become
    records         per widest group and part: the number of records
    limit           costs from here on are too high to matter, and need not be distinguished
    """

    part_of: np.ndarray
    order: np.ndarray
    start: np.ndarray
    cells: np.ndarray
    outer_of: np.ndarray
    records: np.ndarray
    k: int
    withheld_cost: float
    discernible: bool
    limit: float

    @property
    def records_before(self) -> np.ndarray:
        """For each widest group, the number of its records in the parts before each part."""
        return np.concatenate([np.zeros((len(self.records), 1)), np.cumsum(self.records, axis=1)], axis=1)


@dataclass(frozen=True, eq=False)
class Blocks:
    """The sets of values of one attribute that may still be blocks.

    masks   the values of each block, as bits; 0 where there are too many values
    prices  the price of each block
    layout  how the blocks can be combined, in the form that the attribute's class uses
    """

    masks: np.ndarray
    prices: np.ndarray
    layout: Any


@dataclass(frozen=True, eq=False)
class ChoiceBounds:
    """The best partition of an attribute, its cost, and the least cost with each choice made.

    choices     the undecided choices; `merged` and `cut` are the least costs with each decided that way
    with_block  per node of a tree: sets of its children, as bits, and the least cost with each as a block
    """

    least: float
    best: Partition
    choices: list
    merged: np.ndarray
    cut: np.ndarray
    with_block: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def plus(self, cost: float) -> ChoiceBounds:
        """These bounds with `cost` added, for everything outside the attribute."""
        with_block = {node: (sets, costs + cost) for node, (sets, costs) in self.with_block.items()}
        return replace(
            self,
            least=self.least + cost,
            merged=self.merged + cost,
            cut=self.cut + cost,
            with_block=with_block,
        )

    def at_least(self, other: ChoiceBounds) -> ChoiceBounds:
        """The higher of two bounds on the same choices."""
        return replace(
            self,
            least=max(self.least, other.least),
            merged=np.maximum(self.merged, other.merged),
            cut=np.maximum(self.cut, other.cut),
        )
