"""Groups of people who have places in a ledger: which place each record is published in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from kohort.recoding.groups import Groups


def _nothing() -> np.ndarray:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Counterfeits:
    """Records that are nobody's, published so that a group has each of its sensitive values equally often.

    group  the group of each
    like   a record of the same group: the counterfeit has its quasi-identifiers, so that no label is widened
    value  a record of the table that has the counterfeit's sensitive value
    """

    group: np.ndarray = field(default_factory=_nothing)
    like: np.ndarray = field(default_factory=_nothing)
    value: np.ndarray = field(default_factory=_nothing)

    def __len__(self) -> int:
        return len(self.group)


@dataclass(frozen=True, eq=False)
class PlacedGroups(Groups):
    """A recoding by groups, and the place of every record: see `kohort.data.ledger`.

    place_of_record  -1 for a withheld record; places of earlier releases have their numbers, new ones follow
    told             how many places were passed on, people wait, cells rest: counts for the certificate
    counterfeits     records beside those of the table
    """

    place_of_record: np.ndarray = field(default_factory=_nothing)
    told: dict[str, int] = field(default_factory=dict)
    counterfeits: Counterfeits = field(default_factory=Counterfeits)

    def with_counterfeits(self) -> PlacedGroups:
        """The same recoding of a table that has the counterfeits after its records."""
        group = self.counterfeits.group.astype(self.group_of_record.dtype)
        return replace(
            self,
            group_of_record=np.concatenate([self.group_of_record, group]),
            place_of_record=np.concatenate([self.place_of_record, self.counterfeits.group]),
            counterfeits=Counterfeits(),
        )
