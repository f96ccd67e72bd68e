"""The order of the published records: the original one where that reveals nothing, else a shuffled one.

The order of a shuffled release depends on what is published and on the seed alone: records are sorted by all
their published values and then dealt out by the seed, which the certificate names. To undo that gives no more
than the sorted release. No secret is needed, and no guess about the original can be tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.arrangement import stretches, telling_columns
from kohort.data.baskets import Baskets
from kohort.data.dataset import distinct_rows, row_keys
from kohort.data.value_codes import value_codes
from kohort.errors import counted
from kohort.pipeline.prepare import Prepared
from kohort.pipeline.publish import Published
from kohort.pipeline.sorters import Sorter, find_sorters
from kohort.pipeline.two_files import grouped_by_person
from kohort.problem.perturbations import PERTURBATIONS
from kohort.problem.roles import WHO
from kohort.verification import Caution, OrderAttack, attack_on_order

__all__ = [
    "PublishedOrder",
    "attack_sentence",
    "dealt_order",
    "settle_order",
    "sorter_sentence",
]

COUNTERFEITS = "the counterfeits"  # which stand after all other records
CLASSES = (
    "the classes"  # stands for no column: neighbours are in one class more often, or less, than by chance
)


@dataclass(frozen=True, eq=False)
class PublishedOrder:
    """The records of a release in their order, and what the original order reveals.

    rows      the records to publish; None: all, as they came
    shuffled  whether they are in another order than the original one
    tells     columns about which the original order reveals something, or `the classes`, or `the
              counterfeits`; empty for shuffle: true, where it is not examined
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
        """Whether the order is kept although it reveals something."""
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
        """Cautions about an order that reveals something, and is kept or can be restored by sorting."""
        found = []
        if self.costs:
            below = None if self.attack is None else self.attack.below
            found.append(Caution("order", self.cost_sentence, ADVICE, records=below))
        return found + [_sorter_caution(sorter) for sorter in self.sorters]

    @property
    def notes(self) -> list[str]:
        if self.shuffled and self.asked == "auto":
            what = f"something about {_listed(self.tells)}" if self.tells else "who is who"
            return [f"The records are published in another order, because the original order reveals {what}."]
        return []

    @property
    def cost_sentence(self) -> str:
        """A sentence that says what the kept order gives away."""
        kept = "The original order of the records is kept"
        if self.tells:
            kept += f", and it reveals something about {_listed(self.tells)}"
        return f"{kept}." if self.attack is None else f"{kept}. {attack_sentence(self.attack)}"


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


def settle_order(prepared: Prepared, published: Published) -> PublishedOrder:
    """Decide on the order of the published records; the result says why."""
    asked = prepared.request.shuffle
    attack = partial(_attack, prepared, published)
    tells: tuple[str, ...] = (COUNTERFEITS,) if published.counterfeits else ()
    found = None
    if asked is not True and not tells:
        tells = _tells(prepared, published)
        if not (tells and asked == "auto"):
            found = attack(published.rows)
    if asked is True or (asked == "auto" and (tells or found is not None)):
        dealt = dealt_order(published, prepared.request.seed)
        if prepared.files is not None:
            dealt = grouped_by_person(dealt, prepared.files.person)
        return PublishedOrder(asked, dealt, True, tells, sorters=find_sorters(prepared, dealt, attack))
    sorters = find_sorters(prepared, published.rows, attack)
    return PublishedOrder(asked, published.kept, False, tells, found, sorters)


def dealt_order(published: Published, seed: int) -> np.ndarray:
    """The records in an order that depends on their published values and the seed alone.

    Records that are published alike keep their places relative to each other, which nobody can see.
    """
    shown, rows = published.shown, published.rows
    by_content = np.argsort(row_keys(shown.value_codes(name) for name in shown.names), kind="stable")
    return rows[by_content[np.random.default_rng(seed).permutation(len(rows))]]


def _attack(prepared: Prepared, published: Published, rows: np.ndarray) -> OrderAttack | None:
    """The result of an attack on the records in this order; None where there is nothing to attack."""
    if not prepared.attributes:
        return None
    in_order = published if rows is published.rows else replace(published, kept=rows)
    return attack_on_order(
        in_order.shown,
        prepared.dataset,
        prepared.attributes,
        prepared.untouched,
        rows,
        prepared.request.k,
    )


def _tells(prepared: Prepared, published: Published) -> tuple[str, ...]:
    """Columns that the release does not show exactly, but about which the order reveals something.

    In large tables only as many records are examined as the tests need.
    """
    dataset, roles = prepared.dataset, prepared.roles
    chosen = published.rows[stretches(len(published.rows))]
    quasi = roles.having("quasi-identifier")
    found = {(name, "values"): dataset.column(name).at(chosen) for name in quasi}
    changed = [n for n, how in prepared.request.treatments.items() if how == "shift" or how in PERTURBATIONS]
    who = [*changed, *(name for role in WHO for name in roles.having(role))]
    for name, values in dataset.taken_columns(who, chosen).items():
        found[name, "values"] = value_codes(values)
    if quasi:
        labels = [_label_codes(published.columns[name], chosen) for name in quasi]
        found[CLASSES, ""] = distinct_rows(np.column_stack(labels))[2]
    if prepared.items is not None:
        baskets = prepared.items.baskets
        for part, codes in _basket_columns(baskets).items():
            found[baskets.name, part] = codes[chosen]
    return tuple(dict.fromkeys(name for name, _ in telling_columns(found)))


def _label_codes(column: pa.Array | None, rows: np.ndarray) -> np.ndarray:
    assert isinstance(column, pa.DictionaryArray)
    indices = column.indices.take(pa.array(rows)).cast(pa.int64())
    return pc.fill_null(indices, len(column.dictionary)).to_numpy(zero_copy_only=False)


def _basket_columns(baskets: Baskets) -> dict[str, np.ndarray]:
    """The features of baskets that an order may reveal: their sizes, and their least and greatest items."""
    least = np.full(len(baskets), len(baskets.items.texts), dtype=np.int64)
    greatest = np.zeros(len(baskets), dtype=np.int64)
    some = baskets.sizes > 0  # the codes of a basket ascend
    least[some] = baskets.items.codes[baskets.offsets[:-1][some]]
    greatest[some] = baskets.items.codes[baskets.offsets[1:][some] - 1]
    return {"sizes": baskets.sizes, "least": least, "greatest": greatest}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(name if name in (CLASSES, COUNTERFEITS) else repr(name) for name in names)
