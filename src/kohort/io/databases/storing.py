"""Columns on their way into a database: plain values, in a type that it has."""

from __future__ import annotations

import pyarrow as pa

from kohort.errors import UnsupportedError


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values, without dictionaries and extensions."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def stored_as(field: pa.Field, column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """A column in the type that a database has for it; refused where a value would lose a part of itself."""
    try:
        return column if column.type == kind else column.cast(kind)
    except pa.ArrowInvalid:  # its message would show the value
        raise UnsupportedError(
            f"Column {field.name!r} has values that do not fit into the type {kind} of the database, such as "
            "times finer than a microsecond. Round them, or write Parquet (.parquet)."
        ) from None


def not_written(field: pa.Field, database: str) -> UnsupportedError:
    """The error for a column whose type is not written to a database."""
    return UnsupportedError(
        f"Column {field.name!r} has the type {field.type}, which Kohort does not write to {database}. Leave "
        "it out, or write Parquet (.parquet)."
    )
