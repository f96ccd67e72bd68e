"""The published table: generalized quasi-identifiers, identifiers gone or replaced, the rest untouched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kohort.data.arrow_values import take_records, value_codes, without_unused
from kohort.data.baskets import joined
from kohort.data.codebook import codebook_of, with_codebook
from kohort.data.compact_column import smallest_type
from kohort.data.counting import count_codes, stretches_of
from kohort.data.domain import STAR
from kohort.data.formulas import formula_cells
from kohort.data.process import give_memory_back
from kohort.job.prepare import Prepared
from kohort.job.two_files import TwoFiles, compared
from kohort.job.withheld import broken_by, starred
from kohort.late import LateModule
from kohort.recoding.recoding import PublishedColumn, Recoding
from kohort.statement import Statement
from kohort.tables.batches import BatchTable, PublishedTable
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table
from kohort.treatments import Part

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl
else:
    nw, pl = LateModule("narwhals"), LateModule("polars")

Columns = Mapping[str, pa.Array | None]


@dataclass(frozen=True, eq=False)
class Published:
    """A table as it is published.

    dataset  the table as it came
    columns  the columns that are changed; None: the column is dropped
    kept     the records that are published, in this order; None: all of them, as they came
    broken   the promises that withheld records would break as `*`, if they are left out for that; else None
    generalized  the columns whose values are generalized: what a file said about them holds further on
    counterfeits  how many records at the end of the table are nobody's
    files    the tables of people and of events that were joined for it; None where there is one table
    """

    dataset: Table
    columns: Columns
    kept: np.ndarray | None = None
    broken: str | None = None
    generalized: frozenset[str] = frozenset()
    counterfeits: int = 0
    files: TwoFiles | None = None

    @property
    def names(self) -> list[str]:
        """The published columns."""
        return [name for name in self.dataset.names if self.columns.get(name, ...) is not None]

    @cached_property
    def rows(self) -> np.ndarray:
        """Per published record the number of its original."""
        return np.arange(self.dataset.n_records) if self.kept is None else self.kept

    @property
    def originals(self) -> np.ndarray:
        """The same, with -1 for counterfeits, which have none."""
        return np.where(self.rows < self.dataset.n_records - self.counterfeits, self.rows, -1)

    @property
    def n_records(self) -> int:
        """How many records are published."""
        return self.dataset.n_records if self.kept is None else len(self.kept)

    @property
    def in_order(self) -> bool:
        """Whether the records are published in the order of the original."""
        return self.kept is None or bool((self.kept[1:] > self.kept[:-1]).all())

    @property
    def n_left_out(self) -> int:
        """How many records are not published."""
        return self.dataset.n_records - self.n_records

    @cached_property
    def shown(self) -> Table:
        """The published table, to be looked at by a stranger; see `PublishedTable`."""
        if isinstance(self.dataset, BatchTable):
            return PublishedTable(self.dataset, self.names, self.columns, self.kept)
        return MemoryTable(self.arrow)

    def value_codes(self, name: str) -> np.ndarray:
        """Numbers for the values of a published column that depend on them alone: see `value_codes`."""
        if isinstance(self.dataset, BatchTable):
            return self.shown.value_codes(name)
        return value_codes(self._values(name, self.kept))

    def _values(self, name: str, rows: np.ndarray | None) -> pa.ChunkedArray | pa.Array:
        replaced = self.columns.get(name)
        column = self.dataset.arrow(name) if replaced is None else replaced
        return column if rows is None else take_records(column, rows)

    def held(self) -> Published:
        """The same, with all that is published taken out of the table that came: what happens to it later
        changes nothing of the release."""
        if not isinstance(self.dataset, BatchTable):
            _ = self.arrow, self._untouched
        return self

    @cached_property
    def _untouched(self) -> Any:
        """The columns that are published as they came, as the kind of dataframe that came in; None: Arrow."""
        if isinstance(self.dataset, BatchTable) or self.dataset.is_arrow:
            return None
        frame = nw.maybe_reset_index(self.dataset.frame)
        names = [name for name in self.names if self.columns.get(name) is None]
        frame = frame.select(names or self.dataset.names[:1])  # a frame without columns has no records
        return _with_used_categories(nw.maybe_reset_index(frame[self.rows]))

    @cached_property
    def arrow(self) -> pa.Table:
        """The published table in Arrow, with dictionaries where values repeat."""
        arrays, fields = [], []
        for name in self.names:
            arrays.append(without_unused(self._values(name, self.rows)))
            fields.append(self.field(name, arrays[-1].type))
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    @property
    def formulas(self) -> Mapping[str, int]:
        """How many texts of each published column begin like a formula, where some do."""
        return formula_cells(self.shown)

    def close(self) -> None:
        """Give up what is held elsewhere, such as on a cluster; here nothing is."""

    @cached_property
    def parted(self) -> tuple[pa.Table, pa.Table | None]:
        """The published tables in Arrow: the one, or that of people and that of events."""
        return (self.arrow, None) if self.files is None else self.files.parted(self)

    def field(self, name: str, kind: pa.DataType) -> pa.Field:
        """The type of a column and what a file said about it, also where its values are generalized."""
        if name not in self.columns:
            return self.dataset.field(name).with_type(kind)
        book = codebook_of(self.dataset.field(name)) if name in self.generalized else None
        return with_codebook(pa.field(name, kind), book)

    @cached_property
    def native(self) -> Any:
        """The published table as the kind of dataframe that came in, compared with what was verified."""
        replaced = [name for name in self.names if self.columns.get(name) is not None]
        texts = {name: _plain(self.arrow[name]) for name in replaced}
        if self._untouched is None:
            columns = [texts.get(name, self.arrow[name]) for name in self.names]
            made = pa.table(columns, names=self.names)
        else:
            new = nw.from_arrow(pa.table(texts), backend=nw.get_native_namespace(self.dataset.frame))
            frame = nw.from_native(self._untouched).with_columns(*(new[name] for name in replaced))
            made = frame.select(self.names).to_native()
        return compared(made, self.arrow)


def publish(prepared: Prepared, recoding: Recoding) -> Published:
    """The table that a recoding publishes; withheld records are left out where they may not be `*`."""
    if isinstance(prepared.dataset, BatchTable):
        give_memory_back()
    request = prepared.request
    columns = replaced_columns(prepared, recoding)
    generalized = frozenset(attribute.name for attribute in prepared.attributes)
    broken, withheld = None, recoding.withheld
    drops = bool(prepared.attributes) and _leaves_out(request)
    if not drops and withheld.any():
        shown = starred([columns[name] for name in generalized])
        broken = broken_by(request.table_models, prepared.sensitive, prepared.units, shown)
    kept = np.flatnonzero(~withheld) if drops or broken else None
    return Published(prepared.dataset, columns, kept, broken, generalized, files=prepared.files)


def _leaves_out(request: Statement) -> bool:
    """Whether withheld records are left out, never `*`: where records are followed, that would tell."""
    return request.suppressed == "drop" or request.linked_by is not None or request.ledger is not None


def replaced_columns(prepared: Prepared, recoding: Recoding) -> dict[str, pa.Array | None]:
    """The columns that are changed, as Arrow dictionaries by name; None: the column is dropped."""
    request = prepared.request
    labels = {}
    for attribute in prepared.attributes:
        published = recoding.apply(attribute)
        labels[attribute.name] = labelled(published, recoding.withheld, request.nulls == "star")
    part = Part(prepared.dataset, labels)
    treated = {
        name: prepared.treated[name] if name in prepared.treated else how.publish(name, part, prepared.secret)
        for name, how in prepared.treatments.items()
    }
    if isinstance(prepared.dataset, BatchTable):  # where it is, columns are kept in small codes
        treated = {name: _coded(values) for name, values in treated.items()}
    columns = {**dict.fromkeys(prepared.roles.dropped(request.treatments)), **labels, **treated}
    if recoding.items is not None:
        assert request.items is not None and prepared.items is not None
        lists = recoding.items.apply(prepared.items)
        separator = request.items.separator
        columns[request.items.column] = lists if separator is None else joined(lists, separator)
    return columns


def _coded(values: pa.Array) -> pa.DictionaryArray:
    return values if isinstance(values, pa.DictionaryArray) else values.dictionary_encode()


def labelled(published: PublishedColumn, withheld: np.ndarray, null_is_star: bool) -> pa.DictionaryArray:
    """A column of labels, listed alphabetically so that the file does not show any other order."""
    labels = [STAR if label is None and null_is_star else label for label in published.labels]
    of_record = published.of_record
    uses = count_codes(of_record, len(labels)) - count_codes(of_record[withheld], len(labels))
    shown = {label for label, n in zip(labels, uses) if n and label is not None}
    known = sorted(shown | ({STAR} if withheld.any() else set()))
    number = {label: code for code, label in enumerate(known)}
    kind = smallest_type(len(known) + 1)
    code_of_label = np.array([number.get(label, len(known)) for label in labels], dtype=kind)  # type: ignore[arg-type]
    indices = np.empty(len(of_record), dtype=kind)
    for rows in stretches_of(len(of_record)):
        np.take(code_of_label, of_record[rows], out=indices[rows], mode="clip")
    indices[withheld] = number.get(STAR, 0)
    missing = indices == len(known) if any(n and label is None for label, n in zip(labels, uses)) else None
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=missing), pa.array(known, pa.string()))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _with_used_categories(frame: nw.DataFrame) -> Any:
    """The dataframe, of its own kind, whose dtypes list the categories of its records and no others."""
    native = frame.to_native()
    if frame.implementation.is_polars():
        return native.with_columns(_of_polars(column) for column in native)
    changed = {name: _of_pandas(native[name]) for name in native.columns}
    return native.assign(**{name: column for name, column in changed.items() if column is not None})


def _of_polars(column: pl.Series) -> pl.Series:
    if isinstance(column.dtype, pl.Enum):
        used = set(column.unique().to_list())
        return column.cast(pl.Enum([each for each in column.dtype.categories if each in used]))
    return column.cast(pl.String).cast(column.dtype) if column.dtype == pl.Categorical else column


def _of_pandas(column: Any) -> Any:
    """The column with the categories in use; None where it has no categories."""
    if hasattr(column.dtype, "categories"):
        return column.cat.remove_unused_categories()
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    if kind is None or not pa.types.is_dictionary(kind):
        return None
    values = without_unused(pa.chunked_array([pa.array(column)]))
    return type(column)(type(column.array)(values), index=column.index, name=column.name)
