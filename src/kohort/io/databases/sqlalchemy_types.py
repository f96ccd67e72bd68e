"""Columns on their way into a database by SQLAlchemy: types of Arrow, and what a table has for them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import UnsupportedError
from kohort.io.databases import sqlite
from kohort.io.databases.storing import not_written, plain_type, stored_as

_MOST_DIGITS_OF_64_BITS = 20
_STORED: list[tuple[Any, pa.DataType]] = [
    (pa.types.is_null, pa.string()),
    (pa.types.is_string, pa.string()),
    (pa.types.is_large_string, pa.string()),
    (pa.types.is_string_view, pa.string()),
    (pa.types.is_binary, pa.binary()),
    (pa.types.is_large_binary, pa.binary()),
    (pa.types.is_fixed_size_binary, pa.binary()),
    (pa.types.is_uint64, pa.decimal128(_MOST_DIGITS_OF_64_BITS, 0)),
    (pa.types.is_integer, pa.int64()),
    (pa.types.is_floating, pa.float64()),
    (pa.types.is_date, pa.date32()),
    (pa.types.is_time, pa.time64("us")),
]


def storable(table: pa.Table, dialect: str) -> pa.Table:
    """The table in types that the database has; raises UnsupportedError for a type that it has not."""
    if dialect == "sqlite":
        return sqlite.storable(table)
    pairs = [_storable(field, column, dialect) for field, column in zip(table.schema, table.columns)]
    return pa.table(dict(zip(table.column_names, pairs)))


def _storable(field: pa.Field, column: pa.ChunkedArray, dialect: str) -> pa.ChunkedArray:
    kind = _stored_type(field, dialect)
    plain = stored_as(field, column, plain_type(field.type))
    if pa.types.is_timestamp(kind) and kind.tz is None and plain.type.tz is not None:
        plain = plain.cast(pa.timestamp(plain.type.unit, "UTC")).cast(pa.timestamp(plain.type.unit))
    stored = stored_as(field, plain, kind)
    if kind == pa.float64() and dialect != "postgresql" and pc.any(pc.invert(pc.is_finite(stored))).as_py():
        raise UnsupportedError(
            f"Column {field.name!r} has numbers that are not finite, such as NaN, which the database "
            "does not have. Replace them, or write Parquet (.parquet)."
        )
    return stored


def _stored_type(field: pa.Field, dialect: str) -> pa.DataType:
    """What a column is stored as: truth values and zones of times only where the database has them."""
    kind = plain_type(field.type)
    has_them = dialect == "postgresql"
    if pa.types.is_boolean(kind):
        return pa.bool_() if has_them else pa.int64()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if has_them and kind.tz is not None else None)
    if pa.types.is_decimal128(kind) and kind.scale >= 0:
        return kind
    found = next((stored for test, stored in _STORED if test(kind)), None)
    if found is None:
        raise not_written(field, "this database")
    return found


def column_type(alchemy: Any, kind: pa.DataType) -> Any:
    """The type of SQLAlchemy's for a column; MySQL's usual ones would be too short, or cut off fractions."""
    from sqlalchemy.dialects import mysql

    if pa.types.is_decimal(kind):
        return alchemy.Numeric(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        zoned = alchemy.DateTime(timezone=kind.tz is not None)
        return zoned.with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
    text = mysql.LONGTEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return {
        pa.bool_(): alchemy.Boolean(),
        pa.int64(): alchemy.BigInteger(),
        pa.float64(): alchemy.Double(),
        pa.date32(): alchemy.Date(),
        pa.string(): alchemy.Text().with_variant(text, "mysql", "mariadb"),
        pa.binary(): alchemy.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb"),
        pa.time64("us"): alchemy.Time().with_variant(mysql.TIME(fsp=6), "mysql", "mariadb"),
    }[kind]
