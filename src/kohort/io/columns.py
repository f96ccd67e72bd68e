"""What the writers of tables share: slices with plain text, and columns that do not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.column import code_column
from kohort.data.taking import without_dictionaries
from kohort.errors import UnsupportedError

CELLS_PER_SLICE = 1 << 21
LEAST_ROWS_PER_SLICE = 1 << 14
LARGEST_EXACT = 1 << 53
"""Whole numbers up to this one survive in programs that store every number as a float."""


@dataclass(frozen=True)
class Slices:
    """A table to write, a slice at a time, so that memory stays bounded: text may be ten times as large as
    its dictionary. There is at least one slice, for the sake of its header."""

    schema: pa.Schema
    tables: Iterator[pa.Table]

    @classmethod
    def of(cls, table: pa.Table) -> Slices:
        """The slices of a table in memory."""
        rows = rows_per_slice(table.num_columns)
        starts = range(0, max(1, table.num_rows), rows)
        return cls(table.schema, (table.slice(start, rows) for start in starts))

    def changed(self, change: Callable[[pa.Table], pa.Table]) -> Slices:
        """Every slice changed in the same way."""
        schema = change(self.schema.empty_table()).schema
        return Slices(schema, (change(table) for table in self.tables))

    def plain(self, *, keep: Callable[[pa.DataType], bool] | None = None) -> Slices:
        """Dictionary and extension columns as plain values, but those of the types to `keep`.

        What pandas and others note about the table is left out: it may describe the original.
        """
        schema = pa.schema([field.with_type(_plain_type(field.type, keep)) for field in self.schema])
        return Slices(schema, (table.cast(schema) for table in self.tables))


def rows_per_slice(n_columns: int) -> int:
    """How many records of a table with so many columns are written at a time."""
    return max(LEAST_ROWS_PER_SLICE, CELLS_PER_SLICE // max(1, n_columns))


def _plain_type(kind: pa.DataType, keep: Callable[[pa.DataType], bool] | None) -> pa.DataType:
    if keep is not None and keep(kind):
        return kind
    return without_dictionaries(kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind)


def refuse_columns(schema: pa.Schema, format_name: str, refused: Callable[[pa.DataType], bool]) -> None:
    """Raise an UnsupportedError that names the columns a format cannot hold."""
    names = [repr(field.name) for field in schema if refused(_plain_type(field.type, None))]
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
    """The table with columns of numbers too long for a float as text: no digit is lost."""
    for index, field in enumerate(table.schema):
        number = pa.types.is_integer(field.type) or pa.types.is_decimal(field.type)
        if number and _has_long_numbers(table.column(index)):
            table = table.set_column(index, field.name, table.column(index).cast(pa.string()))
    return table


def _has_long_numbers(column: pa.ChunkedArray) -> bool:
    ends = pc.min_max(column).as_py()
    if ends["min"] is None:
        return False
    scale = column.type.scale if pa.types.is_decimal(column.type) else 0
    return max(-ends["min"], ends["max"]) * 10**scale > LARGEST_EXACT


def times_as_text(table: pa.Table, unfit: Callable[[pa.ChunkedArray], bool]) -> pa.Table:
    """The table with dates and times that a program would change as text: nothing of them is lost."""
    for index, field in enumerate(table.schema):
        if pa.types.is_temporal(field.type) and unfit(table.column(index)):
            coded = code_column(field.name, table.column(index))
            texts = pa.array(coded.texts, pa.string()).take(pa.array(coded.codes))
            table = table.set_column(index, field.name, texts)
    return table


def is_fine_or_zoned(column: pa.ChunkedArray) -> bool:
    """Whether times are finer than a millisecond, or of a time zone: most programs would cut that off."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return True
    per_millisecond = {"us": 1_000, "ns": 1_000_000}.get(getattr(kind, "unit", ""))
    if per_millisecond is None:
        return False
    ticks = column.cast(pa.int64())
    whole = pc.multiply(pc.divide(ticks, per_millisecond), per_millisecond)
    return bool(pc.any(pc.not_equal(ticks, whole)).as_py())
