"""Groups of records counted as a model looks at them: in records, or where people have several in people."""

from __future__ import annotations

import numpy as np

from kohort.problem.models import ClassCounts, Model, PersonCells
from kohort.problem.sensitive import SensitiveAttribute

__all__ = ["counts_of_all", "group_counts"]


def group_counts(
    model: Model,
    sensitive: SensitiveAttribute | None,
    group_of_record: np.ndarray,
    persons: np.ndarray | None,
    records: np.ndarray | slice,
    n_groups: int,
) -> ClassCounts:
    """The counts of each group that a model is to be judged by.

    sensitive        the attribute that the model is about; None where it only counts
    group_of_record  the group of each of `records`; every group has at least one
    persons          the number of each record's person, of all records; None: each has a person of its own
    """
    everybody = n_groups == 1 and isinstance(records, slice) and records == slice(None) and persons is None
    if everybody and not (sensitive is not None and sensitive.column.is_part):
        return counts_of_all(sensitive, len(group_of_record))
    codes = None if sensitive is None else sensitive.column.at(records)
    n_values = 1 if sensitive is None else sensitive.n_values
    if persons is not None:
        cells = PersonCells.from_records(group_of_record, persons[records], codes, n_groups, n_values)
        return cells.counts_for(model, None if sensitive is None else sensitive.context)
    if codes is None:
        return ClassCounts.of_sizes(np.bincount(group_of_record, minlength=n_groups))
    return ClassCounts.from_records(group_of_record, codes, n_groups, n_values)


def counts_of_all(sensitive: SensitiveAttribute | None, n_records: int) -> ClassCounts:
    """The counts of all records as one group, which are known already."""
    if sensitive is None:
        return ClassCounts.of_sizes(np.array([n_records]))
    counts = sensitive.column.counts
    there = np.flatnonzero(counts)
    return ClassCounts.from_cells(np.zeros(len(there)), there, counts[there], 1, sensitive.n_values)
