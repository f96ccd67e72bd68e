"""The histories of a published table whose records are linked: what is seen of each person, all records together.

A pseudonym links the records of a person. Its history is the published quasi-identifiers of all of them, slot
by slot; without slots it is an unordered bag of records. How many records there are, and in which slots, is a
part of the history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kohort.data.column import Column
from kohort.errors import counted
from kohort.verification.verdict import Check

__all__ = ["PublishedLinks", "check_links", "history_of_record"]


@dataclass(frozen=True, eq=False)
class PublishedLinks:
    """The column that links the published records of a person and, if there is one, that of their slots."""

    person: Column
    slot: Column | None = None

    @cached_property
    def persons(self) -> np.ndarray:
        """The number of each published record's person."""
        return self.person.codes


def history_of_record(links: PublishedLinks, columns: Sequence[Column]) -> np.ndarray:
    """For each published record a number of its person's history, from 0 on; equal ones have the same.

    columns  the published quasi-identifiers

    Records are numbered by what is seen of them; a history is the sorted numbers of a person's records.
    O(n log n), and Python touches each person once.
    """
    seen = _numbered(columns if links.slot is None else [links.slot, *columns])
    order = np.lexsort([seen, links.persons])
    people = links.persons[order]
    starts = np.flatnonzero(np.diff(people, prepend=-1))
    ends = np.append(starts[1:], len(order))
    sorted_seen = np.ascontiguousarray(seen[order])
    number_of: dict[bytes, int] = {}
    history = np.empty(len(order), dtype=np.int64)
    for start, end in zip(starts.tolist(), ends.tolist()):
        key = sorted_seen[start:end].tobytes()
        history[order[start:end]] = number_of.setdefault(key, len(number_of))
    return history


def _numbered(columns: Sequence[Column]) -> np.ndarray:
    """For each record a number, the same for records with the same values in all columns."""
    number = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        pairs = number * max(len(column.texts), 1) + column.codes
        _, number = np.unique(pairs, return_inverse=True)
    return number


def check_links(links: PublishedLinks) -> list[Check]:
    """Check that every published record has a pseudonym, and no person two records in a slot."""
    checks = []
    if links.person.has_null:
        missing = int(links.person.counts[-1])
        detail = f"{counted(missing, 'published record has', 'published records have')} no pseudonym."
        checks.append(Check("linked records", False, detail))
    if links.slot is not None:
        pairs = links.persons.astype(np.int64) * len(links.slot.texts) + links.slot.codes
        twice = len(pairs) - len(np.unique(pairs))
        detail = (
            f"{counted(twice, 'record shares', 'records share')} the slot of another one of the same person."
            if twice
            else f"Nobody has two records in one slot of {links.slot.name!r}."
        )
        checks.append(Check("slots", not twice, detail))
    return checks
