"""The one road out of and into a database; a class for each kind of database says what differs.

A `Database` is a connection in one transaction, and knows how records come out of it. Its `Writing` publishes
a table: a draft beside the old one is filled, read back, and takes its name.
"""

from __future__ import annotations

import importlib
import os
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.data.arrow_values import is_bytes, is_text, value_type
from kohort.errors import InputError, UnsupportedError
from kohort.extras import missing_package
from kohort.files.atomic import check_targets
from kohort.io.databases import Address, DatabaseTable

DATABASE_TYPE = b"kohort.database_type"
"""The key of a field's metadata under which the type of its column in the database is noted."""
_CLASSES = {
    "postgresql": "postgresql.Postgresql",
    "sqlite": "file_databases.Sqlite",
    "duckdb": "file_databases.Duckdb",
    "sqlalchemy": "sqlalchemy_databases.AnyDatabase",
}


def _class_of(address: Address) -> Any:
    """The subclass of `Database`; made with an address, it connects `to_write` or only to read."""
    module, name = _CLASSES[address.driver].split(".")
    return getattr(importlib.import_module(f"kohort.io.databases.{module}"), name)


def open_reading(source: DatabaseTable) -> Reading:
    """Connect to a database and begin to read a table or query."""
    if source.file is not None and not source.file.is_file():
        raise InputError(f"{source.file} does not exist. Check the URL: {source.address}.")
    with ExitStack() as undo:
        database = _class_of(source.address)(source.address, to_write=False)
        undo.callback(database.close)
        statement = f"select * from {database.quoted(*source.table)}" if source.table else source.query
        reading = Reading(database, statement, source)
        undo.pop_all()
        return reading


def open_writing(target: DatabaseTable) -> Writing:
    """Connect to a database and begin a transaction that publishes a table; refused where it would fail."""
    if not target.table:
        raise UnsupportedError("A release is written to a table: give its name, not a query.")
    made = NewFile(target.file)
    with ExitStack() as undo:
        undo.callback(made.remove)
        database = _class_of(target.address)(target.address, to_write=True)
        undo.callback(database.close)
        writing = database.writing(database, target, made)
        undo.pop_all()
        return writing


def storable(table: pa.Table, target: DatabaseTable) -> pa.Table:
    """The table in types that the database has; raises UnsupportedError for a type that it has not."""
    stored = _class_of(target.address).stored
    pairs = [stored(field, column) for field, column in zip(table.schema, table.columns)]
    schema = pa.schema([field for field, _ in pairs])
    return pa.Table.from_arrays([column for _, column in pairs], schema=schema)


class Database:
    """A connection to a database with a transaction, whose errors are told in our words.

    Every kind has these besides:

    writing                       the class of `Writing` by which a table is published in it
    run(statement, tells)         runs a statement that gives nothing
    rows(statement, *values)      all rows of a small result; `values` take the places of the parameters
    looked_at(statement, source)  the columns in types that Kohort codes, and the statement that gives them
    parts(select, schema)         the records as the driver gives them; `select` is what `looked_at` has found
    relations(statement, source)  the tables that were read, as `Writing.refuse_reads` compares them
    stored(field, column)         a column in a type that the database has, or an UnsupportedError
    commit(), close()             makes what was done lasting; ends the connection and undoes the rest
    """

    def __init__(self, address: Address, *errors: type[Exception]) -> None:
        self.address, self._errors = address, (*errors, OSError, pa.ArrowException)

    @contextmanager
    def explained(self, *, tells: bool) -> Iterator[None]:
        """Turn errors of the driver into an InputError.

        tells  whether its own words may be shown: those about connecting and the query, not about records
        """
        try:
            yield
        except self._errors as error:
            raise failure(self.address, error, tells=tells) from None

    def quoted(self, *parts: str) -> str:
        """A name by the rules of the database."""
        return quoted(*parts)


class Reading:
    """A table or query in one transaction that writes nothing, so that every reading sees the same records.

    source     what is read; None for a table that was just written, whose connection stays open
    schema     its columns
    relations  the tables that the statement reads, as far as the database says; known after a reading
    """

    def __init__(self, database: Any, statement: str, source: DatabaseTable | None = None) -> None:
        self._database, self._statement, self._source = database, statement, source
        self.schema, self._select = database.looked_at(statement, source)
        self.relations: frozenset[Any] = frozenset()

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        """All records; the next reading may begin when this one has ended or was closed."""
        for part in self._database.parts(self._select, self.schema):
            columns = [_in_type(field, column) for field, column in zip(self.schema, part.columns)]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)
        if self._source is not None:
            self.relations = self._database.relations(self._statement, self._source)

    def close(self) -> None:
        """End the transaction and the connection."""
        if self._source is not None:
            self._database.close()


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

    most_schemas = 1
    """How many names may stand before that of the table."""

    def __init__(self, database: Any, target: DatabaseTable, made: NewFile) -> None:
        self._database, self._target, self._made = database, target, made
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
        return type(self)(self._database, target, self._made)

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
        return Reading(self._database, f"select * from {self._quoted(self._new)}")

    def put_in_place(self) -> None:
        """Give the new table its name, in the place of the old one."""
        if self._old is not None:
            self._database.run(f"drop table {self._quoted(self._name)}")
        self._database.run(self._renaming())

    def _renaming(self) -> str:
        name = self._database.quoted(self._name)
        return f"alter table {self._quoted(self._new)} rename to {name}"

    def _quoted(self, name: str) -> str:
        return self._database.quoted(*self._above, name)

    def commit(self) -> None:
        self._database.commit()
        self._made.keep()

    def close(self) -> None:
        """Undo what was not committed, and end the connection."""
        self._database.close()
        self._made.remove()

    def _lost(self) -> InputError:
        return InputError(
            f"{self._target.address}: the connection was lost while the table was published, and the "
            "server cannot be asked whether it was. Look at the table before you run this again."
        )

    def _refused(self, why: str) -> InputError:
        return InputError(f"Table {self._name!r} exists and is not replaced: {why}. Choose another name.")

    def _refuse_view(self, is_view: bool) -> None:
        if is_view:
            raise InputError(f"{self._name!r} is a view, which is not replaced. Choose another name.")


class AdbcDatabase(Database):
    """A database that an ADBC driver reaches."""

    def __init__(self, address: Address, package: str, purpose: str, place: str) -> None:
        """`package` is the driver, such as adbc_driver_sqlite.dbapi; its `connect` takes the `place`."""
        driver = load_package(package, purpose)
        super().__init__(address, load_package("adbc_driver_manager", purpose).Error)
        with self.explained(tells=True):
            self._connection = driver.connect(place)

    @contextmanager
    def _cursor(self, *, tells: bool) -> Iterator[Any]:
        with self.explained(tells=tells), closing(self._connection.cursor()) as cursor:
            yield cursor

    def run(self, statement: str, *, tells: bool = False) -> None:
        with self._cursor(tells=tells) as cursor:
            cursor.execute(statement)

    def rows(self, statement: str, *values: Any, tells: bool = False) -> list[tuple[Any, ...]]:
        with self._cursor(tells=tells) as cursor:
            cursor.execute(statement, values or None)
            return cursor.fetchall()

    def parts(self, select: str, schema: pa.Schema, **options: Any) -> Iterator[pa.RecordBatch]:
        with self._cursor(tells=False) as cursor:
            if options:
                cursor.adbc_statement.set_options(**options)
            cursor.execute(select)
            with cursor.fetch_record_batch() as reader:
                yield from reader

    def append(self, table: str, schema: pa.Schema, tables: Iterator[pa.Table], **where: Any) -> None:
        """Put records into a table that exists."""
        batches = (batch for part in tables for batch in part.to_batches())
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        with self._cursor(tells=False) as cursor:
            cursor.adbc_ingest(table, reader, mode="append", **where)

    def commit(self) -> None:
        with self.explained(tells=False):
            self._connection.commit()

    def close(self) -> None:
        with suppress(Exception):  # a connection that is lost has undone it already
            self._connection.close()


def load_package(name: str, purpose: str) -> Any:
    """Import a package of the extra `database`, or say how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise missing_package(f"{purpose} needs", "database") from None


def quoted(*parts: str) -> str:
    """A name in double quotes, as SQL has it: whatever is in it, it is a name and nothing else.

    >>> quoted("clinic", 'x" ; drop table people; --')
    '"clinic"."x"" ; drop table people; --"'
    """
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


# Errors of databases in our words: theirs may show cells of the data, or a password.
_BY_STATE = {
    "28": "it refused the user or the password. Set PGPASSWORD, or use ~/.pgpass or a service file "
    "(PostgreSQL), or set KOHORT_DATABASE_PASSWORD (other servers)",
    "3D": "there is no such database",
    "42501": "the user has no permission for this. Ask for it, or connect as another user",
    "25006": "the query would write. Only statements that read are run",
    "55P03": "another session has locked the table. Try again later",
    "2BP01": "other objects, such as views, depend on the table that would be replaced. Drop them first, or "
    "choose another name",
    "40": "another session changed the same rows. Try again",
    "57P": "the server ended the connection",
    "57014": "the statement was cancelled, or took longer than the server allows",
    "08": "the connection was lost",
    "22": "a value cannot be converted as the query, or the type of a column, asks for",
    "23": "a value breaks a rule of the database",
    "53": "the server has no room, no memory or no connection left",
}
_BY_WORDS = {
    "password authentication failed": "28",
    "no password supplied": "28",
    "does not exist, or": "3D",
    "readonly database": "25006",
    "read-only": "25006",
    "transaction read-write mode": "25006",
    "invalid input syntax": "22",
    "out of range": "22",
    "division by zero": "22",
    "database is locked": "55P03",
    "Could not set lock": "55P03",
    "no connection to the server": "08",
    "server closed the connection": "08",
    "connection was lost": "08",
    "terminating connection": "57P",
    "Access denied for user": "28",
    "Unknown database": "3D",
    "command denied to user": "42501",
    "Lost connection": "08",
    "gone away": "08",
    "Lock wait timeout": "55P03",
    "lock request could not be granted": "55P03",
}
_STATE = re.compile(r"SQLSTATE: (\w{5})")
_NOISE = re.compile(
    r"^(?:[A-Z_]+: |\[\w+\] |Failed to \w+ ?\w*: |could not begin COPY: |ERROR:\s+|[A-Z]\w+ Error: )+"
)


def failure(address: Address, error: Exception, *, tells: bool) -> InputError:
    """The error of a driver in our words; its own words are shown, if at all, without passwords."""
    text = str(error)
    stated = _STATE.search(text)  # errors of a stream of batches have it in their text only
    told = getattr(getattr(error, "orig", error), "sqlstate", None)  # SQLAlchemy wraps the driver's error
    state = told or (stated[1] if stated else "")
    state = state or next((known for words, known in _BY_WORDS.items() if words in text), "")
    known = next((_BY_STATE[state[:n]] for n in (5, 3, 2) if state[:n] in _BY_STATE), None)
    if known is None and tells:
        known = _NOISE.sub("", text.strip().splitlines()[0]) if text.strip() else "it gave no reason"
        for secret in address.secrets():
            known = known.replace(secret, "***")
        known = known.strip(". ")
    elif known is None:
        known = f"the database reported an error ({f'SQLSTATE {state}' if state else type(error).__name__})"
    return InputError(f"{address}: {known}. Nothing was written.")


class NewFile:
    """The file of a database that a run may make; `remove` removes it unless `keep` was called."""

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


USUAL: Stored = [
    (pa.types.is_null, pa.string()),
    (is_text, pa.string()),
    (is_bytes, pa.binary()),
    (pa.types.is_uint64, pa.decimal128(20, 0)),
    (pa.types.is_date, pa.date32()),
    (pa.types.is_time, pa.time64("us")),
]
"""What most databases store in the same way."""


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values, without dictionaries and extensions."""
    return value_type(kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind)


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
