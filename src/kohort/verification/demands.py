"""The requirements that verification checks, and the original that it compares a table with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.hierarchy import Hierarchy
from kohort.problem.attribute import Attribute
from kohort.problem.roles import Roles
from kohort.tables.table import Table
from kohort.verification.promises import Stated
from kohort.verification.treated import StatedTreatment


class ItemsDemand(Protocol):
    """The column of items, its hierarchy or the builder of one, what separates items in a text, and whether
    they are written with their numbers."""

    @property
    def column(self) -> str: ...

    @property
    def separator(self) -> str | None: ...

    @property
    def hierarchy(self) -> object: ...

    @property
    def multiset(self) -> bool: ...


class Demands(Protocol):
    """The requirements on a published table: the part of a request that verification checks."""

    @property
    def roles(self) -> Roles: ...

    @property
    def table_models(self) -> tuple[Stated, ...]: ...

    @property
    def items(self) -> ItemsDemand | None: ...

    @property
    def km(self) -> Stated | None: ...

    @property
    def confidence(self) -> Stated | None: ...

    @property
    def orders(self) -> Mapping[str, Sequence[str]]: ...

    @property
    def treatments(self) -> Mapping[str, str]: ...

    @property
    def publish(self) -> Mapping[str, str]: ...

    @property
    def cost(self) -> str: ...

    @property
    def perturbations(self) -> Mapping[str, StatedTreatment]: ...

    @property
    def linked_by(self) -> str | None: ...

    @property
    def slot(self) -> str | None: ...

    @property
    def shift_days(self) -> int: ...

    @property
    def suppression(self) -> float: ...

    @property
    def sample(self) -> float: ...

    @property
    def may_drop(self) -> bool: ...

    @property
    def shuffle(self) -> bool | str: ...

    @property
    def counterfeits(self) -> int: ...


class OriginalItems(Protocol):
    """The original baskets without sensitive items, their hierarchy, and the sensitive items of each record.

    confidence      what is promised of sensitive items or values; None: there are none
    suppress        whether items may be dropped; drops_sensitive: sensitive ones, too
    leaf_of_item    the leaf of each distinct item
    """

    @property
    def baskets(self) -> Baskets: ...

    @property
    def hierarchy(self) -> Hierarchy: ...

    @property
    def sensitive(self) -> Baskets | None: ...

    @property
    def confidence(self) -> Stated | None: ...

    @property
    def multiset(self) -> bool: ...

    @property
    def suppress(self) -> bool: ...

    @property
    def drops_sensitive(self) -> bool: ...

    @property
    def leaf_of_item(self) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class Original:
    """The original of a published table, in codes.

    roles       of its columns, every one of them
    attributes  its quasi-identifiers, with the hierarchies that say what a published label means
    items       its baskets and their hierarchy; None where no column holds items
    rows        per published record the number of its original, where the publisher states it; a slice
                where all records are published in their order; -1 for a counterfeit
    order       the same from an order file, which is checked first
    treatments  of columns that may be dropped, where another one was chosen
    counterfeits  how many were announced; None: nobody says
    """

    dataset: Table
    roles: Roles
    attributes: tuple[Attribute, ...]
    items: OriginalItems | None = None
    rows: np.ndarray | slice | None = None
    order: np.ndarray | None = None
    treatments: Mapping[str, str] = field(default_factory=dict)
    counterfeits: int | None = None

    @property
    def untouched(self) -> list[str]:
        """The columns that must be published as they are."""
        return self.roles.untouched(self.treatments)
