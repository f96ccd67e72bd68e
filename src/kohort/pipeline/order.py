"""In which order the records are published: the original one where that tells nothing, else one of their own.

The order of a shuffled release depends on what is published and on the seed, and on nothing else: records
are sorted by all their published values and then dealt out by the seed, which the certificate names. Whoever
undoes that has the sorted release. No secret is needed, and no guess about the original can be tested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.arrangement import stretches, telling_columns
from kohort.data.baskets import Baskets
from kohort.data.dataset import Dataset, distinct_rows
from kohort.data.taking import take_records
from kohort.data.value_codes import value_codes
from kohort.errors import counted
from kohort.pipeline.publish import as_arrow
from kohort.pipeline.request import Request
from kohort.pipeline.sorters import Sorter, find_sorters
from kohort.problem.problem import Problem
from kohort.problem.roles import Roles
from kohort.verification import Caution
from kohort.verification.covering import read_covering
from kohort.verification.order_attack import (
    OrderAttack,
    Sighted,
    attack_order,
    may_be_sorted,
    sighted,
    stand_together,
    true_ranks,
)

__all__ = [
    "PublishedOrder",
    "attack_on_release",
    "attack_sentence",
    "dealt_order",
    "kept_columns",
    "settle_order",
    "sorter_sentence",
]

CLASSES = (
    "the classes"  # stands for no column: neighbours are in one class more often, or less, than by chance
)
_A_FEW = 1_000


@dataclass(frozen=True, eq=False)
class PublishedOrder:
    """The records of a release in their order, and what the original order tells.

    rows      the records to publish; None: all, as they came
    shuffled  whether they stand in an order of their own
    tells     columns of which the original order tells something, or `the classes`; empty for shuffle: true,
              where nobody looked
    attack    what an attacker gets from the order that was kept; None where there is nothing to attack
    sorters   columns, published as they are, that put the records in an order that tells something
    """

    asked: bool | str
    rows: np.ndarray | None
    shuffled: bool
    tells: tuple[str, ...] = ()
    attack: OrderAttack | None = None
    sorters: tuple[Sorter, ...] = ()

    @property
    def costs(self) -> bool:
        """Whether the order is kept although it tells something."""
        return not self.shuffled and bool(self.tells or self.attack)

    def facts(self) -> dict[str, Any]:
        return {
            "shuffle": self.asked,
            "shuffled": self.shuffled,
            "tells": list(self.tells),
            "attack": None if self.attack is None else self.attack.to_dict(),
        }

    @property
    def cautions(self) -> list[Caution]:
        """What the promises do not cover: an order that is kept, or can be had again, and tells something."""
        found = []
        if self.costs:
            below = None if self.attack is None else self.attack.below
            found.append(Caution("order", self.cost_sentence, ADVICE, records=below))
        return found + [_sorter_caution(sorter) for sorter in self.sorters]

    @property
    def notes(self) -> list[str]:
        if self.shuffled and self.asked == "auto":
            what = f"something about {_listed(self.tells)}" if self.tells else "who is who"
            return [f"The records are published in another order: the original one tells {what}."]
        return []

    @property
    def cost_sentence(self) -> str:
        """What the order gives away, in words."""
        kept = "The original order of the records is kept"
        if self.tells:
            kept += f", and it tells something about {_listed(self.tells)}"
        return f"{kept}." if self.attack is None else f"{kept}. {attack_sentence(self.attack)}"


ADVICE = "Say shuffle: auto, which publishes the records in an order that tells nothing."


def attack_sentence(found: OrderAttack) -> str:
    """What an attack on the order comes to."""
    return f"Somebody who knows that they are sorted {_orders(found)} {_gain(found)}"


def sorter_sentence(sorter: Sorter) -> str:
    """What sorting the records by a published column comes to."""
    return (
        f"Whoever sorts the records by {sorter.column!r}, which is published as it is, has them sorted "
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


def settle_order(
    request: Request,
    dataset: Dataset,
    roles: Roles,
    columns: Mapping[str, pa.Array | None],
    *,
    kept: np.ndarray | None,
    baskets: Baskets | None = None,
    attack: Callable[[np.ndarray], OrderAttack | None] = lambda rows: None,
) -> PublishedOrder:
    """Decide on the order of the records, and say why.

    columns  what is published otherwise than it came
    kept     the records to publish; None: all
    baskets  the column of items, as it was
    attack   what an attack on the order of these records comes to
    """
    asked = request.shuffle
    rows = np.arange(dataset.n_records) if kept is None else kept
    tells: tuple[str, ...] = ()
    found = None
    if asked is not True:
        tells = _tells(dataset, roles, columns, rows, baskets)
        if not (tells and asked == "auto"):
            found = attack(rows)
    if asked is True or (asked == "auto" and (tells or found is not None)):
        dealt = dealt_order(dataset, columns, rows, request.seed)
        sorters = find_sorters(dataset, roles, dealt, attack)
        return PublishedOrder(asked, dealt, True, tells, sorters=sorters)
    return PublishedOrder(asked, kept, False, tells, found, find_sorters(dataset, roles, rows, attack))


def dealt_order(
    dataset: Dataset, columns: Mapping[str, pa.Array | None], rows: np.ndarray, seed: int
) -> np.ndarray:
    """The records in an order that depends on their published values and the seed alone.

    Records that are published alike keep their places relative to each other, which nobody can see.
    """
    names = [name for name in dataset.names if columns.get(name, ...) is not None]
    table = as_arrow(dataset, dict(columns), names, rows)
    codes = np.column_stack([value_codes(table[name]) for name in names])
    by_content = np.argsort(distinct_rows(codes)[2], kind="stable")
    return rows[by_content[np.random.default_rng(seed).permutation(len(rows))]]


def kept_columns(dataset: Dataset, roles: Roles, rows: np.ndarray) -> list[Sighted]:
    """The columns that are published as they are and may be sorted, in the order of these records."""
    found = []
    for name in (*roles.having("sensitive"), *roles.having("insensitive")):
        if not stand_together(value_codes(take_records(dataset.arrow(name), rows[:_A_FEW]))):
            continue  # most are not sorted, as the first records tell
        codes = value_codes(take_records(dataset.arrow(name), rows))
        found.append(Sighted(name, codes, codes, codes))
    return found


def _tells(
    dataset: Dataset,
    roles: Roles,
    columns: Mapping[str, pa.Array | None],
    rows: np.ndarray,
    baskets: Baskets | None,
) -> tuple[str, ...]:
    """Columns that nobody can read exactly in the release, and of which the order of the records tells.

    Of large tables as many records are looked at as the tests need.
    """
    some = rows[stretches(len(rows))]
    quasi = roles.having("quasi-identifier")
    found = {(name, "values"): dataset.column(name).codes[some] for name in quasi}
    for name in roles.having("identifier"):
        found[name, "values"] = value_codes(take_records(dataset.arrow(name), some))
    if quasi:
        labels = [_label_codes(columns[name])[some] for name in quasi]
        found[CLASSES, ""] = distinct_rows(np.column_stack(labels))[2]
    if baskets is not None:
        for part, codes in _basket_columns(baskets).items():
            found[baskets.name, part] = codes[some]
    return tuple(dict.fromkeys(name for name, _ in telling_columns(found)))


def _label_codes(column: pa.Array | None) -> np.ndarray:
    assert isinstance(column, pa.DictionaryArray)
    return pc.fill_null(column.indices, len(column.dictionary)).to_numpy(zero_copy_only=False)


def _basket_columns(baskets: Baskets) -> dict[str, np.ndarray]:
    """What may be sorted or stand together in baskets: their sizes, and their least and greatest items."""
    least = np.full(len(baskets), len(baskets.items.texts), dtype=np.int64)
    greatest = np.zeros(len(baskets), dtype=np.int64)
    np.minimum.at(least, baskets.record_of_item, baskets.items.codes)
    np.maximum.at(greatest, baskets.record_of_item, baskets.items.codes)
    return {"sizes": baskets.sizes, "least": least, "greatest": greatest}


def attack_on_release(
    dataset: Dataset,
    roles: Roles,
    columns: Mapping[str, pa.Array | None],
    problem: Problem,
    rows: np.ndarray,
) -> OrderAttack | None:
    """What an attack on the order of these records comes to; None where no column is sorted."""
    kept = kept_columns(dataset, roles, rows)
    true = [true_ranks(attribute.column, rows) for attribute in problem.attributes]
    if not may_be_sorted(true, [column.true for column in kept]):
        return None
    names = [attribute.name for attribute in problem.attributes]
    published = Dataset(as_arrow(dataset, dict(columns), names, rows))
    quasi = []
    for attribute in problem.attributes:
        labels = published.column(attribute.name)
        quasi.append(sighted(labels, read_covering(labels.texts, attribute), attribute.column, rows))
    found = attack_order(quasi, kept, problem.k)
    return found if found.orders else None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(name if name == CLASSES else repr(name) for name in names)
