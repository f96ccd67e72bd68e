"""Types of PostgreSQL: which come as they are, which as text, and what a column of a release becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import InputError, UnsupportedError
from kohort.io.databases.connection import DATABASE_TYPE, quoted
from kohort.io.databases.storing import not_written, plain_type, stored_as

_AS_THEY_ARE = {
    "boolean",
    "smallint",
    "integer",
    "bigint",
    "real",
    "double precision",
    "text",
    "character varying",
    "date",
    "time without time zone",
    "timestamp without time zone",
    "timestamp with time zone",
    "bytea",
}
_TEXTS = ("character", "name", '"char"')
_ENDLESS = {"bit": "bit varying", "bit[]": "bit varying[]"}  # without a length, bit has one digit
_LARGEST_DECIMAL = 38
_TIMES = {pa.date32(): (-719_162, 2_932_896)}
_MICROSECONDS = (-62_135_596_800_000_000, 253_402_300_799_999_999)  # of the years 1 to 9999


@dataclass(frozen=True)
class SelectedColumn:
    """How a column is selected, and the field that it becomes."""

    expression: str
    field: pa.Field


def selected_columns(schema: pa.Schema, types: Sequence[str]) -> list[SelectedColumn]:
    """How each column of a query is read; `types` are their types as SQL has them, without modifiers."""
    return [_selected(field, kind) for field, kind in zip(schema, types)]


def _selected(field: pa.Field, kind: str) -> SelectedColumn:
    own = quoted(field.name)
    if kind.removesuffix("[]") in _AS_THEY_ARE:
        return SelectedColumn(own, pa.field(field.name, _plain_list(field.type)))
    if kind in _TEXTS:
        return SelectedColumn(f"{own}::text as {own}", pa.field(field.name, pa.string()))
    if kind in ("record", "void", "unknown", "record[]") or kind.startswith("any"):
        raise UnsupportedError(
            f"Column {field.name!r} has the type {kind}, which no table can hold. Leave it out, or cast it "
            "in the query."
        )
    modified, arrow = _numeric(field) if kind == "numeric" else (kind, pa.string())
    told = {DATABASE_TYPE: b"postgresql " + _ENDLESS.get(modified, modified).encode()}
    if kind.endswith("[]"):
        return SelectedColumn(
            f"{own}::text[] as {own}", pa.field(field.name, pa.list_(pa.string()), metadata=told)
        )
    return SelectedColumn(f"{own}::text as {own}", pa.field(field.name, arrow, metadata=told))


def _numeric(field: pa.Field) -> tuple[str, pa.DataType]:
    """The type of a column of decimal numbers: text where it says nothing about their digits."""
    modifier = int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1")) - 4
    precision, scale = modifier >> 16 & 0xFFFF, modifier & 0x7FF
    if modifier < 0 or precision > _LARGEST_DECIMAL or scale > precision:
        return "numeric", pa.string()
    return f"numeric({precision},{scale})", pa.decimal128(precision, scale)


def _plain_list(kind: pa.DataType) -> pa.DataType:
    return pa.list_(kind.value_type) if pa.types.is_list(kind) else kind


def refuse_endless_times(batch: pa.RecordBatch) -> None:
    """Refuse dates and times outside of the years 1 to 9999, infinity among them."""
    for field, column in zip(batch.schema, batch.columns):
        if pa.types.is_timestamp(field.type):
            least, most = _MICROSECONDS
            numbers = column.cast(pa.int64())
        elif pa.types.is_date32(field.type):
            least, most = _TIMES[field.type]
            numbers = column.cast(pa.int32())
        else:
            continue
        found = pc.min_max(numbers).as_py()
        if found["min"] is not None and not least <= found["min"] <= found["max"] <= most:
            raise InputError(
                f"Column {field.name!r} has dates or times outside of the years 1 to 9999, such as infinity. "
                "Replace them in the query, for example by null."
            )


# -- writing -----------------------------------------------------------------------------------------


_PLAIN: list[tuple[Any, str]] = [
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_int16, "smallint"),
    (pa.types.is_int32, "integer"),
    (pa.types.is_int64, "bigint"),
    (pa.types.is_float32, "real"),
    (pa.types.is_float64, "double precision"),
    (pa.types.is_string, "text"),
    (pa.types.is_binary, "bytea"),
    (pa.types.is_date32, "date"),
    (pa.types.is_time64, "time"),
]
_WIDER: list[tuple[Any, pa.DataType]] = [
    (pa.types.is_int8, pa.int16()),
    (pa.types.is_uint8, pa.int16()),
    (pa.types.is_uint16, pa.int32()),
    (pa.types.is_uint32, pa.int64()),
    (pa.types.is_float16, pa.float32()),
    (pa.types.is_large_string, pa.string()),
    (pa.types.is_string_view, pa.string()),
    (pa.types.is_large_binary, pa.binary()),
    (pa.types.is_binary_view, pa.binary()),
    (pa.types.is_fixed_size_binary, pa.binary()),
    (pa.types.is_date64, pa.date32()),
    (pa.types.is_time, pa.time64("us")),
    (pa.types.is_null, pa.string()),
    (pa.types.is_uint64, pa.decimal128(20, 0)),
]


def storable_column(field: pa.Field, column: pa.ChunkedArray) -> tuple[pa.Field, pa.ChunkedArray]:
    """A column in a type that PostgreSQL has; decimals are text on their way to it."""
    note = (field.metadata or {}).get(DATABASE_TYPE, b"")
    kept = {DATABASE_TYPE: note} if note.startswith(b"postgresql ") else {}
    kind = plain_type(field.type)
    kind = next((wide for test, wide in _WIDER if test(kind)), kind)
    column = stored_as(field, column, kind)
    if pa.types.is_timestamp(kind):
        column = stored_as(field, column, pa.timestamp("us", None if kind.tz is None else "UTC"))
    elif pa.types.is_decimal(kind):
        kept = kept or {DATABASE_TYPE: f"postgresql numeric({kind.precision},{kind.scale})".encode()}
        column = column.cast(pa.string())
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        column = stored_as(field, column, pa.list_(_element(field, kind.value_type)))
    elif not any(test(kind) for test, _ in _PLAIN):
        raise not_written(field, "PostgreSQL")
    return pa.field(field.name, column.type, metadata=kept or None), column


def _element(field: pa.Field, kind: pa.DataType) -> pa.DataType:
    kind = plain_type(kind)
    kind = next((wide for test, wide in _WIDER if test(kind)), kind)
    if not any(test(kind) for test, _ in _PLAIN):
        raise not_written(field, "PostgreSQL")
    return kind


def column_type(kind: pa.DataType) -> str:
    """The type of a column as SQL has it, for a type that `storable_column` gives."""
    if pa.types.is_list(kind):
        return f"{column_type(kind.value_type)}[]"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamp with time zone"
    return next(name for test, name in _PLAIN if test(kind))
