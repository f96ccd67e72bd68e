"""The order attack as facts: what the order of the published records gives away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kohort.data.dataset import Dataset
from kohort.data.value_codes import value_codes
from kohort.errors import counted
from kohort.pipeline.before_after import BeforeAfter
from kohort.risk.label_narrowing import OrderAttack, Sighted, attack_ranks, sighted_column, stand_together

if TYPE_CHECKING:
    from kohort.release.release import Release

_A_FEW = 1_000
_NOTHING = (
    "The published records are not sorted by any quasi-identifier, so no label can be narrowed down by its "
    "position."
)


def order_attack(release: Release, sides: BeforeAfter, k: int) -> dict[str, Any] | None:
    """Attack a release by every order that its records really have; None without quasi-identifiers.

    k  records in classes smaller than this, once labels are narrowed, are counted

    `by_column` has the same for each published column that puts the records in such an order.
    """
    if not sides.attributes:
        return None
    quasi = [
        sighted_column(labels, covering, attribute.column, sides.rows)
        for labels, covering, attribute in zip(sides.labels, sides.coverings, sides.attributes)
    ]
    untouched, rows = release.roles.untouched(release.request.treatments), np.asarray(sides.rows)
    found = attack_ranks(quasi, _kept_columns(release.dataset, untouched, rows), k)
    sentences = [f"An attacker who knows that they are {_gain(found)}" if found.orders else _NOTHING]
    by_column = {}
    for sorter in () if release.order is None else release.order.sorters:
        place = np.argsort(value_codes(release.dataset.taken(sorter.column, rows)), kind="stable")
        kept = _kept_columns(release.dataset, untouched, rows[place])
        gained = attack_ranks([_at(column, place) for column in quasi], kept, k)
        by_column[sorter.column] = gained.to_dict()
        if gained.orders:
            sentences.append(
                f"Anybody who sorts the records by {sorter.column!r}, which is published as it is, gets them "
                f"{_gain(gained)}"
            )
    return {**found.to_dict(), "by_column": by_column, "sentence": " ".join(sentences)}


def _at(column: Sighted, place: np.ndarray) -> Sighted:
    """The column with its records in another order."""
    return replace(column, first=column.first[place], last=column.last[place], true=column.true[place])


def _kept_columns(original: Dataset, names: Sequence[str], rows: np.ndarray) -> list[Sighted]:
    """The columns that are published as they are and may be sorted, in the order of these records."""
    found = []
    for name in names:
        if not stand_together(value_codes(original.taken(name, rows[:_A_FEW]))):
            continue  # most are not sorted, as the first records show
        codes = value_codes(original.taken(name, rows))
        found.append(Sighted(name, codes, codes, codes))
    return found


def _gain(found: OrderAttack) -> str:
    orders = " and ".join(f"by {', then '.join(map(repr, order))}" for order in found.orders)
    return (
        f"sorted {orders} narrows the labels of {counted(found.narrowed, 'record')}: {found.below:,} of "
        f"{found.records:,} then look like fewer than {found.k:,}, {found.unique:,} like no other, and "
        f"{counted(found.exact, 'value')} {'is' if found.exact == 1 else 'are'} known exactly."
    )
