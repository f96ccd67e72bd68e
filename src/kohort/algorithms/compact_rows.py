"""The leaves of all records in few bytes, for searches of tables of any size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kohort.problem.attribute import Attribute
from kohort.problem.encoding.tables import leaf_numbers
from kohort.problem.problem import Problem

_AT_ONCE = 8  # columns that few instructions compare: a row has a multiple of as many


def compact_rows(problem: Problem) -> np.ndarray:
    """The leaf of each cell as numbered in the tables, records by attributes, and columns of zeros.

    Two bytes a cell, or four where a column has more leaves than fit into two. A new array, which the caller
    may change. O(records * attributes).
    """
    codes = (attribute.column.codes for attribute in problem.attributes)
    return compact_leaves(problem.attributes, codes, problem.n_records)


def compact_leaves(
    attributes: Sequence[Attribute], codes: Iterable[np.ndarray], n_records: int
) -> np.ndarray:
    """The same for some records, given their codes column by column."""
    numbers = [leaf_numbers(attribute) for attribute in attributes]
    few = max(int(leaves.max()) for leaves in numbers) <= np.iinfo(np.int16).max
    width = -(-len(numbers) // _AT_ONCE) * _AT_ONCE
    rows = np.zeros((n_records, width), dtype=np.int16 if few else np.int32)
    for place, (leaves, of_column) in enumerate(zip(numbers, codes)):
        rows[:, place] = leaves.astype(rows.dtype)[of_column]
    return rows
