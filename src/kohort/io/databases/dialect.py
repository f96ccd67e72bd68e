"""The one road out of and into a database; what differs is in the record of each dialect."""

from __future__ import annotations

import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.errors import InputError, UnsupportedError
from kohort.files.atomic import check_targets
from kohort.io.databases.connection import Connection
from kohort.io.databases.database_table import Address, DatabaseTable

DATABASE_TYPE = b"kohort.database_type"
"""The key of a field's metadata under which the type of its column in the database is noted."""


@dataclass(frozen=True)
class Dialect:
    """What differs between databases.

    connect  connect to one, and begin a transaction: one that only reads, unless it is `to_write`
    reading  how records come out of it
    writing  how a table is published in it
    stored   a column in a type that the database has; raises UnsupportedError for a type that it has not
    """

    connect: Callable[..., Connection]
    reading: type[Reading]
    writing: Callable[[Any, DatabaseTable, NewFile], Writing]
    stored: Callable[[pa.Field, pa.ChunkedArray], tuple[pa.Field, pa.ChunkedArray]]


_MODULES = {
    "postgresql": "kohort.io.databases.postgresql",
    "sqlite": "kohort.io.databases.sqlite",
    "duckdb": "kohort.io.databases.duckdb_files",
    "sqlalchemy": "kohort.io.databases.sqlalchemy_writing",
}


def _dialect(address: Address) -> Dialect:
    return import_module(_MODULES[address.driver]).DIALECT


def open_reading(source: DatabaseTable) -> Reading:
    """Connect to a database and begin to read a table or query."""
    if source.file is not None and not source.file.is_file():
        raise InputError(f"{source.file} does not exist. Check the URL: {source.address}.")
    dialect = _dialect(source.address)
    with ExitStack() as undo:
        connection = dialect.connect(source.address, to_write=False)
        undo.callback(connection.close)
        table = source.table
        statement = f"select * from {connection.quoted(*table)}" if table else source.query or ""
        reading = dialect.reading(connection, statement, source)
        undo.pop_all()
        return reading


def open_writing(target: DatabaseTable) -> Writing:
    """Connect to a database and begin a transaction that publishes a table; refused where it would fail."""
    if target.table is None:
        raise UnsupportedError("A release is written to a table: give its name, not a query.")
    dialect = _dialect(target.address)
    made = NewFile(target.file)
    with ExitStack() as undo:
        undo.callback(made.remove)
        connection = dialect.connect(target.address, to_write=True)
        undo.callback(connection.close)
        writing = dialect.writing(connection, target, made)
        undo.pop_all()
        return writing


def storable(table: pa.Table, target: DatabaseTable) -> pa.Table:
    """The table in types that the database has; raises UnsupportedError for a type that it has not."""
    stored = _dialect(target.address).stored
    pairs = [stored(field, column) for field, column in zip(table.schema, table.columns)]
    return pa.Table.from_arrays(
        [column for _, column in pairs], schema=pa.schema([field for field, _ in pairs])
    )


class Reading(ABC):
    """A table or query in one transaction that writes nothing, so that every reading sees the same records.

    source     what is read; None for a table that was just written, whose connection stays open
    schema     its columns, in types that Kohort codes; see DATABASE_TYPE
    relations  the tables that the statement reads, as far as the database says; known after a reading
    """

    schema: pa.Schema
    relations: frozenset[Any] = frozenset()

    def __init__(self, connection: Any, statement: str, source: DatabaseTable | None = None) -> None:
        self._connection, self._statement, self._source = connection, statement, source
        self.schema, self._select = self._looked_at()

    @abstractmethod
    def _looked_at(self) -> tuple[pa.Schema, str]:
        """The columns, and the statement that gives them in types that Arrow has."""

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        """All records; the next reading may begin when this one has ended or was closed."""
        for part in self._parts():
            columns = [_in_type(field, column) for field, column in zip(self.schema, part.columns)]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)
        if self._source is not None:
            self.relations = self._relations(self._source)

    def _parts(self) -> Iterator[pa.RecordBatch]:
        """The records as the driver gives them."""
        yield from self._connection.batches(self._select)

    @abstractmethod
    def _relations(self, source: DatabaseTable) -> frozenset[Any]:
        """The tables that were read, as `Writing.refuse_reads` of this database compares them."""

    def close(self) -> None:
        """End the transaction and the connection."""
        if self._source is not None:
            self._connection.close()


def _in_type(field: pa.Field, column: pa.Array) -> pa.Array:
    """A column that was read in the type of its field."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    try:
        return column if column.type == field.type else column.cast(field.type)
    except pa.ArrowInvalid:  # its message would show the value
        raise InputError(
            f"Column {field.name!r} has numbers that are not finite, such as NaN. Replace them in the "
            "query, for example by null."
        ) from None


class Writing(ABC):
    """A transaction that puts a table into a database; without `commit`, nothing has happened."""

    reading: type[Reading]
    most_schemas = 1
    """How many names may stand before that of the table."""

    def __init__(self, connection: Any, target: DatabaseTable, made: NewFile) -> None:
        assert target.table is not None
        self._connection, self._target, self._made = connection, target, made
        *self._above, self._name = target.table
        if len(self._above) > self.most_schemas:
            allowed = "a schema and a table, no more" if self.most_schemas else "a table and no schema"
            raise InputError(f"{target.name}: name {allowed}.")
        self._new = f"kohort_{secrets.token_hex(8)}"
        self._old = self._found()

    @abstractmethod
    def _found(self) -> Any:
        """What stands for the table of this name, None for a new one; one that must stay is refused."""

    def beside(self, target: DatabaseTable) -> Writing:
        """Another table of the same database that the same commit publishes; its own is never called."""
        return type(self)(self._connection, target, self._made)

    def refuse_reads(self, relations: frozenset[Any]) -> None:
        """Refuse a table that the release was made from."""
        if self._old is not None and self._own_relations() & relations:
            raise InputError(f"Table {self._name!r} is one that this run reads. Choose another output.")

    @abstractmethod
    def _own_relations(self) -> frozenset[Any]:
        """The table that is replaced, by the names that it may have in `Reading.relations`."""

    @abstractmethod
    def fill(self, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
        """Create a new table beside the one to replace, and put these records into it."""

    def read_back(self) -> Reading:
        """The new table, read inside the transaction. Closing it leaves the transaction open."""
        return self.reading(self._connection, f"select * from {self._quoted(self._new)}")

    def put_in_place(self) -> None:
        """Give the new table its name, in the place of the old one."""
        if self._old is not None:
            self._connection.run(f"drop table {self._quoted(self._name)}")
        self._connection.run(self._renaming())

    def _renaming(self) -> str:
        name = self._connection.quoted(self._name)
        return f"alter table {self._quoted(self._new)} rename to {name}"

    def _quoted(self, name: str) -> str:
        return self._connection.quoted(*self._above, name)

    def commit(self) -> None:
        self._connection.commit()
        self._made.keep()

    def close(self) -> None:
        """Undo what was not committed, and end the connection."""
        self._connection.close()
        self._made.remove()

    def _lost(self) -> InputError:
        """The error where nobody can say whether the table was published."""
        return InputError(
            f"{self._target.address}: the connection was lost while the table was published, and the "
            "server cannot be asked whether it was. Look at the table before you run this again."
        )

    def _refused(self, why: str) -> InputError:
        """The error for a table of this name that must stay."""
        return InputError(f"Table {self._name!r} exists and is not replaced: {why}. Choose another name.")

    def _refuse_view(self, is_view: bool) -> None:
        if is_view:
            raise InputError(f"{self._name!r} is a view, which is not replaced. Choose another name.")


# Databases that are files: made for a release if there are none, and gone again if it fails.


class NewFile:
    """The file of a database that a run may make; `remove` removes it unless `keep` was called.

    path  None on a server, which has no file to make
    """

    def __init__(self, path: Path | None) -> None:
        self._made = []
        if path is not None:
            check_targets([path])
            endings = () if path.exists() else ("", "-journal", "-wal", "-shm", ".wal")
            self._made = [path.with_name(path.name + ending) for ending in endings]

    def keep(self) -> None:
        self._made.clear()

    def remove(self) -> None:
        for path in self._made:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def relations_of(path: Path | None, tables: Iterable[str]) -> frozenset[Any]:
    """Tables of a file, as `Reading.relations` names them; such databases ignore the case of names."""
    return frozenset() if path is None else frozenset((os.path.realpath(path), t.lower()) for t in tables)


# Columns on their way into a database: plain values, in a type that it has.


Stored = list[tuple[Callable[[pa.DataType], bool], pa.DataType]]
"""What a database stores, type by type: a test of Arrow's types, and the one that stands for them."""


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values, without dictionaries and extensions."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def stored_type(field: pa.Field, kind: pa.DataType, stored: Stored, database: str) -> pa.DataType:
    """The type that stands for another one; raises UnsupportedError where the database has none."""
    kind = plain_type(kind)
    found = next((other for test, other in stored if test(kind)), None)
    if found is None:
        raise UnsupportedError(
            f"Column {field.name!r} has the type {field.type}, which Kohort does not write to {database}. "
            "Leave it out, or write Parquet (.parquet)."
        )
    return found


def stored_as(field: pa.Field, column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """A column in the type that a database has for it; refused where a value would lose a part of itself."""
    try:
        return column if column.type == kind else column.cast(kind)
    except pa.ArrowInvalid:  # its message would show the value
        raise UnsupportedError(
            f"Column {field.name!r} has values that do not fit into the type {kind} of the database, such as "
            "times finer than a microsecond. Round them, or write Parquet (.parquet)."
        ) from None
