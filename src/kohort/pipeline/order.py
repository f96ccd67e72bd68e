"""The order of the published records: shuffled, unless the original one is asked for.

An order that is kept links the release to any other file in that order, whatever else it reveals. The order
of a shuffled release depends on what is published and on the seed alone: records are sorted by all their
published values and then dealt out by the seed. To undo that gives no more than the sorted release. No secret
is needed, and no guess about the original can be tested.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from kohort.data.arrangement import telling_columns
from kohort.data.dataset import Dataset, row_keys
from kohort.data.value_codes import value_codes
from kohort.errors import counted
from kohort.pipeline.prepare import Prepared
from kohort.pipeline.publish import Published
from kohort.pipeline.two_files import grouped_by_person
from kohort.problem.roles import Roles
from kohort.verification import Caution, OrderAttack, Original, attack_on_order, read_averages
from kohort.verification.label_narrowing import may_be_sorted, true_ranks

__all__ = [
    "PublishedOrder",
    "attack_sentence",
    "dealt_order",
    "settle_order",
    "sorter_sentence",
]


@dataclass(frozen=True, eq=False)
class PublishedOrder:
    """The order in which records are published, and what it reveals where it is the original one.

    attack    what an attacker gets from the order that was kept; None where there is nothing to attack
    sorters   columns, published as they are, that put the records in an order that tells something
    """

    asked: bool | str
    attack: OrderAttack | None = None
    sorters: tuple[Sorter, ...] = ()

    @property
    def shuffled(self) -> bool:
        """Whether the records are in another order than the original one."""
        return self.asked is not False

    def facts(self) -> dict[str, Any]:
        return {
            "shuffle": self.asked,
            "shuffled": self.shuffled,
            "attack": None if self.attack is None else self.attack.to_dict(),
        }

    @property
    def cautions(self) -> list[Caution]:
        """Cautions about an order that is kept, or that can be restored by sorting."""
        found = []
        if not self.shuffled:
            below = None if self.attack is None else self.attack.below
            found.append(Caution("order", self.cost_sentence, ADVICE, records=below))
        return found + [_sorter_caution(sorter) for sorter in self.sorters]

    @property
    def cost_sentence(self) -> str:
        """A sentence that says what the kept order gives away."""
        kept = (
            "The original order of the records is kept: whoever has another file in that order knows which "
            "published record is whose."
        )
        return kept if self.attack is None else f"{kept} {attack_sentence(self.attack)}"


ADVICE = "Set shuffle: auto, which publishes the records in an order that reveals nothing."


def attack_sentence(found: OrderAttack) -> str:
    """A sentence that says what an attack on the order reveals."""
    return f"An attacker who knows that they are sorted {_orders(found)} {_gain(found)}"


def sorter_sentence(sorter: Sorter) -> str:
    """A sentence that says what sorting the records by a published column reveals."""
    return (
        f"Anybody who sorts the records by {sorter.column!r}, which is published as it is, gets them sorted "
        f"{_orders(sorter.attack)}, too, and {_gain(sorter.attack)}"
    )


def _sorter_caution(sorter: Sorter) -> Caution:
    advice = f"Give {sorter.column!r} the role identifier, which drops it, or quasi-identifier."
    return Caution(
        "order", sorter_sentence(sorter), advice, column=sorter.column, records=sorter.attack.below
    )


def _orders(found: OrderAttack) -> str:
    return " and ".join(f"by {', then '.join(map(repr, order))}" for order in found.orders)


def _gain(found: OrderAttack) -> str:
    return (
        f"narrows the labels of {counted(found.narrowed, 'record')}: {found.below:,} of {found.records:,} "
        f"then look like fewer than {found.k:,}, {found.unique:,} like no other, and "
        f"{counted(found.exact, 'value')} {'is' if found.exact == 1 else 'are'} known exactly."
    )


def settle_order(prepared: Prepared, published: Published) -> tuple[Published, PublishedOrder]:
    """The published table in the order in which it is published, and what is to be said of that order."""
    asked = prepared.request.shuffle
    if asked is not False:
        dealt = dealt_order(published, prepared.request.seed)
        if prepared.files is not None:
            dealt = grouped_by_person(dealt, prepared.files.person)
        published = replace(published, kept=dealt)
    published = published.held()
    attack = partial(_attack, prepared, published)
    found = attack(published.rows) if asked is False else None
    return published, PublishedOrder(asked, found, _find_sorters(prepared, published.rows, attack))


def dealt_order(published: Published, seed: int) -> np.ndarray:
    """The records in an order that depends on their published values and the seed alone.

    Records that are published alike keep their places relative to each other, which nobody can see.
    """
    rows = published.rows
    by_content = np.argsort(row_keys(map(published.value_codes, published.names)), kind="stable")
    return rows[by_content[np.random.default_rng(seed).permutation(len(rows))]]


def _attack(prepared: Prepared, published: Published, rows: np.ndarray) -> OrderAttack | None:
    """The result of an attack on the records in this order; None where there is nothing to attack."""
    if not prepared.attributes:
        return None
    in_order = published if rows is published.rows else replace(published, kept=rows)
    original = Original(prepared.dataset, prepared.roles, prepared.attributes, rows=rows)
    # of a mean, which covers no value by itself, the attacker is granted the interval of its class
    shown, *_ = read_averages(in_order.shown, prepared.request, original)
    return attack_on_order(
        shown,
        prepared.dataset,
        prepared.attributes,
        prepared.untouched,
        rows,
        prepared.request.k,
    )


_A_FEW = 1_000


@dataclass(frozen=True)
class Sorter:
    """A published column, and what an attacker gets who sorts the records by it."""

    column: str
    attack: OrderAttack


def _find_sorters(
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
