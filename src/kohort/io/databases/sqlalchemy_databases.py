"""All other databases by SQLAlchemy: any URL that it knows, and that a driver is installed for.

Many commit whatever was done when a table is created. So a table with a name of its own is filled, read back
and verified, and takes the name of the release by one statement, which is the commit.
"""

from __future__ import annotations

import datetime
import decimal
import re
import uuid
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import InputError, KohortError, UnsupportedError
from kohort.io.databases import Address, DatabaseTable, dialect
from kohort.io.formats.fitting import refuse_doubles

_READ_AT_ONCE, _WRITTEN_AT_ONCE = 1 << 15, 1 << 14  # records
_SNAPSHOTS = ("SNAPSHOT", "REPEATABLE READ", "SERIALIZABLE")
_PLACES = re.compile(r"\$(\d+)")
_PERCENT = "\0"  # stands for a percent sign while a name is quoted: no name has it
UNKNOWN = "unknown"
"""Stands for whatever a query or a view reads in a database that does not say so."""


class AnyDatabase(dialect.Database):
    """A connection in a transaction; one to read from sees a snapshot, where the database has such."""

    def __init__(self, address: Address, *, to_write: bool) -> None:
        self.alchemy = dialect.load_package("sqlalchemy", "A database by SQLAlchemy")
        super().__init__(address, self.alchemy.exc.SQLAlchemyError, ImportError)
        with self.explained(tells=True):
            self._engine = self.alchemy.create_engine(
                address.with_password(), poolclass=self.alchemy.pool.NullPool, hide_parameters=True
            )
            self.native = self._engine.connect()
            if not to_write:
                levels = self._engine.dialect.get_isolation_level_values(
                    self.native.connection.dbapi_connection
                )
                if known := [level for level in _SNAPSHOTS if level in levels]:
                    self.native = self.native.execution_options(isolation_level=known[0])

    @property
    def is_mysql(self) -> bool:
        """Whether it is MySQL or MariaDB."""
        return self._engine.dialect.name in ("mysql", "mariadb")

    @property
    def writing(self) -> type[dialect.Writing]:
        return MysqlWriting if self.is_mysql else NewTableWriting

    def quoted(self, *parts: str) -> str:
        quote = self._engine.dialect.identifier_preparer.quote_identifier
        return ".".join(quote(part.replace("%", _PERCENT)).replace(_PERCENT, "%") for part in parts)

    def run(self, statement: str, *, tells: bool = False) -> None:
        self.execute(self._text(statement), tells=tells)

    def execute(self, statement: Any, rows: Any = None, *, tells: bool = False) -> None:
        """Run a statement that SQLAlchemy has made, once or for each of the rows."""
        with self.explained(tells=tells):
            self.native.execute(statement, rows)

    def rows(self, statement: str, *values: Any, tells: bool = False) -> list[tuple[Any, ...]]:
        """All rows of a small result; `values` take the places of $1, $2, ..."""
        text = self._text(statement, places=bool(values))
        given = {f"value{place}": value for place, value in enumerate(values, start=1)}
        with self.explained(tells=tells):
            return [tuple(row) for row in self.native.execute(text, given)]

    def looked_at(self, statement: str, source: DatabaseTable | None) -> tuple[pa.Schema, str]:
        """A reading of its own finds the types of the columns."""
        is_query = source is not None and not source.table
        select = f"select * from (\n{statement}\n) kohort_source" if is_query else statement
        found: dict[int, pa.DataType] = {}
        names: list[str] = []
        for names, columns in self._cells(select, tells=True):
            for place, column in enumerate(columns):
                kind = _type(names[place], {type(cell) for cell in column if cell is not None}, column)
                found[place] = _joined(names[place], found.get(place, pa.null()), kind)
        refuse_doubles(names, str(self.address))
        kinds = [pa.string() if pa.types.is_null(kind) else kind for kind in found.values()]
        return pa.schema(list(zip(names, kinds))), select

    def parts(self, select: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for _, columns in self._cells(select, tells=False):
            arrays = [_array(field, column) for field, column in zip(schema, columns)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _cells(self, statement: str, *, tells: bool) -> Iterator[tuple[list[str], list[tuple[Any, ...]]]]:
        """A large result a part at a time: the names of its columns, and the cells of each of them."""
        with self.explained(tells=tells):
            options = {"stream_results": True, "yield_per": _READ_AT_ONCE}
            with self.native.execute(self._text(statement), execution_options=options) as result:
                names, found = list(result.keys()), False
                for rows in result.partitions():
                    found = True
                    yield names, list(zip(*(tuple(row) for row in rows)))
                if not found:
                    yield names, [() for _ in names]

    def relations(self, statement: str, source: DatabaseTable) -> frozenset[Any]:
        """The table of MySQL that is read; queries, views and other databases do not say what they read."""
        *schema, name = source.table or ("",)
        if self.is_mysql and name and name not in self.names("view", schema[0] if schema else None):
            return frozenset([self.mysql_relation(source.table)])
        return frozenset([UNKNOWN])

    def mysql_relation(self, table: tuple[str, ...]) -> tuple[Any, ...]:
        """A table of MySQL or MariaDB, whatever name leads to its server."""
        *place, schema = self.rows("select @@hostname, @@port, @@datadir, database()")[0]
        return (*place, str(table[0] if len(table) > 1 else schema).lower(), table[-1].lower())

    @staticmethod
    def stored(field: pa.Field, column: pa.ChunkedArray) -> tuple[pa.Field, pa.ChunkedArray]:
        """A column without truth values and zones of times, which not every database has."""
        plain = dialect.plain_type(field.type)
        is_short = pa.types.is_decimal128(plain) and plain.scale >= 0
        kind = plain if is_short else dialect.stored_type(field, plain, _STORED, "this database")
        column = dialect.stored_as(field, column, plain)
        if pa.types.is_timestamp(plain) and plain.tz is not None:
            column = column.cast(pa.timestamp(plain.unit, "UTC")).cast(pa.timestamp(plain.unit))
        column = dialect.stored_as(field, column, kind)
        if kind == pa.float64() and pc.any(pc.invert(pc.is_finite(column))).as_py():
            raise UnsupportedError(
                f"Column {field.name!r} has numbers that are not finite, such as NaN, which the database "
                "does not have. Replace them, or write Parquet (.parquet)."
            )
        return pa.field(field.name, kind), column

    def names(self, what: Literal["table", "view"], schema: str | None) -> list[str]:
        """The names of all tables, or views, of a schema."""
        with self.explained(tells=True):
            inspected = self.alchemy.inspect(self.native)
            return getattr(inspected, f"get_{what}_names")(schema=schema)

    def commit(self) -> None:
        with self.explained(tells=False):
            self.native.commit()

    def close(self) -> None:
        with suppress(Exception):
            self.native.rollback()
        with suppress(Exception):
            self.native.close()
        self._engine.dispose()

    def _text(self, statement: str, *, places: bool = False) -> Any:
        """A statement in which nothing is taken for a parameter but $1, $2, ... where there are values."""
        plain = statement.replace(":", r"\:")
        return self.alchemy.text(_PLACES.sub(r":value\1", plain) if places else plain)


_A_DAY = datetime.timedelta(days=1)
_ARROW: dict[type, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    datetime.date: pa.date32(),
    datetime.time: pa.time64("us"),
    uuid.UUID: pa.string(),
}
_LARGEST_DECIMAL = 38


def _type(name: str, kinds: set[type], column: tuple[Any, ...]) -> pa.DataType:
    if not kinds:
        return pa.null()
    if kinds <= {int, float} and len(kinds) == 2:
        return pa.float64()
    kind = next(iter(kinds))
    if len(kinds) > 1:
        raise _several(name)
    if issubclass(kind, datetime.datetime):
        zoned = any(cell is not None and cell.tzinfo is not None for cell in column)
        return pa.timestamp("us", "UTC" if zoned else None)
    if issubclass(kind, decimal.Decimal):
        return _decimal(column)
    if kind is datetime.timedelta and all(
        cell is None or datetime.timedelta() <= cell < _A_DAY for cell in column
    ):
        return pa.time64("us")  # the time of the day, as drivers of MySQL give it
    if kind not in _ARROW:
        raise UnsupportedError(
            f"Column {name!r} has the type {kind.__name__}, which Kohort does not read. Leave it out, or "
            "cast it to text in the query."
        )
    return _ARROW[kind]


def _decimal(column: tuple[Any, ...]) -> pa.DataType:
    """A type for decimal numbers; text where they have too many digits, or are not finite."""
    parts = [cell.as_tuple() for cell in column if cell is not None]
    if any(not isinstance(part.exponent, int) for part in parts):
        return pa.string()
    scale = max(max(-part.exponent, 0) for part in parts)
    whole = max(max(len(part.digits) + part.exponent, 0) for part in parts)
    precision = max(whole + scale, 1)
    return pa.decimal128(precision, scale) if precision <= _LARGEST_DECIMAL else pa.string()


def _joined(name: str, one: pa.DataType, other: pa.DataType) -> pa.DataType:
    if pa.null() in (one, other) or one == other:
        return other if one == pa.null() else one
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    decimals = [kind for kind in (one, other) if pa.types.is_decimal(kind)]
    if len(decimals) == 2:
        scale = max(one.scale, other.scale)
        precision = scale + max(one.precision - one.scale, other.precision - other.scale)
        return pa.decimal128(precision, scale) if precision <= _LARGEST_DECIMAL else pa.string()
    if decimals and pa.string() in (one, other):
        return pa.string()
    raise _several(name)


def _several(name: str) -> InputError:
    return InputError(f"Column {name!r} holds values of several types. Cast it to one in a query.")


def _array(field: pa.Field, column: tuple[Any, ...]) -> pa.Array:
    cells: Any = column
    if field.type == pa.string():
        cells = [None if cell is None else str(cell) for cell in column]
    if pa.types.is_time64(field.type):
        cells = [
            cell if not isinstance(cell, datetime.timedelta) else (datetime.datetime.min + cell).time()
            for cell in column
        ]
    try:
        return pa.array(cells, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # their messages show values
        raise _several(field.name) from None


class NewTableWriting(dialect.Writing):
    """A database of which nothing is known: the draft takes a name that no table has, by one statement."""

    _filled = False

    @property
    def _schema(self) -> str | None:
        return self._above[0] if self._above else None

    def _found(self) -> str | None:
        if self._exists():
            raise InputError(
                f"Table {self._name!r} exists. In this database it cannot be replaced by one step: choose a "
                "new name, or drop it first."
            )
        return None

    def _exists(self) -> bool:
        """Whether there is a table of this name; a view is refused."""
        self._refuse_view(self._name in self._database.names("view", self._schema))
        return self._name in self._database.names("table", self._schema)

    def beside(self, target: DatabaseTable) -> dialect.Writing:
        raise UnsupportedError(
            f"{self._target.address}: people and events are two tables, which cannot be published by one "
            "step in this database. Write files, and load them."
        )

    def _own_relations(self) -> frozenset[Any]:
        return frozenset()  # nothing is replaced

    def fill(self, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
        self._filled = True
        alchemy = self._database.alchemy
        quoted = alchemy.sql.quoted_name
        columns = [
            alchemy.Column(quoted(field.name, True), _column_type(alchemy, field.type)) for field in schema
        ]
        above = None if self._schema is None else quoted(self._schema, True)
        table = alchemy.Table(quoted(self._new, True), alchemy.MetaData(), *columns, schema=above)
        self._database.execute(alchemy.schema.CreateTable(table), tells=True)
        places = [f"cell{place}" for place in range(len(columns))]
        values = {column: alchemy.bindparam(place) for column, place in zip(columns, places)}
        insert = alchemy.insert(table).values(values)
        for part in tables:
            for batch in part.to_batches(max_chunksize=_WRITTEN_AT_ONCE):
                cells = zip(*(column.to_pylist() for column in batch.columns))
                self._database.execute(insert, [dict(zip(places, row)) for row in cells])
                self._database.commit()

    def put_in_place(self) -> None:
        """The commit does it: nothing could undo it."""

    def commit(self) -> None:
        """Give the draft its name; where the connection is lost meanwhile, the server is asked about it."""
        try:
            self._database.run(self._renaming())
            self._database.commit()
        except InputError as error:
            if self._is_still_there():
                raise error
        self._filled = False
        self._made.keep()

    def _is_still_there(self) -> bool:
        """Whether the draft still has its own name, so that nothing was published."""
        try:
            asking = AnyDatabase(self._target.address, to_write=True)
        except InputError:
            raise self._lost() from None
        with closing(asking):
            return self._new in asking.names("table", self._schema)

    def close(self) -> None:
        if self._filled:
            self._drop(self._new)
        super().close()

    def _drop(self, name: str) -> None:
        """Drop a table of Kohort's own, also over a new connection where this one is lost."""
        anew = lambda: AnyDatabase(self._target.address, to_write=True)  # noqa: E731
        for reach in (lambda: self._database, anew):
            with suppress(KohortError):
                connection = reach()
                with suppress(Exception):
                    connection.native.rollback()
                connection.run(f"drop table if exists {self._quoted(name)}")
                connection.commit()
                return


class MysqlWriting(NewTableWriting):
    """MySQL and MariaDB: one statement renames the old table and gives the draft the name of the release.

    While a run lasts it holds a lock of the server's with the name of its draft. A draft whose lock can be
    taken is left over from a run that was killed, and the next one drops it.
    """

    _OWN = re.compile(r"(kohort_[0-9a-f]{16})(_old)?")

    def __init__(self, connection: Any, target: DatabaseTable, made: dialect.NewFile) -> None:
        self._others: list[MysqlWriting] = []
        super().__init__(connection, target, made)

    def _found(self) -> str | None:
        exists = self._exists()
        referring = (
            "select 1 from information_schema.key_column_usage where referenced_table_name = $1 and "
            "referenced_table_schema = coalesce($2, database()) limit 1"
        )
        if exists and self._database.rows(referring, self._name, self._schema):
            raise self._refused("others refer to it by foreign keys")
        self._remove_abandoned()
        self._lock(self._new)
        return self._name if exists else None

    def _lock(self, name: str) -> bool:
        """Take a lock that nobody has; this connection may hold others already."""
        if not self._database.rows("select is_free_lock($1)", name)[0][0]:
            return False
        return self._database.rows("select get_lock($1, 0)", name)[0][0] == 1

    def _remove_abandoned(self) -> None:
        for name in self._database.names("table", self._schema):
            found = self._OWN.fullmatch(name)
            if found and self._lock(found[1]):
                self._drop(name)
                self._database.rows("select release_lock($1)", found[1])

    def beside(self, target: DatabaseTable) -> dialect.Writing:
        self._others.append(type(self)(self._database, target, self._made))
        return self._others[-1]

    def _own_relations(self) -> frozenset[Any]:
        return frozenset([self._database.mysql_relation(self._target.table)])

    def refuse_reads(self, relations: frozenset[Any]) -> None:
        super().refuse_reads(relations)
        if self._old is not None and UNKNOWN in relations:
            raise InputError(
                f"Table {self._name!r} exists and is not replaced: it may be one that this run reads, since "
                "the database does not say which tables a query or a view reads. Choose a new name, or read "
                "a table."
            )

    def _renaming(self) -> str:
        renames = []
        for each in (self, *self._others):
            new, name, old = map(each._quoted, (each._new, each._name, f"{each._new}_old"))
            if each._old is not None:
                renames.append(f"{name} to {old}")
            renames.append(f"{new} to {name}")
        return f"rename table {', '.join(renames)}"

    def commit(self) -> None:
        super().commit()
        for each in (self, *self._others):
            each._filled = False
            if each._old is not None:
                each._drop(f"{each._new}_old")

    def close(self) -> None:
        for other in self._others:
            if other._filled:
                other._drop(other._new)
        super().close()


_STORED: dialect.Stored = [
    (pa.types.is_boolean, pa.int64()),
    *dialect.USUAL,
    (pa.types.is_integer, pa.int64()),
    (pa.types.is_floating, pa.float64()),
    (pa.types.is_timestamp, pa.timestamp("us")),
]


def _column_type(alchemy: Any, kind: pa.DataType) -> Any:
    """The type of SQLAlchemy's for a column; MySQL's usual ones would be too short, or cut off fractions."""
    from sqlalchemy.dialects import mysql

    if pa.types.is_decimal(kind):
        return alchemy.Numeric(kind.precision, kind.scale)
    text = mysql.LONGTEXT(charset="utf8mb4", collation="utf8mb4_bin")
    plain, of_mysql = {
        pa.int64(): (alchemy.BigInteger(), mysql.BIGINT()),
        pa.float64(): (alchemy.Double(), mysql.DOUBLE()),
        pa.date32(): (alchemy.Date(), mysql.DATE()),
        pa.string(): (alchemy.Text(), text),
        pa.binary(): (alchemy.LargeBinary(), mysql.LONGBLOB()),
        pa.time64("us"): (alchemy.Time(), mysql.TIME(fsp=6)),
        pa.timestamp("us"): (alchemy.DateTime(), mysql.DATETIME(fsp=6)),
    }[kind]
    return plain.with_variant(of_mysql, "mysql", "mariadb")
