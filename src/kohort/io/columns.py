"""What the writers of tables share: slices with plain text, and columns that do not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.column import code_column
from kohort.errors import UnsupportedError

__all__ = [
    "LARGEST_EXACT",
    "fine_times_as_text",
    "has_no_text",
    "holds_bytes",
    "long_numbers_as_text",
    "plain_slices",
    "refuse_columns",
]

CELLS_PER_SLICE = 1 << 21
LEAST_ROWS_PER_SLICE = 1 << 14
LARGEST_EXACT = 1 << 53
"""Whole numbers up to this one survive in programs that store every number as a float."""


def plain_slices(table: pa.Table, *, keep: Callable[[pa.DataType], bool] | None = None) -> Iterator[pa.Table]:
    """The table in slices, dictionary and extension columns as plain values (but those to `keep`).

    A slice at a time, so that memory stays bounded: the dictionary form of a column may be ten
    times smaller than its text. An empty table is one empty slice, for the sake of its header. What
    pandas and others note about the table is left out: it may describe the original.
    """
    rows = max(LEAST_ROWS_PER_SLICE, CELLS_PER_SLICE // max(1, table.num_columns))
    schema = pa.schema([field.with_type(_plain_type(field.type, keep)) for field in table.schema])
    for start in range(0, max(1, table.num_rows), rows):
        yield table.slice(start, rows).cast(schema)


def _plain_type(kind: pa.DataType, keep: Callable[[pa.DataType], bool] | None) -> pa.DataType:
    if keep is not None and keep(kind):
        return kind
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def refuse_columns(table: pa.Table, format_name: str, refused: Callable[[pa.DataType], bool]) -> None:
    """Raise an UnsupportedError that names the columns a format cannot hold."""
    names = [repr(field.name) for field in table.schema if refused(_plain_type(field.type, None))]
    if names:
        raise UnsupportedError(
            f"{format_name} cannot hold columns of this type: {', '.join(names)}. "
            "Leave them out, or write Parquet (.parquet)."
        )


def holds_bytes(kind: pa.DataType) -> bool:
    """Whether there are raw bytes in the type, at any depth."""
    if pa.types.is_nested(kind):
        return any(holds_bytes(kind.field(index).type) for index in range(kind.num_fields))
    return any(
        test(kind)
        for test in (
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_fixed_size_binary,
            pa.types.is_binary_view,
        )
    )


def has_no_text(kind: pa.DataType) -> bool:
    """Whether values of the type have no agreed form in one cell."""
    return pa.types.is_nested(kind) or holds_bytes(kind) or pa.types.is_duration(kind)


def long_numbers_as_text(table: pa.Table) -> pa.Table:
    """The table with columns of whole numbers too long for a float as text: no digit is lost."""
    for index, field in enumerate(table.schema):
        if pa.types.is_integer(field.type) and _has_long_numbers(table.column(index)):
            table = table.set_column(index, field.name, table.column(index).cast(pa.string()))
    return table


def _has_long_numbers(column: pa.ChunkedArray) -> bool:
    ends = pc.min_max(column).as_py()
    return ends["min"] is not None and max(-ends["min"], ends["max"]) > LARGEST_EXACT


def fine_times_as_text(table: pa.Table) -> pa.Table:
    """The table with times finer than a millisecond as text, for programs that would cut them off."""
    for index, field in enumerate(table.schema):
        if (pa.types.is_timestamp(field.type) or pa.types.is_time(field.type)) and _has_fine_times(
            table.column(index)
        ):
            coded = code_column(field.name, table.column(index))
            texts = pa.array(coded.texts, pa.string()).take(pa.array(coded.codes))
            table = table.set_column(index, field.name, texts)
    return table


def _has_fine_times(column: pa.ChunkedArray) -> bool:
    per_millisecond = {"us": 1_000, "ns": 1_000_000}.get(column.type.unit)
    if per_millisecond is None:
        return False
    ticks = column.cast(pa.int64())
    whole = pc.multiply(pc.divide(ticks, per_millisecond), per_millisecond)
    return bool(pc.any(pc.not_equal(ticks, whole)).as_py())
