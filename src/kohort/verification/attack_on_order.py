"""The attack on the order of a published table: its labels are read, and narrowed by every order there is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kohort.data.dataset import Dataset
from kohort.data.value_codes import value_codes
from kohort.problem.attribute import Attribute
from kohort.verification.covering import read_covering
from kohort.verification.label_narrowing import (
    OrderAttack,
    Sighted,
    attack_ranks,
    goes_up_and_down,
    may_be_sorted,
    sighted_column,
    stand_together,
    true_ranks,
)

__all__ = ["attack_on_order", "untouched_columns"]

_A_FEW = 1_000


def attack_on_order(
    published: Dataset,
    original: Dataset,
    attributes: Sequence[Attribute],
    untouched: Sequence[str],
    rows: np.ndarray,
    k: int,
) -> OrderAttack | None:
    """Attack the order of the published records and count what it reveals; None where no column is sorted.

    untouched  the columns that are published as they are
    rows       per published record the number of its original
    k          records in classes smaller than this, once labels are narrowed, are counted
    """
    kept = untouched_columns(original, untouched, rows)
    few = rows[:_A_FEW]
    unclear = [a.column for a in attributes if not goes_up_and_down(true_ranks(a.column, few))]
    true = [true_ranks(column, rows) for column in unclear]
    if not may_be_sorted(true, [column.true for column in kept]):
        return None
    quasi = []
    for attribute in attributes:
        labels = published.column(attribute.name)
        quasi.append(sighted_column(labels, read_covering(labels.texts, attribute), attribute.column, rows))
    found = attack_ranks(quasi, kept, k)
    return found if found.orders else None


def untouched_columns(original: Dataset, names: Sequence[str], rows: np.ndarray) -> list[Sighted]:
    """The columns that are published as they are and may be sorted, in the order of these records."""
    found = []
    for name in names:
        if not stand_together(value_codes(original.taken(name, rows[:_A_FEW]))):
            continue  # most are not sorted, as the first records show
        codes = value_codes(original.taken(name, rows))
        found.append(Sighted(name, codes, codes, codes))
    return found
