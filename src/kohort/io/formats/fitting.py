"""What the formats share: slices with plain text, columns that do not fit, and work by Polars on files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.arrow_values import is_bytes, is_text, value_type, without_dictionaries
from kohort.data.column import code_column
from kohort.data.process import require_polars_threads
from kohort.errors import InputError, UnsupportedError
from kohort.io.source_file import create_bytes
from kohort.late import pl

CELLS_PER_SLICE = 1 << 21
LEAST_ROWS_PER_SLICE = 1 << 14
ROWS = 1 << 17
"""Records of a batch, where a reader is asked how many."""
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

    def whole(self) -> pa.Table:
        """All slices as one table."""
        return pa.concat_tables(self.tables)

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


def refuse_doubles(names: Sequence[str], where: str) -> None:
    """Raise an InputError that names the columns whose name another one has."""
    doubles = [repr(name) for name, count in Counter(names).items() if count > 1]
    if doubles:
        raise InputError(f"{where}: several columns are called {', '.join(doubles)}. Rename them.")


def is_not_encoded_text(kind: pa.DataType) -> bool:
    """Whether a type is no dictionary of texts, which may be another one in each slice."""
    return not (pa.types.is_dictionary(kind) and is_text(kind))


def holds_bytes(kind: pa.DataType) -> bool:
    """Whether there are raw bytes in the type, at any depth."""
    if pa.types.is_nested(kind):
        return any(holds_bytes(kind.field(index).type) for index in range(kind.num_fields))
    return is_bytes(kind)


def has_no_text(kind: pa.DataType) -> bool:
    """Whether values of the type have no agreed form in one cell."""
    return pa.types.is_nested(kind) or holds_bytes(kind) or pa.types.is_duration(kind)


def _as_text(
    table: pa.Table,
    unfit: Callable[[pa.ChunkedArray], bool],
    text_of: Callable[[str, pa.ChunkedArray], Any] = lambda _, column: column.cast(pa.string()),
) -> pa.Table:
    for index, (name, column) in enumerate(zip(table.column_names, table.columns)):
        if unfit(column):
            table = table.set_column(index, name, text_of(name, column))
    return table


def long_numbers_as_text(table: pa.Table) -> pa.Table:
    """The table with columns of numbers too long for a float as text: no digit is lost."""

    def is_long(column: pa.ChunkedArray) -> bool:
        if not (pa.types.is_integer(column.type) or pa.types.is_decimal(column.type)):
            return False
        ends = pc.min_max(column).as_py()
        scale = column.type.scale if pa.types.is_decimal(column.type) else 0
        return ends["min"] is not None and max(-ends["min"], ends["max"]) * 10**scale > LARGEST_EXACT

    return _as_text(table, is_long)


def times_as_text(table: pa.Table, unfit: Callable[[pa.ChunkedArray], bool]) -> pa.Table:
    """The table with dates and times that a program would change as text: nothing of them is lost."""
    return _as_text(table, lambda column: pa.types.is_temporal(column.type) and unfit(column), _spelled)


def _spelled(name: str, column: pa.ChunkedArray) -> pa.Array:
    coded = code_column(name, column)
    return pa.array(coded.texts, pa.string()).take(pa.array(coded.codes))


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


# Work that Polars does on files: refused where it would hang, its panics turned into errors of our own.
_DAY_1, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, in days since 1970
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@contextmanager
def by_polars(what: str) -> Iterator[None]:
    """Do some work with Polars; `what` is the subject of the sentence in an error: `Writing CSV`.

    A panic of Polars is no `Exception`, so that `except Exception` does not catch it.
    """
    require_polars_threads(what)
    try:
        yield
    except pl.exceptions.PanicException:  # its text may quote cells
        raise UnsupportedError(
            f"{what} failed: Polars cannot cope with a type or a value of some column. Convert columns of "
            "unusual types to text, or use Parquet (.parquet)."
        ) from None


def wide_decimals_as_text(table: pa.Table) -> pa.Table:
    """The table with decimals of more than 38 digits, which Polars lacks, as text: no digit is lost."""
    plain = lambda _, column: column.cast(value_type(column.type)).cast(pa.string())  # noqa: E731
    return _as_text(table, lambda column: pa.types.is_decimal256(value_type(column.type)), plain)


def write_text(
    slices: Slices,
    path: Path,
    format_name: str,
    unfit: Callable[[pa.DataType], bool],
    text_of: Callable[[pa.Table, int], bytes],
) -> None:
    """Write a text format, a slice at a time."""

    def fitting(table: pa.Table) -> pa.Table:
        refuse_distant_dates(table, format_name)
        return wide_decimals_as_text(table)

    refuse_columns(slices.schema, format_name, unfit)
    with create_bytes(path) as stream, by_polars("Writing text"):
        for number, part in enumerate(slices.changed(fitting).plain().tables):
            stream.write(text_of(part, number))


def refuse_distant_dates(table: pa.Table, format_name: str) -> None:
    """Refuse dates and times that have no text of the usual form, since their year is not 1 to 9999."""
    names = [repr(name) for name in table.column_names if has_distant_dates(table.column(name), margin=1)]
    if names:
        raise UnsupportedError(
            f"{format_name} cannot hold dates outside the years 1 to 9999, as in {', '.join(names)}. "
            "Correct them, leave the columns out, or write Parquet (.parquet)."
        )


def has_distant_dates(column: pa.ChunkedArray | pa.Array, *, margin: int = 0) -> bool:
    """Whether some of the dates and times are outside the years 1 to 9999.

    margin  by how many days a time zone may move the ends
    """
    kind = value_type(column.type)
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return False
    per_day = 1 if pa.types.is_date32(kind) else _PER_DAY[kind.unit if pa.types.is_timestamp(kind) else "ms"]
    margin *= pa.types.is_timestamp(kind) and kind.tz is not None
    whole = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    ends = pc.min_max(column.cast(kind).cast(whole)).as_py()
    if ends["min"] is None:
        return False
    return ends["min"] // per_day < _DAY_1 + margin or ends["max"] // per_day > _LAST_DAY - margin
