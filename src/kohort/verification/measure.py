"""Costs of a published table, measured from what is published: its labels, not an algorithm's word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kohort.data.column import Column
from kohort.data.domain import STAR
from kohort.problem.attribute import Attribute
from kohort.problem.costs import COSTS, PublishedAttribute, PublishedTable
from kohort.verification.reading import read_labels

__all__ = ["measure_costs", "published_table"]


def measure_costs(table: PublishedTable) -> dict[str, float]:
    """Every cost of the house, by its spec name."""
    return {name: cost().measure(table) for name, cost in COSTS.items()}


def published_table(
    labels: Sequence[Column],
    attributes: Sequence[Attribute],
    rows: np.ndarray,
    withheld: np.ndarray,
    class_sizes: np.ndarray,
) -> PublishedTable:
    """What costs need to know of a published table.

    labels    the published quasi-identifiers
    rows      per published record its original; originals that are not published are withheld
    withheld  per original record
    """
    columns = [_published(column, attribute, rows) for column, attribute in zip(labels, attributes)]
    return PublishedTable(columns, withheld, class_sizes)


def _published(column: Column, attribute: Attribute, rows: np.ndarray) -> PublishedAttribute:
    texts = column.texts if STAR in column.texts else (*column.texts, STAR)
    label_of_record = column.codes
    if len(rows) < len(attribute.column):  # the others were left out
        label_of_record = np.full(len(attribute.column), texts.index(STAR), dtype=np.int32)
        label_of_record[rows] = column.codes
    return PublishedAttribute(
        name=attribute.name,
        values=read_labels(texts, attribute).generalized(),
        value_of_record=label_of_record,
        code_of_record=attribute.column.codes,
        counts=attribute.column.counts,
        weight=attribute.weight,
    )
