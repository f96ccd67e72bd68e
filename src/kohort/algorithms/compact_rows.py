"""The leaves of all records in few bytes, for searches of tables of any size."""

from __future__ import annotations

import numpy as np

from kohort.problem.encoding.tables import leaf_numbers
from kohort.problem.problem import Problem

__all__ = ["compact_rows"]

_AT_ONCE = 8  # columns that few instructions compare: a row has a multiple of as many


def compact_rows(problem: Problem) -> np.ndarray:
    """The leaf of each cell as numbered in the tables, records by attributes, and columns of zeros.

    Two bytes a cell, or four where a column has more leaves than fit into two. A new array, which the caller
    may change. O(records * attributes).
    """
    numbers = [leaf_numbers(attribute) for attribute in problem.attributes]
    few = max(int(leaves.max()) for leaves in numbers) <= np.iinfo(np.int16).max
    width = -(-len(numbers) // _AT_ONCE) * _AT_ONCE
    rows = np.zeros((problem.n_records, width), dtype=np.int16 if few else np.int32)
    for place, (leaves, attribute) in enumerate(zip(numbers, problem.attributes)):
        rows[:, place] = leaves.astype(rows.dtype)[attribute.column.codes]
    return rows
