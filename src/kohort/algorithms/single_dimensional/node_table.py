"""What bounds need to know of a node of the search, from the side of one attribute."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kohort.algorithms.single_dimensional.spaces import Partition

__all__ = ["Deciding", "Events", "NodeTable"]


@dataclass(frozen=True, eq=False)
class Events:
    """Per part of an attribute the variables of which one must be merged for it to grow, one after the other.

    `added` is what each adds at least to the price of the part.
    """

    start: np.ndarray
    variables: np.ndarray
    added: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, table: np.ndarray) -> Events:
        """From one row per part, with -1 for nothing."""
        there = table >= 0
        return cls(np.append(0, np.cumsum(there.sum(axis=1))), table[there])


@dataclass(frozen=True, eq=False)
class NodeTable:
    """Cells, grouped by what they are in the other attributes as far as these are decided.

    part_of         the cell's part in this attribute
    order, start    the cells by group
    cells           sizes, cost of the other attributes, own coefficient and claimed price, one row each
    outer_of        per group the widest group that it may become
    records         per widest group and part, its records
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

    @property
    def records_before(self) -> np.ndarray:
        """Per widest group, its records in the parts before each."""
        return np.concatenate([np.zeros((len(self.records), 1)), np.cumsum(self.records, axis=1)], axis=1)


@dataclass(frozen=True, eq=False)
class Deciding:
    """The least cost of an attribute's ways, the best way, and the least cost with each choice made.

    choices  what can be decided; `merged` and `cut` are the least costs with it decided so
    """

    least: float
    best: Partition
    choices: list
    merged: np.ndarray
    cut: np.ndarray
