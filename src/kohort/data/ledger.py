"""The ledger: what each release said about whom, under keyed hashes, so that later ones stay safe with it.

A **place** is a chain of published records, at most one in each release. Who follows records from release to
release follows places: somebody has a place as long as they are published, and when they leave, a newcomer
with the same sensitive values may take it over. The **track** of a place is its published class in every
release. Places with the same track cannot be told apart; together they are a **cell**.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

HASH_BYTES = 16
NOWHERE = -1
"""The class of a place in a release that does not show it."""
NOBODY = -1
"""The person of a counterfeit."""


@dataclass(frozen=True, eq=False)
class LedgerEntry:
    """What one release said about whom.

    facts     what was promised and counted, as JSON holds it; no cell of the data
    people    uint8 [people, 16]: keyed hashes of those who are published for the first time
    values    uint8 [values, 16]: keyed hashes of the sensitive values that are new
    person    int32 [records]: the number of each published record's person, among all people of the ledger;
              -1 for a counterfeit, which is nobody's
    place     int32 [records]: the place that the person has; with m-invariance, where nobody has a place,
              the number of their group in this release
    class_of  int32 [records]: the published class
    value     int32 [records, sensitive columns]: numbers of values, among all values of the ledger
    labels    per quasi-identifier the published label of each class
    """

    facts: Mapping[str, Any]
    people: np.ndarray
    values: np.ndarray
    person: np.ndarray
    place: np.ndarray
    class_of: np.ndarray
    value: np.ndarray
    labels: Mapping[str, Sequence[str | None]]

    @property
    def number(self) -> int:
        """Which release it is, from 1 on."""
        return int(self.facts["number"])

    @property
    def counterfeits(self) -> int:
        """How many of the published records are nobody's."""
        return int((self.person == NOBODY).sum())

    @cached_property
    def of_people(self) -> LedgerEntry:
        """The same without counterfeits."""
        if not self.counterfeits:
            return self
        kept = self.person != NOBODY
        names = ("person", "place", "class_of", "value")
        return replace(self, **{name: getattr(self, name)[kept] for name in names})

    @property
    def n_classes(self) -> int:
        return int(self.class_of.max(initial=-1)) + 1


@dataclass(frozen=True, eq=False)
class Ledger:
    """All releases of the same people, in their order.

    person   the name of the column that says who somebody is
    entries  one for each release
    seal     the last link of the chain of the file that it was read from; empty for a new ledger
    """

    person: str
    entries: tuple[LedgerEntry, ...] = ()
    seal: bytes = b""

    @cached_property
    def people(self) -> np.ndarray:
        """The keyed hashes of all people, in the order of their numbers."""
        return _stacked([entry.people for entry in self.entries])

    @cached_property
    def values(self) -> np.ndarray:
        """The keyed hashes of all sensitive values, in the order of their numbers."""
        return _stacked([entry.values for entry in self.entries])

    @cached_property
    def n_places(self) -> int:
        return 1 + max((int(entry.place.max(initial=-1)) for entry in self.entries), default=-1)

    @cached_property
    def cell_of_place(self) -> np.ndarray:
        """The number of each place's cell: places with equal numbers have the same track."""
        cell = np.zeros(self.n_places, dtype=np.int64)
        for entry in self.entries:
            seen = np.full(self.n_places, NOWHERE, dtype=np.int64)
            seen[entry.place] = entry.class_of
            cell = renumbered(cell * (entry.n_classes + 1) + seen + 1)
        return cell

    @cached_property
    def place_of_person(self) -> np.ndarray:
        """The place that each person has or had."""
        place = np.full(len(self.people), NOWHERE, dtype=np.int64)
        for entry in (entry.of_people for entry in self.entries):
            place[entry.person] = entry.place
        return place

    @cached_property
    def last_holder(self) -> np.ndarray:
        """Who had each place when it was last published."""
        holder = np.full(self.n_places, NOWHERE, dtype=np.int64)
        for entry in self.entries:
            holder[entry.place] = entry.person
        return holder

    @cached_property
    def last_value(self) -> np.ndarray:
        """The numbers of the sensitive values that each place was last published with, places by columns."""
        n_columns = self.entries[0].value.shape[1] if self.entries else 0
        value = np.full((self.n_places, n_columns), NOWHERE, dtype=np.int64)
        for entry in self.entries:
            value[entry.place] = entry.value
        return value

    def extended(self, entry: LedgerEntry) -> Ledger:
        """This ledger with one more release."""
        return replace(self, entries=(*self.entries, entry))


def renumbered(numbers: np.ndarray) -> np.ndarray:
    """The same numbers from 0 on without gaps, in the same order."""
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


def _stacked(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.empty((0, HASH_BYTES), dtype=np.uint8), *parts])
