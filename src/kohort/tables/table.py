"""A table of people, wherever its records live: in memory, in a file that is read in batches, on a cluster.

Every place has the same methods. Nobody asks a table where it is in order to get a column of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.arrow_values import is_text, take_records, value_codes
from kohort.data.codebook import codebook_of
from kohort.data.column import Column
from kohort.data.formulas import count_formulas
from kohort.errors import InputError, did_you_mean
from kohort.late import nw


class Table(ABC):
    """A table with one record per row. It is never changed.

    names      the names of its columns
    n_records  how many records there are
    """

    names: tuple[str, ...]
    n_records: int
    is_arrow = True
    """Whether the values came as Arrow, as those of files do."""
    files: Any = None
    """The files that Spark reads it from; None elsewhere."""
    in_one_place = True
    """Whether its records can be looked at here; those of a cluster are only counted."""

    @cached_property
    def _columns(self) -> dict[str, Column]:
        """The columns that were coded so far, each once and only when asked for."""
        return {}

    def column(self, name: str) -> Column:
        """The column in codes."""
        if name not in self._columns:
            self.require([name])
            self._columns[name] = self._coded(name)
        return self._columns[name]

    def is_coded(self, name: str) -> bool:
        """Whether the column is there in codes already."""
        return name in self._columns

    def sensitive_column(self, name: str) -> Column:
        """The column in codes for counting different values: a number counts once, however it is written."""
        return self.column(name).with_equal_numbers_merged()

    @abstractmethod
    def field(self, name: str) -> pa.Field:
        """The column's type in Arrow, with what else a file may have said about it (labels of SPSS)."""

    @abstractmethod
    def arrow(self, name: str) -> pa.ChunkedArray:
        """The column as Arrow, always in chunks: as many as it came in, or one."""

    @abstractmethod
    def _coded(self, name: str) -> Column:
        """The column in codes, made from its values."""

    def whole(self) -> pa.Table:
        """All records in memory, as a table of PyArrow."""
        return pa.table({name: self.arrow(name) for name in self.names})

    @cached_property
    def frame(self) -> nw.DataFrame:
        """All records in memory, as a dataframe of any kind."""
        return nw.from_native(self.whole(), eager_only=True)

    def taken(self, name: str, rows: np.ndarray) -> pa.ChunkedArray | pa.Array:
        """The given records of a column, in the given order."""
        return take_records(self.arrow(name), rows)

    def taken_columns(self, names: Sequence[str], rows: np.ndarray) -> dict[str, pa.ChunkedArray | pa.Array]:
        """The given records of some columns, in the given order."""
        return {name: self.taken(name, rows) for name in names}

    def formulas_in(self, name: str) -> int:
        """How many texts of a column spreadsheet programs take for formulas."""
        values = self.arrow(name)
        return sum(map(count_formulas, values.chunks)) if is_text(values.type) else 0

    def value_codes(self, name: str) -> np.ndarray:
        """Numbers for the values of a column that depend on them alone: see `value_codes`."""
        return value_codes(self.arrow(name))

    def hands_on(self, name: str, other: Table) -> bool:
        """Whether the column is that of another table, handed on batch by batch without being held."""
        return False

    def _missing_texts(self, name: str) -> Collection[str]:
        """The values that a file calls missing, such as refused."""
        return codebook_of(self.field(name)).missing_texts

    def sha256(self) -> str | None:
        """The SHA-256 of the files that it is read from, where these are hashed only when it is asked for."""
        return None

    def require(self, names: Sequence[str]) -> None:
        """Raise InputError for names of columns that the table does not have."""
        for name in names:
            if name not in self.names:
                raise InputError(f"The table has no column {name!r}. {did_you_mean(name, self.names)}")
