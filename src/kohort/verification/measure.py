"""Costs of a published table, by their definitions: measured from its labels and from the original alone.

No formula is shared with the searches that minimise these costs. A mean is over records, of the weighted mean
over the quasi-identifiers; a sum is over records, or cells.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kohort.data.column import Column
from kohort.data.counting import Pairs, count_codes, count_pairs, stretches_of
from kohort.verification.reading import Extent, Reading

_IN_CACHE = 1 << 16  # records at a time


@dataclass(frozen=True, eq=False)
class _ShownColumn:
    """A quasi-identifier as published: its labels, what they cover, and its original.

    rows   per published record its original; a slice where all are in their order
    pairs  the labels with the original values, counted, where that is known and no record is withheld
    """

    extent: Extent
    labels: Column
    rows: np.ndarray | slice
    original: Column
    weight: float
    pairs: Pairs | None

    @cached_property
    def label_of_record(self) -> np.ndarray | Column:
        """The label of each original record; `*`, the last one, where the record was left out."""
        if isinstance(self.rows, slice):
            return self.labels
        found = np.full(len(self.original), len(self.labels.texts), dtype=np.int32)
        found[self.rows] = self.labels.codes
        return found

    @cached_property
    def uses(self) -> np.ndarray:
        """How many records have each label."""
        if self.pairs is None:
            return self.weighed(None)
        return np.bincount(self.pairs[0], self.pairs[2], len(self.extent.width)).astype(np.int64)

    def weighed(self, weights: np.ndarray | None) -> np.ndarray:
        """How much the records with each label weigh together."""
        return count_codes(self.label_of_record, len(self.extent.width), weights)

    def beside_original(self, kept: np.ndarray | None) -> Pairs:
        """The labels with the original values, and how many of the records that are kept have them."""
        if kept is None and self.pairs is not None:
            return self.pairs
        n_labels, n_codes = len(self.extent.width), len(self.original.counts)
        return count_pairs(self.label_of_record, self.original, n_labels, n_codes, kept)


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """A published table beside its original. Withheld records are `*` everywhere, also if they were left out.

    withheld     per original record
    class_sizes  of the classes of all others
    """

    columns: Sequence[_ShownColumn]
    withheld: np.ndarray
    class_sizes: np.ndarray

    @classmethod
    def of(
        cls,
        labels: Sequence[Column],
        readings: Sequence[Reading],
        rows: np.ndarray | slice,
        withheld: np.ndarray,
        class_sizes: np.ndarray,
        pairs: Sequence[Pairs] = (),
    ) -> PublishedTable:
        """A published table, given its quasi-identifiers and what `read_column` read of them.

        rows   per published record its original; a slice where all are in their order
        pairs  per column its labels with the original values, where these were counted and no record is
               withheld
        """
        counted: Sequence[Pairs | None] = pairs or [None] * len(labels)
        columns = [
            _ShownColumn(r.extent, shown, rows, r.attribute.column, r.attribute.weight, pair)
            for shown, r, pair in zip(labels, readings, counted)
        ]
        return cls(columns, withheld, class_sizes)

    def over_columns(self, figures: Sequence[float]) -> float:
        """The mean of one figure per column by the weights of the columns; 0 where none has a weight."""
        weights = [column.weight for column in self.columns]
        total = sum(weights)
        return float(np.dot(weights, figures) / total) if total else 0.0

    def mean(self, cell: Cell, weighed: Sequence[np.ndarray]) -> float:
        """The mean over records of the mean over columns of what a cell costs.

        weighed  per column how much the records with each label weigh together
        """
        figures = [float(np.dot(w, cell(c.extent)) / w.sum()) for c, w in zip(self.columns, weighed)]
        return self.over_columns(figures)


Cell = Callable[[Extent], np.ndarray]


def loss_of_labels(labels: Extent) -> np.ndarray:
    """The share of all other leaves that each label covers: (w - 1) / (L - 1)."""
    return (labels.width - 1) / max(labels.n_leaves - 1, 1)


def _entropy(labels: Extent) -> np.ndarray:
    """The bits missing: -sum p log2 p with p = c / n, which is log2 n - (sum c log2 c) / n."""
    n = np.maximum(labels.records, 1)
    return np.maximum(np.log2(n) - labels.count_log / n, 0.0)


_MEAN_CELLS: dict[str, Cell] = {
    "loss": loss_of_labels,
    "ncp": lambda labels: np.where(labels.width > 1, labels.width / max(labels.n_leaves, 1), 0.0),
    "tree": lambda labels: labels.level,
    "entropy": _entropy,
    "monotone-entropy": lambda labels: _entropy(labels) * labels.records / labels.n_records,
}


def _distortion(table: PublishedTable, weighed: Sequence[np.ndarray]) -> float:
    """All levels that cells were generalized, over all levels that there are."""
    there = table.over_columns([column.extent.height for column in table.columns])
    climbed = table.mean(lambda labels: labels.level * labels.height, weighed)
    return climbed / there if there else 0.0


def _ambiguity(table: PublishedTable) -> float:
    """The mean of the product of all widths of a record; at most the largest floating-point number."""
    n, n_shown = len(table.withheld), len(table.columns[0].labels) if table.columns else 0
    with np.errstate(over="ignore"):
        of_star = float(np.prod([float(column.extent.n_leaves) for column in table.columns]))
        total = of_star * (n - n_shown) if n > n_shown else 0.0
        for rows in stretches_of(n_shown, _IN_CACHE):
            product = np.ones(rows.stop - rows.start)
            for column in table.columns:
                product *= column.extent.width[column.labels.at(rows)]
            total += float(product.sum())
    return min(total / n, sys.float_info.max)


def _discernibility(table: PublishedTable) -> float:
    """The sum of all squared sizes of classes; a withheld record counts all records."""
    sizes = table.class_sizes.astype(np.int64 if len(table.withheld) < 2**31 else object)
    return float(int((sizes * sizes).sum()) + int(table.withheld.sum()) * len(table.withheld))


def _hierarchical_discernibility(table: PublishedTable) -> float:
    """(Ne - Nv) / (N - Nv) per cell with value v published as e; 1 for a withheld record."""
    kept = ~table.withheld if table.withheld.any() else None
    figures = []
    for column in table.columns:
        label, code, uses = column.beside_original(kept)
        alike, alone = column.extent.records[label], column.original.counts[code]
        others = column.extent.n_records - alone
        share = np.divide(alike - alone, others, out=np.zeros(len(uses)), where=others > 0)
        figures.append(float(np.dot(uses, share)))
    return table.over_columns(figures) + float(table.withheld.sum())


_OF_TABLES: dict[str, Callable[[PublishedTable], float]] = {
    "suppressions": lambda table: float(sum(c.uses[c.extent.star].sum() for c in table.columns)),
    "ambiguity": _ambiguity,
    "discernibility": _discernibility,
    "hierarchical-discernibility": _hierarchical_discernibility,
    "average-class-size": lambda table: (
        float(table.class_sizes.mean()) if len(table.class_sizes) else float(len(table.withheld))
    ),
}

COST_NAMES = (
    *("loss", "ncp", "tree", "distortion", "suppressions", "entropy", "monotone-entropy", "ambiguity"),
    *("discernibility", "hierarchical-discernibility", "average-class-size"),
)
"""The costs by which every release is measured, in the order of the documentation."""

MEANS = (*_MEAN_CELLS, "distortion")
"""Those that are means over records, which the weights of records may weigh."""

BY_RECORD = ("hierarchical-discernibility",)
"""Those that depend on which original each published record has."""


def measure_costs(table: PublishedTable, weights: np.ndarray | None = None) -> dict[str, float]:
    """Every cost of a published table, by its spec name.

    weights  of the original records, by what each stands for: costs that are means over records use them
    """
    weighed = [column.uses if weights is None else column.weighed(weights) for column in table.columns]
    found = {name: table.mean(cell, weighed) for name, cell in _MEAN_CELLS.items()}
    found |= {name: cost(table) for name, cost in _OF_TABLES.items()}
    found["distortion"] = _distortion(table, weighed)
    return {name: found[name] for name in COST_NAMES}
