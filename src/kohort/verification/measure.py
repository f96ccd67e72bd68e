"""Costs of a published table, measured from what is published: its labels, not an algorithm's word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kohort.data.column import Column
from kohort.data.counting import Pairs
from kohort.problem.costs import COSTS, PublishedAttribute, PublishedTable
from kohort.verification.reading import Reading

__all__ = ["measure_costs", "published_table"]


def measure_costs(table: PublishedTable, weights: np.ndarray | None = None) -> dict[str, float]:
    """Every cost of a published table, by its spec name.

    weights  of the original records, by what each stands for: costs that are means over records use them
    """
    plain = {name: cost().measure(table) for name, cost in COSTS.items()}
    if weights is None:
        return plain
    columns = [replace(attribute, record_weights=weights) for attribute in table.attributes]
    weighed = replace(table, attributes=columns)
    return plain | {name: cost().measure(weighed) for name, cost in COSTS.items() if cost.is_mean}


def published_table(
    labels: Sequence[Column],
    readings: Sequence[Reading],
    rows: np.ndarray | slice,
    withheld: np.ndarray,
    class_sizes: np.ndarray,
    pairs: Sequence[Pairs] | None = None,
) -> PublishedTable:
    """A published table in the form that costs are computed from.

    labels    the published quasi-identifiers
    readings  what their labels cover, as `read_column` reads them
    rows      per published record its original; a slice where all are in their order
    withheld  per original record
    pairs     per column its labels with the original values, where these were counted and no record is
              withheld
    """
    counted = [None] * len(labels) if pairs is None else pairs
    columns = [_published(c, reading, rows, pair) for c, reading, pair in zip(labels, readings, counted)]
    return PublishedTable(columns, withheld, class_sizes)


def _published(
    column: Column, reading: Reading, rows: np.ndarray | slice, pairs: Pairs | None
) -> PublishedAttribute:
    original = reading.attribute.column
    star = len(column.texts)  # the last label that was read: that of records that were left out
    label_of_record: np.ndarray | Column = column
    if not isinstance(rows, slice):
        label_of_record = np.full(len(original), star, dtype=np.int32)
        label_of_record[rows] = column.codes  # the published records may be in another order
    return PublishedAttribute(
        name=reading.attribute.name,
        values=reading.generalized(),
        value_of_record=label_of_record,
        code_of_record=original,
        counts=original.counts,
        weight=reading.attribute.weight,
        pairs=pairs,
    )
