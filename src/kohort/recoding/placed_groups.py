"""Groups of people who have places in a ledger: which place each record is published in."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kohort.recoding.groups import Groups

__all__ = ["PlacedGroups"]


@dataclass(frozen=True, eq=False)
class PlacedGroups(Groups):
    """A recoding by groups, and the place of every record: see `kohort.data.ledger`.

    place_of_record  -1 for a withheld record; places of earlier releases have their numbers, new ones follow
    told             how many places were passed on, people wait, cells rest: counts for the certificate
    """

    place_of_record: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    told: dict[str, int] = field(default_factory=dict)
