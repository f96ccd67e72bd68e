"""Histories: which records are seen together, as those of one person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kohort.data.counting import distinct_rows

_NO_EVENTS = frozenset({-1})


@dataclass(frozen=True, eq=False)
class Histories:
    """The records of each person, which a published pseudonym links.

    persons  the number of each record's person, from 0 on without gaps
    slots    the number of each record's slot, at most one record of a person in each; None: the records of a
             person are an unordered bag
    nothing  of a table that was joined from people and their events: per record whether it stands for a
             person without events, and is the only one of that person; None: no record does
    missing  the columns that such a record lacks: those of the events
    """

    persons: np.ndarray
    slots: np.ndarray | None = None
    nothing: np.ndarray | None = None
    missing: frozenset[str] = frozenset()

    @cached_property
    def n_people(self) -> int:
        return int(self.persons.max()) + 1

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many records each person has."""
        return np.bincount(self.persons)

    @property
    def marks(self) -> list[np.ndarray]:
        """What is seen of a record besides its values: whether it stands for a person without events."""
        return [] if self.nothing is None else [self.nothing.astype(np.int64)]

    def having(self, column: str, records: np.ndarray) -> np.ndarray:
        """For each of these records whether it has a value in the column, which may be missing there."""
        if self.nothing is None or column not in self.missing:
            return np.ones(len(records), dtype=bool)
        return ~self.nothing[records]

    def ordered(self, leaves: Sequence[np.ndarray]) -> np.ndarray:
        """The records person by person, each person's by slot; in a bag by these leaves, the first first."""
        keys = [self.slots] if self.slots is not None else list(leaves)
        return np.lexsort([*keys[::-1], self.persons])

    def patterns(self) -> tuple[list[frozenset[int]], np.ndarray]:
        """The different patterns of slots, and the number of each person's pattern.

        A bag of n records has the pattern {0, ..., n - 1}, and a person without events has {-1}. O(n log n).
        """
        if self.slots is None:
            events = self.sizes
            if self.nothing is not None:
                events = events - np.bincount(self.persons, weights=self.nothing).astype(np.int64)
            sizes, number = np.unique(events, return_inverse=True)
            return [frozenset(range(size)) or _NO_EVENTS for size in sizes.tolist()], number
        records = self.ordered(())
        first = np.cumsum(self.sizes) - self.sizes
        place = np.arange(len(records)) - np.repeat(first, self.sizes)
        slots = np.zeros((self.n_people, int(self.sizes.max())), dtype=np.int64)
        slots[self.persons[records], place] = self.slots[records] + 1  # 0: no such record
        rows, _, number = distinct_rows(slots)
        return [frozenset((row[row > 0] - 1).tolist()) for row in rows], number
