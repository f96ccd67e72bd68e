"""Two files: a table of people and one of their events, joined for the job and parted for the release.

The joined table has a record for each event, with the columns of its person, and one for each person without
events, whose columns of events are missing. Where the events are items, it has a record for each person, with
a list of their items. Records are in the order of the people, and of the events of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.arrow_values import take_records, value_type
from kohort.data.codebook import codebook_of, with_codebook
from kohort.errors import InfeasibleError, InputError, counted
from kohort.job.people import persons_of
from kohort.late import nw
from kohort.statement import Statement
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table
from kohort.verification import WrittenCheck

if TYPE_CHECKING:
    from kohort.job.publish import Published


@dataclass(frozen=True, eq=False)
class OneFile:
    """A table that is published as one table."""

    table: Table
    nothing: ClassVar[np.ndarray] = np.zeros(0, dtype=bool)
    columns_of_events: ClassVar[frozenset[str]] = frozenset()
    notes: ClassVar[tuple[str, ...]] = ()

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that came."""
        return (self.table,)

    def in_order(self, rows: np.ndarray) -> np.ndarray:
        """The records in the order in which they are published, once they were shuffled."""
        return rows

    def parted(self, published: Published) -> tuple[pa.Table, ...]:
        """The tables that are published, in Arrow."""
        return (published.arrow,)

    def native(self, published: Published) -> tuple[Any, ...]:
        """The published tables, each of the kind that came in."""
        return (published.native,)

    def facts(self) -> dict[str, Any] | None:
        """What the certificate says of them."""
        return None


@dataclass(frozen=True, eq=False)
class TwoFiles:
    """A table of people, one of their events, and the two joined.

    key      the column that both tables have: whose record it is
    items    the column of events that is published as sets of items; None: events are linked records
    table    the joined table
    person   per joined record the number of its person in the table of people
    nothing  per joined record whether it stands for a person without events
    orphans  how many events were left out, because their person is not in the table of people
    """

    people: Table
    events: Table
    key: str
    items: str | None
    table: Table
    person: np.ndarray
    nothing: np.ndarray
    orphans: int

    @property
    def tables(self) -> tuple[Table, ...]:
        return self.people, self.events

    @property
    def columns_of_events(self) -> frozenset[str]:
        """The columns of the joined table that come from the events."""
        return frozenset(self.events.names) - {self.key}

    def in_order(self, rows: np.ndarray) -> np.ndarray:
        """The same records person by person, in the order in which people first occur."""
        _, first, number = np.unique(self.person[rows], return_index=True, return_inverse=True)
        return rows[np.argsort(first[number], kind="stable")]

    def parted(self, published: Published) -> tuple[pa.Table, ...]:
        table, rows = published.arrow, published.rows
        _, first = np.unique(self.person[rows], return_index=True)
        people = _taken(table, [n for n in self.people.names if n in published.names], np.sort(first))
        if self.items is not None:  # one to a record: nothing tells how often, or in which order, they came
            lists = table[self.items].combine_chunks()
            sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
            owner = np.repeat(np.arange(len(lists)), sizes)
            columns = {self.key: take_records(table[self.key], owner), self.items: lists.flatten()}
            return people, pa.table({name: columns[name] for name in self.events.names if name in columns})
        shown = [name for name in self.events.names if name in published.names]
        return people, _taken(table, shown, np.flatnonzero(~self.nothing[rows]))

    def native(self, published: Published) -> tuple[Any, ...]:
        return tuple(_like(original, table) for original, table in zip(self.tables, published.parted))

    @property
    def notes(self) -> list[str]:
        """Notes about two tables: how they are counted, and what was left out.

        Numbers are not said, as they may be small; the certificate has them.
        """
        notes = [
            f"People and events are published together. The pseudonyms in {self.key!r} are fresh, and link "
            "the two files and nothing else."
        ]
        if self.items is None:
            notes.append(
                "Where figures speak of records, they are those of the two files joined: one for each event, "
                "and one for each person without any."
            )
        else:
            notes.append(
                f"Each item of {self.items!r} is published once for a person, however often it came."
            )
        if self.orphans:
            notes.append("Events of people who are not in the table of people were left out (orphans: drop).")
        return notes

    def facts(self) -> dict[str, Any] | None:
        return {
            "key": self.key,
            "columns": [name for name in self.events.names if name in self.table.names],
            "items": self.items,
            "people": self.people.n_records,
            "events": self.events.n_records - self.orphans,
            "without_events": int(self.nothing.sum()),
            "orphans": self.orphans,
        }


def _taken(table: pa.Table, names: list[str], rows: np.ndarray) -> pa.Table:
    fields = [table.schema.field(name) for name in names]
    return pa.table([take_records(table[name], rows) for name in names], schema=pa.schema(fields))


def _like(original: Table, table: pa.Table) -> Any:
    """A published table as the kind of dataframe that its original is."""
    plain = [column.cast(value_type(column.type)) for column in table.columns]
    backend = nw.get_native_namespace(original.frame)
    made = nw.from_arrow(pa.table(plain, names=table.column_names), backend=backend).to_native()
    return compared(made, table)


def join_files(people: Table, events: Table, request: Statement) -> TwoFiles:
    """Join the events to their people; what does not fit together is refused, with its number."""
    asked = request.events
    if not asked:
        raise InputError(
            "Events are given, but nothing is asked of them: add 'events' with their key to the spec (in "
            "Python, name the column that both tables have as person)."
        )
    items = request.roles.only("items")
    asked.refuse_wrong_columns(people.names, events.names, request.roles, items)
    owner = _owners(people, events, asked.key)
    orphans = int((owner < 0).sum())
    if orphans and asked.orphans == "error":
        what = counted(orphans, "event is", "events are")
        raise InputError(
            f"{what} of people who are not in the table of people (by {asked.key!r}). Correct them, or leave "
            "such events out with orphans: drop."
        )
    if orphans == len(owner):
        raise InputError(f"No event is of anybody in the table of people: no {asked.key!r} is in both.")
    return _joined(people, events, asked.key, items, owner, orphans)


def _owners(people: Table, events: Table, key: str) -> np.ndarray:
    """Per event the number of its person in the table of people; -1: not there."""
    for table in (people, events):
        persons_of(table, key)
    own, named = people.column(key), events.column(key)
    if twice := people.n_records - len(own.texts):
        raise InputError(
            f"The table of people has {counted(twice, 'record')} with a {key!r} that an earlier one has. "
            "Everybody must be there once."
        )
    row_of = dict(zip((own.texts[code] for code in own.codes.tolist()), range(people.n_records)))
    return np.array([row_of.get(text, -1) for text in named.texts], dtype=np.int64)[named.codes]


def _joined(
    people: Table, events: Table, key: str, items: str | None, owner: np.ndarray, orphans: int
) -> TwoFiles:
    n_events = np.bincount(owner[owner >= 0], minlength=people.n_records)
    order = np.argsort(owner, kind="stable")[orphans:]
    columns = {name: (people.field(name), people.arrow(name)) for name in people.names}
    if items is not None:
        person, nothing = np.arange(people.n_records), n_events == 0
        columns[items] = _nested(events, items, order, n_events)
    else:
        person = np.repeat(np.arange(people.n_records), np.maximum(n_events, 1))
        nothing = n_events[person] == 0
        columns = {name: (field, take_records(values, person)) for name, (field, values) in columns.items()}
        event_of = np.full(len(person), -1, dtype=np.int64)
        event_of[~nothing] = order
        places = pa.array(event_of, mask=event_of < 0)  # there is no event: its columns are missing
        for name in events.names:
            if name != key:
                values = events.arrow(name)
                field = with_codebook(pa.field(name, values.type), codebook_of(events.field(name)))
                columns[name] = field, take_records(values, places)
    fields, arrays = zip(*columns.values())
    table = MemoryTable(pa.table(list(arrays), schema=pa.schema(fields)))
    return TwoFiles(people, events, key, items, table, person, nothing, orphans)


def _nested(events: Table, items: str, order: np.ndarray, sizes: np.ndarray) -> tuple[pa.Field, pa.Array]:
    """The items of each person as a list; that of a person without any is empty."""
    values = take_records(events.arrow(items), order)
    if missing := values.null_count:
        raise InputError(
            f"Column {items!r} of the events: {counted(missing, 'value is', 'values are')} missing. Fill "
            "them in, or leave these events out."
        )
    flat = pa.concat_arrays(values.chunks) if isinstance(values, pa.ChunkedArray) else values
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(offsets), flat)
    return pa.field(items, lists.type), lists


def refuse_no_events(events: pa.Table) -> None:
    """Refuse a release in which no event would be left."""
    if not events.num_rows:
        raise InfeasibleError(
            "No event could be published: in every class too few people have any. Ask for a smaller k, or "
            "publish the people alone."
        )


def compared(native: Any, verified: pa.Table) -> Any:
    """A dataframe, refused unless it holds what was verified."""
    found, check = MemoryTable(native), WrittenCheck.of(verified, "the dataframe", holds_all=True)
    check.compare(pa.table({name: found.arrow(name) for name in found.names}))
    check.finish()
    return native
