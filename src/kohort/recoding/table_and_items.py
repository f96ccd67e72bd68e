"""The recoding of a table with a column of items, or of baskets with nothing beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kohort.problem.attribute import Attribute
from kohort.problem.proof import Proof
from kohort.recoding.item_nodes import ItemNodes
from kohort.recoding.recoding import PublishedColumn, Recoding


@dataclass(frozen=True, eq=False, kw_only=True)
class TableAndItems(Recoding):
    """How the quasi-identifiers are published, if there are any, and the items within each class.

    table            the recoding of the quasi-identifiers; None where no column is one
    class_of_record  the class within which the items of each record are published; None: all are one class
    class_size       the least class size that the table was given for the sake of the items
    trade_notes      what other weights of the items would have given
    """

    table: Recoding | None
    items: ItemNodes
    withheld: np.ndarray
    class_of_record: np.ndarray | None = None
    class_size: int | None = None
    trade_notes: tuple[str, ...] = ()
    guarantee: float | None = None
    bound: float | None = None
    proof: Proof | None = None

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        return (*(() if self.table is None else self.table.notes), *self.items.notes, *self.trade_notes)

    @property
    def in_domain(self) -> bool:  # type: ignore[override]
        return self.table is None or self.table.in_domain

    def apply(self, attribute: Attribute) -> PublishedColumn:
        assert self.table is not None
        return self.table.apply(attribute)
