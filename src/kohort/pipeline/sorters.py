"""Columns that are published as they are and restore a revealing order when records are sorted by them.

If record numbers were given by age, then sorting a shuffled release by them sorts it by age again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kohort.data.arrangement import telling_columns
from kohort.data.dataset import Dataset
from kohort.data.value_codes import value_codes
from kohort.pipeline.prepare import Prepared
from kohort.problem.roles import Roles
from kohort.verification.label_narrowing import OrderAttack, may_be_sorted, true_ranks

__all__ = ["Sorter", "find_sorters"]

_A_FEW = 1_000


@dataclass(frozen=True)
class Sorter:
    """A published column, and what an attacker gets who sorts the records by it."""

    column: str
    attack: OrderAttack


def find_sorters(
    prepared: Prepared, rows: np.ndarray, attack: Callable[[np.ndarray], OrderAttack | None]
) -> tuple[Sorter, ...]:
    """The columns that are published as they are and put a quasi-identifier in order.

    rows    the published records, in their order
    attack  measures what an attack on these records in a given order reveals

    Columns by which the records are sorted already are left out. O(n log n) for a column that sorts the first
    1,000 records, else O(1).
    """
    found = []
    dataset, roles = prepared.dataset, prepared.roles
    for name in prepared.untouched:
        few = _sorted_by(dataset, name, rows[:_A_FEW])
        if not _tells(dataset, roles, few):
            continue
        order = _sorted_by(dataset, name, rows)
        if (order != rows).any() and (gained := attack(order)) is not None:
            found.append(Sorter(name, gained))
    return tuple(found)


def _sorted_by(dataset: Dataset, name: str, rows: np.ndarray) -> np.ndarray:
    """These records sorted by a column; those with the same value keep their order."""
    return rows[np.argsort(value_codes(dataset.taken(name, rows)), kind="stable")]


def _tells(dataset: Dataset, roles: Roles, rows: np.ndarray) -> bool:
    """Whether a quasi-identifier is sorted in this order of the records, and not by chance."""
    columns = [dataset.column(name) for name in roles.having("quasi-identifier")]
    sorted_ones = {c.name: c.at(rows) for c in columns if may_be_sorted([true_ranks(c, rows)], [])}
    return bool(telling_columns(sorted_ones))
