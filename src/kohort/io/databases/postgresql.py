"""PostgreSQL as a source: a query in one repeatable-read, read-only transaction, through ADBC."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pyarrow as pa

from kohort.errors import InputError, UnsupportedError
from kohort.io.databases.connection import AdbcConnection, quoted
from kohort.io.databases.database_table import Address, DatabaseTable
from kohort.io.databases.postgresql_writing import (
    open_writing,
    refuse_endless_times,
    selected_columns,
    storable,
)
from kohort.io.formats.fitting import refuse_doubles

__all__ = [
    "PostgresqlReading",
    "connect",
    "identity",
    "open_reading",
    "open_writing",
    "relations_locked",
    "storable",
]

# one order of records for all readings: scans start at the first page, and nothing runs side by side
_STEADY = (
    "set transaction isolation level repeatable read, read only",
    "set local synchronize_seqscans = off",
    "set local max_parallel_workers_per_gather = 0",
    "set local idle_in_transaction_session_timeout = 0",
)
_RELATIONS = (
    "select distinct l.relation::int8 from pg_locks l where l.pid = pg_backend_pid() "
    "and l.relation is not null and l.relation >= 16384"
)
_STARTED = "pg_postmaster_start_time()::text"
_DATABASE = "(select oid::int8 from pg_database where datname = current_database())"


def connect(address: Address) -> AdbcConnection:
    """A connection; libpq finds the password in PGPASSWORD, ~/.pgpass or a service file."""
    return AdbcConnection(address, "adbc_driver_postgresql.dbapi", "PostgreSQL", address.url)


def identity(connection: Any) -> tuple[str, int]:
    """Which database it is, whatever name leads to it: the number of the server, and that of the database."""
    may_ask = connection.rows("select has_function_privilege('pg_control_system()', 'execute')")[0][0]
    server = "(select system_identifier::text from pg_control_system())" if may_ask else _STARTED
    return connection.rows(f"select {server}, {_DATABASE}")[0]


def relations_locked(connection: Any) -> list[int]:
    """The numbers of the tables that the transaction has read so far."""
    return [number for (number,) in connection.rows(_RELATIONS)]


def open_reading(source: DatabaseTable) -> PostgresqlReading:
    """Begin to read a table or query."""
    connection = connect(source.address)
    try:
        for setting in _STEADY:
            connection.run(setting)
        return PostgresqlReading(connection, _statement(source))
    except BaseException:
        connection.close()
        raise


def _statement(source: DatabaseTable) -> str:
    return f"select * from {quoted(*source.table)}" if source.table is not None else source.query or ""


class PostgresqlReading:
    """The records of a statement, with types that Arrow does not have as text."""

    def __init__(self, connection: AdbcConnection, statement: str, *, owns: bool = True) -> None:
        self._connection, self._owns = connection, owns
        found = connection.schema(f"select * from (\n{statement}\n) as kohort_source")
        raw = connection.schema(statement)  # there, doubles are not refused by the server
        refuse_doubles(raw.names, str(connection.address))
        columns = selected_columns(found, self._types(statement, found.names))
        self.schema = pa.schema([column.field for column in columns])
        listed = ", ".join(column.expression for column in columns)
        self._select = f"select {listed} from (\n{statement}\n) as kohort_source"
        self.relations: frozenset[Any] = frozenset()
        self._refuse_matrices(statement)

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        for batch in self._connection.batches(self._select):
            part = _in_types(batch, self.schema)
            refuse_endless_times(part)
            yield part
        self._note_relations()

    def close(self) -> None:
        if self._owns:
            self._connection.close()

    def _types(self, statement: str, names: list[str]) -> list[str]:
        """The types of the columns as SQL has them; the join gives a row of nulls, without any record."""
        asked = ", ".join(f"pg_typeof(s.{quoted(name)})::text" for name in names)
        row = f"select {asked} from (select 1) as one left join (\n{statement}\n) as s on false"
        return list(self._connection.rows(row)[0])

    def _refuse_matrices(self, statement: str) -> None:
        """Refuse arrays of several dimensions: the driver would hand them on as flat ones."""
        for field in self.schema:
            if pa.types.is_list(field.type):
                found = self._connection.rows(
                    f"select 1 from (\n{statement}\n) as kohort_source "
                    f"where array_ndims({quoted(field.name)}) > 1 limit 1"
                )
                if found:
                    raise UnsupportedError(
                        f"Column {field.name!r} holds arrays of several dimensions, which Kohort does not "
                        "read. Leave it out, or cast it to text in the query."
                    )

    def _note_relations(self) -> None:
        """Note which tables the transaction has read: none of them may be replaced by the release."""
        if self._owns:
            place = identity(self._connection)
            self.relations = frozenset((*place, number) for number in relations_locked(self._connection))


def _in_types(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for field, column in zip(schema, batch.columns):
        if isinstance(column.type, pa.BaseExtensionType):
            column = column.storage
        try:
            columns.append(column if column.type == field.type else column.cast(field.type))
        except pa.ArrowInvalid:  # its message would show the value
            raise InputError(
                f"Column {field.name!r} has numbers that are not finite, such as NaN. Replace them in the "
                "query, for example by null."
            ) from None
    return pa.RecordBatch.from_arrays(columns, schema=schema)
