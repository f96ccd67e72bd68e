"""Work that Polars does on files: refused where it would hang, its panics turned into errors of our own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.forked import require_polars_threads
from kohort.errors import UnsupportedError
from kohort.late import LateModule

if TYPE_CHECKING:
    import polars as pl
else:
    pl = LateModule("polars")

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
    for index, field in enumerate(table.schema):
        if pa.types.is_decimal256(_values(field.type)):
            plain = table.column(index).cast(_values(field.type)).cast(pa.string())
            table = table.set_column(index, field.name, plain)
    return table


def refuse_distant_dates(table: pa.Table, format_name: str) -> None:
    """Refuse dates and times that have no text of the usual form, since their year is not 1 to 9999."""
    names = [repr(name) for name in table.column_names if _has_distant_dates(table.column(name))]
    if names:
        raise UnsupportedError(
            f"{format_name} cannot hold dates outside the years 1 to 9999, as in {', '.join(names)}. "
            "Correct them, leave the columns out, or write Parquet (.parquet)."
        )


def with_usual_dates(format_name: str) -> Callable[[pa.Table], pa.Table]:
    """A function that returns a table as it is, or refuses its dates: see `refuse_distant_dates`."""

    def checked(table: pa.Table) -> pa.Table:
        refuse_distant_dates(table, format_name)
        return table

    return checked


def _has_distant_dates(column: pa.ChunkedArray) -> bool:
    kind = _values(column.type)
    if pa.types.is_date32(kind):
        per_day, margin = 1, 0
    elif pa.types.is_date64(kind):
        per_day, margin = _PER_DAY["ms"], 0
    elif pa.types.is_timestamp(kind):
        per_day, margin = _PER_DAY[kind.unit], int(kind.tz is not None)  # zones move the ends by hours
    else:
        return False
    integer = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    ends = pc.min_max(column.cast(kind).cast(integer)).as_py()
    if ends["min"] is None:
        return False
    return ends["min"] // per_day < _DAY_1 + margin or ends["max"] // per_day > _LAST_DAY - margin


def _values(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
