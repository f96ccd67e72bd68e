"""A table as it came, and its columns in codes, each coded once and only when asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kohort.data.codebook import codebook_of
from kohort.data.column import Column, code_column
from kohort.data.forked import require_polars_threads
from kohort.data.formulas import count_formulas, holds_texts
from kohort.data.taking import take_records
from kohort.data.usual_types import usual_type
from kohort.data.value_codes import value_codes
from kohort.errors import InputError, did_you_mean
from kohort.late import LateModule

if TYPE_CHECKING:
    import narwhals as nw
else:
    nw = LateModule("narwhals")


class Dataset:
    """A table of people: one record per row, in pandas, Polars or PyArrow.

    The table itself is never changed. `column(name)` gives a column in codes.
    """

    def __init__(self, data: Any) -> None:
        if isinstance(data, pa.Table):
            if len(set(data.column_names)) < data.num_columns:
                raise InputError(_unreadable(data))
            data = _with_usual_types(data)
        self._data = data
        table = self._table
        self.names: tuple[str, ...] = tuple(self.frame.columns if table is None else table.column_names)
        self.n_records = len(self.frame if table is None else table)
        self._columns: dict[str, Column] = {}
        if not self.n_records:
            raise InputError("The table has no records: there is nothing to anonymize.")

    @cached_property
    def frame(self) -> nw.DataFrame:
        """The table as a dataframe of any kind."""
        return _eager_frame(self._data)

    @property
    def is_arrow(self) -> bool:
        """Whether the table came as Arrow."""
        return self._table is not None

    @property
    def _table(self) -> pa.Table | None:
        """The table if it came as Arrow, as files are read: it needs no other package."""
        return self._data if isinstance(self._data, pa.Table) else None

    def column(self, name: str) -> Column:
        """The column in codes."""
        if name not in self._columns:
            self.require([name])
            self._columns[name] = code_column(name, self.arrow(name), apart=self._missing_texts(name))
        return self._columns[name]

    def sensitive_column(self, name: str) -> Column:
        """The column in codes for counting different values: a number counts once, however it is written."""
        return self.column(name).with_equal_numbers_merged()

    def arrow(self, name: str) -> pa.ChunkedArray:
        """The column as Arrow, always in chunks: as many as it came in, or one."""
        if self._table is not None:
            return self._table.column(name)
        try:
            if self.frame.implementation.is_polars() and self.frame.schema[name] == nw.Object:
                raise TypeError  # Polars would give the addresses of the objects
            values = self.frame[name].to_arrow()
            return usual_type(values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values]))
        except UnicodeEncodeError:
            raise InputError(
                f"Column {name!r} holds text that is not valid Unicode: half of a surrogate pair, which "
                "no file can hold. Correct or replace it."
            ) from None
        except (pa.ArrowException, TypeError, OverflowError):
            raise InputError(
                f"Column {name!r} mixes values of different types, or has a type that Arrow does not "
                "support. "
                "Convert it to one type, such as text."
            ) from None

    def taken(self, name: str, rows: np.ndarray) -> pa.ChunkedArray | pa.Array:
        """The given records of a column, in the given order."""
        return take_records(self.arrow(name), rows)

    def taken_columns(self, names: Sequence[str], rows: np.ndarray) -> dict[str, pa.ChunkedArray | pa.Array]:
        """The given records of some columns, in the given order."""
        return {name: self.taken(name, rows) for name in names}

    def field(self, name: str) -> pa.Field:
        """The column's type in Arrow, with what else a file may have said about it (labels of SPSS)."""
        if self._table is not None:
            return self._table.schema.field(name)
        return pa.field(name, self.arrow(name).type)

    def formulas_in(self, name: str) -> int:
        """How many texts of a column spreadsheet programs take for formulas."""
        values = self.arrow(name)
        return sum(map(count_formulas, values.chunks)) if holds_texts(values.type) else 0

    def value_codes(self, name: str) -> np.ndarray:
        """Numbers for the values of a column that depend on them alone: see `value_codes`."""
        return value_codes(self.arrow(name))

    def hands_on(self, name: str, other: Dataset) -> bool:
        """Whether the column is that of another table, handed on batch by batch without being held."""
        return False

    def _missing_texts(self, name: str) -> Collection[str]:
        """The values that a file calls missing, such as refused; dataframes have none."""
        codebook = None if self._table is None else codebook_of(self.field(name))
        return frozenset() if codebook is None else codebook.missing_texts

    def require(self, names: Sequence[str]) -> None:
        """Raise InputError for names of columns that the table does not have."""
        for name in names:
            if name not in self.names:
                raise InputError(f"The table has no column {name!r}. {did_you_mean(name, self.names)}")


def distinct_rows(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct rows, how often each occurs, and the row of each record. O(n log n).

    Columns are folded into one integer key: see `row_keys`.
    """
    key = row_keys(codes.T) if codes.shape[1] else np.zeros(len(codes), dtype=np.int64)
    place_bits = len(key).bit_length()
    if len(key) and int(key.max()) >> (62 - place_bits):  # no room for the places
        _, first, row_of_record, counts = np.unique(
            key, return_index=True, return_inverse=True, return_counts=True
        )
    else:
        first, row_of_record, counts = _distinct_keys(key, place_bits)
    return codes[first], counts, row_of_record


def _distinct_keys(key: np.ndarray, place_bits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each distinct key is first, the number of each key among them, and how often each occurs.

    Keys are sorted with their places in the lowest bits: that is faster than sorting places by key.
    """
    n = len(key)
    ordered = (key << place_bits) | np.arange(n)
    ordered.sort()
    place = ordered & ((1 << place_bits) - 1)
    ordered >>= place_bits
    is_first = np.ones(n, dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    number = np.empty(n, dtype=np.int64)
    number[place] = is_first.cumsum() - 1
    return place[starts], number, np.diff(starts, append=n)


def row_keys(columns: Iterable[np.ndarray]) -> np.ndarray:
    """A number for each row of some columns of codes: equal for equal rows, and in the order of the rows.

    Where the number would overflow, what is there so far is renumbered first.
    """
    key, size = np.zeros(1, dtype=np.int64), 1
    for column in columns:
        width = int(column.max()) + 1 if len(column) else 1
        if size * width > 2**62:
            _, key = np.unique(key, return_inverse=True)
            size = int(key.max()) + 1
        key = key * width + column
        size *= width
    return key


def _with_usual_types(table: pa.Table) -> pa.Table:
    """The table with each column in its usual type; the very same table where all of them are."""
    for place, (field, column) in enumerate(zip(table.schema, table.columns)):
        usual = usual_type(column)
        if usual is not column:
            table = table.set_column(place, field.with_type(usual.type), usual)
    return table


def _eager_frame(data: Any) -> nw.DataFrame:
    try:
        frame = nw.from_native(data)
    except TypeError:
        raise InputError(
            f"A table is a pandas, Polars or PyArrow table (or a path to a file), not {type(data).__name__}."
        ) from None
    except (nw.exceptions.NarwhalsError, ValueError):
        raise InputError(_unreadable(data)) from None
    if frame.implementation.is_polars():
        require_polars_threads("A Polars table (convert it to PyArrow or pandas: table.to_arrow())")
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not all(isinstance(name, str) for name in frame.columns):
        raise InputError("Column names must be text. Rename those that are numbers or something else.")
    return frame


def _unreadable(data: Any) -> str:
    names = [str(name) for name in getattr(data, "column_names", getattr(data, "columns", ()))]
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        return f"Some column names are used more than once: {', '.join(map(repr, twice))}. Rename them."
    return "The table could not be read. Column names must be text, and each may be used only once."
