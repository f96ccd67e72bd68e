"""The histories of a table whose records are linked: what is seen of each person, all records together.

A pseudonym links the records of a person. Its history is the quasi-identifiers of all of them, slot by slot;
without slots it is an unordered bag of records. How many records there are, and in which slots, is a part of
the history.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kohort.data.column import Column
from kohort.errors import counted
from kohort.verification.verdict import Check

__all__ = ["check_links", "history_of_record"]


def history_of_record(
    persons: np.ndarray, slots: np.ndarray | None, columns: Sequence[np.ndarray]
) -> np.ndarray:
    """For each record a number for the history of its person, from 0 on; equal histories have the same.

    columns  the quasi-identifiers in codes

    Records are numbered by what is seen of them; a history is the sorted numbers of a person's records.
    O(n log n), and Python touches each person once.
    """
    seen = _numbered(columns if slots is None else [slots, *columns])
    order = np.lexsort([seen, persons])
    starts = np.flatnonzero(np.diff(persons[order], prepend=-1))
    ends = np.append(starts[1:], len(order))
    in_order = np.ascontiguousarray(seen[order])
    number_of: dict[bytes, int] = {}
    history = np.empty(len(order), dtype=np.int64)
    for start, end in zip(starts.tolist(), ends.tolist()):
        key = in_order[start:end].tobytes()
        history[order[start:end]] = number_of.setdefault(key, len(number_of))
    return history


def _numbered(columns: Sequence[np.ndarray]) -> np.ndarray:
    """For each record a number, the same for records with the same codes in all columns."""
    number = np.zeros(len(columns[0]), dtype=np.int64)
    for codes in columns:
        pairs = number * (int(codes.max()) + 1) + codes
        _, number = np.unique(pairs, return_inverse=True)
    return number


def check_links(person: Column, slot: Column | None) -> list[Check]:
    """Check that every published record has a pseudonym, and nobody two records in a slot."""
    missing = int(person.counts[-1]) if person.has_null else 0
    detail = (
        f"{counted(missing, 'record has', 'records have')} no pseudonym in {person.name!r}."
        if missing
        else f"Every record has a pseudonym in {person.name!r}."
    )
    checks = [Check("linked records", not missing, detail)]
    if slot is not None:
        pairs = person.codes.astype(np.int64) * len(slot.texts) + slot.codes
        twice = len(pairs) - len(np.unique(pairs))
        detail = (
            f"{counted(twice, 'record is', 'records are')} in the same slot of {slot.name!r} as another one "
            "of the same person."
            if twice
            else f"Nobody has two records in one slot of {slot.name!r}."
        )
        checks.append(Check("slots", not twice, detail))
    return checks
