"""The order of the published records: shuffled, unless the original one is asked for.

An order that is kept links the release to any other file in that order, whatever else it reveals. The order
of a shuffled release depends on what is published and on the seed alone: records are sorted by all their
published values and then dealt out by the seed. To undo that gives no more than the sorted release. No secret
is needed, and no guess about the original can be tested.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import lgamma, log, sqrt
from typing import Any

import numpy as np

from kohort.data.arrow_values import value_codes
from kohort.data.column import Column
from kohort.data.counting import row_keys
from kohort.job.prepare import Prepared
from kohort.job.publish import Published
from kohort.verification import Caution


@dataclass(frozen=True)
class Sorter:
    """A column, published as it is, and the quasi-identifiers that it sorts."""

    column: str
    sorts: tuple[str, ...]

    @property
    def caution(self) -> Caution:
        return Caution(
            "order",
            f"Anybody who sorts the records by {self.column!r}, which is published as it is, gets them "
            f"sorted by {' and by '.join(map(repr, self.sorts))}, too, which tells more than labels do.",
            f"Give {self.column!r} the role identifier, which drops it, or quasi-identifier.",
            column=self.column,
        )


_KEPT = Caution(
    "order",
    "The original order of the records is kept: whoever has another file in that order knows which published "
    "record is whose.",
    "Set shuffle: auto, which publishes the records in an order that reveals nothing.",
)


@dataclass(frozen=True, eq=False)
class PublishedOrder:
    """The order in which records are published; `sorters` are columns that can tell another one."""

    asked: bool | str
    sorters: tuple[Sorter, ...] = ()

    @property
    def shuffled(self) -> bool:
        """Whether the records are in another order than the original one."""
        return self.asked is not False

    def facts(self) -> dict[str, Any]:
        return {"shuffle": self.asked, "shuffled": self.shuffled}

    @property
    def cautions(self) -> list[Caution]:
        """Cautions about an order that is kept, or that can be restored by sorting."""
        return ([] if self.shuffled else [_KEPT]) + [sorter.caution for sorter in self.sorters]


def settle_order(prepared: Prepared, published: Published) -> tuple[Published, PublishedOrder]:
    """The published table in the order in which it is published, and what is to be said of that order."""
    asked = prepared.request.shuffle
    if asked is not False:
        dealt = dealt_order(published, prepared.request.seed)
        published = replace(published, kept=prepared.files.in_order(dealt))
    published = published.held()
    return published, PublishedOrder(asked, _find_sorters(prepared, published))


def dealt_order(published: Published, seed: int) -> np.ndarray:
    """The records in an order that depends on their published values and the seed alone.

    Records that are published alike keep their places relative to each other, which nobody can see. A table
    that is itself a release of this seed may stand in nearly that order: then records are dealt once more.
    """
    by_content = np.argsort(row_keys(map(published.value_codes, published.names)), kind="stable")
    rng, in_order = np.random.default_rng(seed), published.rows[by_content]
    dealt = in_order[rng.permutation(len(in_order))]
    while _is_like_original(dealt):
        dealt = in_order[rng.permutation(len(in_order))]
    return dealt


def _is_like_original(dealt: np.ndarray) -> bool:
    """Whether an order is nearer to the original one, or its reverse, than chance explains (five sigma)."""
    n = len(dealt)
    if n < 10:  # any order of so few may be like another
        return False
    alike = float(np.corrcoef(np.arange(n), dealt)[0, 1])
    return abs(alike) > min(0.95, 5 / sqrt(n - 1))


_A_FEW, _LEVEL = 1_000, 0.01


def _find_sorters(prepared: Prepared, published: Published) -> tuple[Sorter, ...]:
    """The columns that are published as they are and put a quasi-identifier in order.

    Columns by which the records are sorted already are left out. O(n log n) for a column that sorts the first
    1,000 records, else O(1).
    """
    found = []
    dataset, rows = prepared.dataset, published.rows
    columns = [dataset.column(attribute.name) for attribute in prepared.attributes]
    for name in prepared.untouched:
        order, sorts = rows, columns
        for some in (rows[:_A_FEW], rows):
            if sorts:  # records with the same value keep their order
                order = some[np.argsort(value_codes(dataset.taken(name, some)), kind="stable")]
                sorts = [column for column in sorts if _is_sorted(column, order, _LEVEL / len(sorts))]
        sorts = [column for column in sorts if _is_coarse(column, published)]
        if sorts and (order != rows).any():
            found.append(Sorter(name, tuple(column.name for column in sorts)))
    return tuple(found)


def _is_sorted(column: Column, rows: np.ndarray, level: float) -> bool:
    """Whether the values rise or fall, as in a random order they would with a chance below the level."""
    codes = column.at(rows).astype(np.int64)
    codes = codes[codes < len(column.texts) - column.has_null]
    steps = np.diff(codes)
    if not steps.any() or steps.min() < 0 < steps.max():
        return False
    # of all n! / (c1! c2! ...) different orders of values that occur c1, c2, ... times, two are sorted
    orders = lgamma(len(codes) + 1) - sum(map(lgamma, np.bincount(codes) + 1.0))
    return log(2) - orders < log(level)


def _is_coarse(column: Column, published: Published) -> bool:
    """Whether some label says less than the value: of others, sorting tells nothing that is not published."""
    labels = published.shown.column(column.name)
    pairs = np.unique(labels.codes.astype(np.int64) * len(column.texts) + column.at(published.rows))
    of_label, of_value = np.divmod(pairs, len(column.texts))
    return any(labels.texts[i] != column.texts[j] for i, j in zip(of_label, of_value))
