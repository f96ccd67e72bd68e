"""What earlier releases say of the records of a table: who has which place, and which belong together."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class EarlierValues:
    """The values of a sensitive column that the places of an earlier release showed.

    place   the places that were shown
    value   a number for the value of each
    labels  the text of each value, as far as a promise names it
    """

    attribute: str
    place: np.ndarray
    value: np.ndarray
    labels: tuple[str | None, ...]


@dataclass(frozen=True, eq=False)
class Standing:
    """The people of a table as earlier releases left them.

    place_of_record  the place that the person has or had; -1 for newcomers, who were never published
    holds            per record whether its person is the last one who was published in that place
    kind_of_record   a number for the sensitive values of each record
    kind_of_place    that of the values which each place was last published with; -1: nobody has them now
    cell_of_place    places with the same number look alike in all earlier releases
    signature_of_record, signatures  for m-invariance: the number of each person's signature, -1 for
                     newcomers; and the signatures, each the kinds of values that it has
    group_of_record  for m-invariance: a number for the group that each person was last in, -1 for newcomers
    earlier          the sensitive values that each earlier release showed
    """

    place_of_record: np.ndarray
    holds: np.ndarray
    kind_of_record: np.ndarray
    kind_of_place: np.ndarray
    cell_of_place: np.ndarray
    signature_of_record: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    signatures: tuple[tuple[int, ...], ...] = ()
    group_of_record: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    earlier: tuple[EarlierValues, ...] = ()

    @property
    def n_places(self) -> int:
        return len(self.cell_of_place)

    @property
    def newcomers(self) -> np.ndarray:
        """The records of people who were never published."""
        return np.flatnonzero(self.place_of_record < 0)

    def seated(self) -> np.ndarray:
        """Per place the record that has it by right, or -1 where it is vacant.

        Its last holder, whatever their values are now; else somebody who had it before and comes back with
        the values that it was last published with.
        """
        record = np.full(self.n_places, -1, dtype=np.int64)
        known = self.place_of_record >= 0
        place = np.where(known, self.place_of_record, 0)
        back = (
            known & ~self.holds & (self.kind_of_record == self.kind_of_place[place] if known.any() else False)
        )
        for chosen in (back, known & self.holds):  # who holds it comes before who comes back
            record[self.place_of_record[chosen]] = np.flatnonzero(chosen)
        return record
