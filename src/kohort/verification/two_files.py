"""Two files as a stranger reads them: the events are joined to their people by the key that both have.

By Arrow's own join, which shares no code with the one that makes releases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.arrow_values import take_records
from kohort.errors import counted
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table
from kohort.verification.verdict import Check

_KEY, _PERSON, _EVENT = "key", "person", "event"


@dataclass(frozen=True, eq=False)
class Eventless:
    """Which records of a joined table stand for people without events, and the columns that these lack."""

    records: np.ndarray
    columns: frozenset[str] = frozenset()

    def lacking(self, column: str | None) -> np.ndarray:
        """The records without a value in the column, because there is no event."""
        return np.flatnonzero(self.records) if column in self.columns else np.empty(0, dtype=np.int64)


EVENTS_OF_ALL = Eventless(np.zeros(0, dtype=bool))
"""No record stands for a person without events."""


@dataclass(frozen=True, eq=False)
class JoinedTables:
    """People and their events as one table: a record per event, and one per person without any.

    Where the events are items, there is a record per person, with the list of their items. A table without
    events is what it is.

    checks  whether everybody is among the people once, every event is that of one of them, and the tables
            have no columns that the joined table does not show
    """

    table: Table
    eventless: Eventless = EVENTS_OF_ALL
    checks: tuple[Check, ...] = ()


def join_tables(people: Table, events: Table, key: str, items: str | None) -> JoinedTables:
    """Join events to people, in the order of the people, and of the events of each."""
    for table in (people, events):
        table.require([key])
    checks = (
        _check_people(people, key),
        _check_events(people, events, key),
        _check_columns(people, events, key, items),
    )
    left, right = _keys(people, key, _PERSON), _keys(events, key, _EVENT)
    found = left.join(right, keys=_KEY, join_type="left outer", use_threads=False)
    found = found.sort_by([(_PERSON, "ascending"), (_EVENT, "ascending")])
    person, event = (found[name].combine_chunks() for name in (_PERSON, _EVENT))
    if items is not None:
        return JoinedTables(_with_lists(people, events, items, person, event), checks=checks)
    others = [name for name in events.names if name not in people.names]
    columns = {name: take_records(people.arrow(name), person) for name in people.names}
    columns |= {name: take_records(events.arrow(name), event) for name in others}
    lacks = pc.is_null(event).to_numpy(zero_copy_only=False)
    return JoinedTables(MemoryTable(pa.table(columns)), Eventless(lacks, frozenset(others)), checks)


def _keys(table: Table, key: str, place: str) -> pa.Table:
    """The keys of a table as texts, and the number of each record; records without a key are left out."""
    column = table.column(key)
    texts = pa.DictionaryArray.from_arrays(column.codes, pa.array(column.texts, pa.string()))
    keys = pa.table({_KEY: texts.cast(pa.string()), place: np.arange(len(column.codes))})
    return keys.filter(pc.is_valid(keys[_KEY]))


def _with_lists(people: Table, events: Table, items: str, person: pa.Array, event: pa.Array) -> Table:
    """The people with the list of their items; that of somebody without any is missing."""
    events.require([items])
    starts = np.flatnonzero(np.diff(person.to_numpy(), prepend=-1))
    there = pc.is_valid(event).to_numpy(zero_copy_only=False).astype(np.int64)
    sizes = np.add.reduceat(there, starts)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    values = take_records(events.arrow(items), event.drop_null())
    flat = pa.concat_arrays(values.chunks) if isinstance(values, pa.ChunkedArray) else values
    lists = pa.ListArray.from_arrays(pa.array(offsets), flat, mask=pa.array(sizes == 0))
    columns = {name: take_records(people.arrow(name), person.take(starts)) for name in people.names}
    return MemoryTable(pa.table(columns | {items: lists}))


def _check_columns(people: Table, events: Table, key: str, items: str | None) -> Check:
    """Check that no column is hidden by the join: one that both tables have, or one beside items."""
    shown = set(events.names) - set(people.names) if items is None else {items}
    hidden = sorted(set(events.names) - shown - {key})
    good = "The events have no column that the people have, too, but the key."
    bad = f"The events have columns that they should not have: {', '.join(map(repr, hidden))}."
    return Check.of("columns of the events", hidden, good, bad)


def _check_people(people: Table, key: str) -> Check:
    wrong = people.n_records - sum(text is not None for text in people.column(key).texts)
    have = "has" if wrong == 1 else "have"
    good = f"Everybody is in the table of people once, by {key!r}."
    bad = f"{counted(wrong, 'record')} of the people {have} no {key!r} of their own."
    return Check.of("people and events", wrong, good, bad)


def _check_events(people: Table, events: Table, key: str) -> Check:
    known = {text for text in people.column(key).texts if text is not None}
    column = events.column(key)
    strays = int(sum(n for text, n in zip(column.texts, column.counts.tolist()) if text not in known))
    good = "Every event is of somebody in the table of people."
    bad = f"{counted(strays, 'event is', 'events are')} of nobody in the table of people."
    return Check.of("events", strays, good, bad)
