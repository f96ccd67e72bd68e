"""The histories of a table whose records are linked: what is seen of each person, all records together.

A pseudonym links the records of a person. Its history is the quasi-identifiers of all of them, slot by slot;
without slots it is an unordered bag of records. How many records there are, and in which slots, is a part of
the history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kohort.data.column import Column
from kohort.errors import counted
from kohort.tables.table import Table
from kohort.verification.classes import PublishedClasses
from kohort.verification.demands import Original
from kohort.verification.promises import OF_CLASSES, Counts, Promise
from kohort.verification.two_files import Eventless
from kohort.verification.verdict import Check


@dataclass(frozen=True, eq=False)
class PublishedHistories(PublishedClasses):
    """The classes of a table with linked records: people with the same history, and all their records.

    person  the column that links the records
    slot    the column that says which of a person's records it is; None: they are a bag
    eventless  of people and events that were joined: those without events; None: there is one table
    """

    person: Column = field(kw_only=True)
    slot: Column | None = field(default=None, kw_only=True)
    eventless: Eventless | None = field(default=None, kw_only=True)

    @cached_property
    def class_of_record(self) -> np.ndarray:
        """The number of the history of each record's person."""
        slots = None if self.slot is None else self.slot.codes
        seen = [column.codes for column in self.columns]
        if self.eventless is not None:
            seen.append(self.eventless.records.astype(np.int64))
        return history_of_record(self.person.codes, slots, seen)

    def lacking(self, column: str | None) -> np.ndarray | None:
        return None if self.eventless is None else self.eventless.lacking(column)

    @cached_property
    def all_star(self) -> np.ndarray:
        """Nobody counts as withheld: a history of stars still shows the number of records."""
        return np.zeros(len(self.sizes), dtype=bool)

    @cached_property
    def all_star_records(self) -> np.ndarray:
        return np.zeros(len(self.class_of_record), dtype=bool)

    def own_checks(self, promises: Sequence[Promise]) -> list[Check]:
        """Check that records are linked as they should be, and the models in every slot by itself."""
        return [*check_links(self.person, self.slot), *self._check_slots(promises)]

    def _check_slots(self, promises: Sequence[Promise]) -> list[Check]:
        """Check the models in every slot by itself: whoever knows a person's history may look at one slot."""
        about_values = [promise for promise in promises if promise.attribute is not None]
        if self.slot is None or not about_values:
            return []
        cells = self.class_of_record * len(self.slot.texts) + self.slot.codes
        _, number = np.unique(cells, return_inverse=True)
        broken = [promise.name for promise in about_values if not self._holds_in(number, promise)]
        detail = (
            f"In some slot of some history, {', '.join(broken)} does not hold among the records there."
            if broken
            else "The models of sensitive values hold in every slot of every history by itself."
        )
        return [Check("models slot by slot", not broken, detail)]

    def _holds_in(self, class_of_record: np.ndarray, promise: Promise) -> bool:
        assert promise.attribute is not None
        values, lacking = self.values[promise.attribute], self.lacking(promise.attribute)
        codes = self.sensitive[promise.attribute].codes
        if lacking is not None:
            codes = codes[~lacking]
            _, class_of_record = np.unique(class_of_record[~lacking], return_inverse=True)
        if not len(codes):
            return True
        n_classes = int(class_of_record.max()) + 1
        counts = Counts.of_records(class_of_record, codes, n_classes, len(values.texts))
        return bool(OF_CLASSES[promise.name](promise, counts, values).holds.all())


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


def check_people(published: Table, original: Original, rows: np.ndarray, person: str, *, sure: bool) -> Check:
    """Check that pseudonyms link exactly the records that are of one person in the original.

    rows  per published record its original
    sure  whether these are the true originals
    """
    name = "people"
    if not sure:
        detail = "Whether pseudonyms link the records of the same person, only the order file can tell."
        return Check(name, None, detail)
    after = published.column(person).codes.astype(np.int64)
    before = original.dataset.column(person).codes[rows]
    pairs = len(np.unique(after * (int(before.max()) + 1) + before))
    fine = pairs == len(np.unique(after)) == len(np.unique(before))
    detail = (
        f"Each pseudonym in {person!r} stands for one person, and each person has one."
        if fine
        else f"The pseudonyms in {person!r} do not link the records that are of one person in the original."
    )
    return Check(name, fine, detail)
