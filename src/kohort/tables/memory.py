"""Tables in memory: dataframes of pandas, Polars and PyArrow, and files that were read whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from kohort.data.arrow_values import usual_type
from kohort.data.column import Column, code_column
from kohort.data.compact_column import CountedColumn
from kohort.data.process import require_polars_threads
from kohort.errors import InputError
from kohort.late import nw
from kohort.tables.table import Table


class MemoryTable(Table):
    """A dataframe of pandas, Polars or PyArrow.

    known  columns whose codes are those of a larger table, of which these are some records
    """

    def __init__(self, data: Any, known: Sequence[CountedColumn] = ()) -> None:
        if isinstance(data, pa.Table):
            if len(set(data.column_names)) < data.num_columns:
                raise InputError(_unreadable(data))
            data = _with_usual_types(data)
        self._data = data
        table = self._table
        self.is_arrow = table is not None
        self.names: tuple[str, ...] = tuple(self.frame.columns if table is None else table.column_names)
        self.n_records = len(self.frame if table is None else table)
        if not self.n_records:
            raise InputError("The table has no records: there is nothing to anonymize.")
        self._columns.update({column.name: column.part(self.arrow(column.name)) for column in known})

    @cached_property
    def frame(self) -> nw.DataFrame:
        return _eager_frame(self._data)

    @property
    def _table(self) -> pa.Table | None:
        """The table if it came as Arrow, as files are read: it needs no other package."""
        return self._data if isinstance(self._data, pa.Table) else None

    def _coded(self, name: str) -> Column:
        return code_column(name, self.arrow(name), apart=self._missing_texts(name))

    def arrow(self, name: str) -> pa.ChunkedArray:
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
                "support. Convert it to one type, such as text."
            ) from None

    def field(self, name: str) -> pa.Field:
        if self._table is not None:
            return self._table.schema.field(name)
        return pa.field(name, self.arrow(name).type)

    def whole(self) -> pa.Table:
        return super().whole() if self._table is None else self._table

    def _missing_texts(self, name: str) -> Collection[str]:
        return frozenset() if self._table is None else super()._missing_texts(name)


def _with_usual_types(table: pa.Table) -> pa.Table:
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
