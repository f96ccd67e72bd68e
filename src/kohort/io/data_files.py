"""Records in files, before and after: a table, or baskets in the shape that the spec names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.data.baskets import joined
from kohort.data.formulas import escaped, unescaped
from kohort.errors import InputError, UnsupportedError
from kohort.io.baskets import BASKETS, BasketShape, read_basket_file, write_basket_file
from kohort.io.databases import DatabaseTable, is_url
from kohort.io.databases.reading import DatabaseBatches
from kohort.io.formats import format_of
from kohort.io.formats.fitting import Slices
from kohort.io.tables import read_table, write_slices, write_table
from kohort.tables.source import Source


def read_data(path: str | Path | DatabaseTable, shape: BasketShape | None = None, **reading: Any) -> Source:
    """Read a table or, with a shape, a file of baskets; `reading` holds the options of `read_table`."""
    if isinstance(path, DatabaseTable):
        return _read_database(path, shape, reading)
    if is_url(path):
        raise InputError("This is the URL of a database: name a table or a query of it, by ko.database(...).")
    return read_table(path, **reading) if shape is None else read_basket_file(path, shape, **reading)


def _read_database(source: DatabaseTable, shape: BasketShape | None, reading: dict[str, Any]) -> Source:
    refuse_options_of_files(shape, reading)
    batches = DatabaseBatches(source)
    try:
        return table_of(batches, batches.whole())
    finally:
        batches.close()


def refuse_options_of_files(shape: BasketShape | None, reading: Mapping[str, Any]) -> None:
    """Refuse what is said about a file where the records are those of a database.

    Baskets are lists there, in a column named `items`.
    """
    if shape is not None and shape.id is not None:
        raise UnsupportedError(
            "A spec for a long table of baskets (id and item) cannot be used for a database: give a file, or "
            f"a table or query with a column {BASKETS!r} of lists."
        )
    said = [name for name, value in reading.items() if value is not None and name != "header_option"]
    if said:
        raise InputError(f"{', '.join(said)}: this is for files, not for databases. Leave it out.")


def table_of(batches: DatabaseBatches, table: pa.Table) -> Source:
    """The records of a database in memory; none at all are refused."""
    if not table.num_rows:
        raise InputError(f"{batches.source} has no records.")
    return Source(table, "database", batches.sha256, database=batches)


def write_data(
    table: pa.Table,
    path: str | Path,
    shape: BasketShape | None,
    *,
    delimiter: str | None,
    formulas: str = "keep",
) -> None:
    """Write a release in the shape in which its original came; `formulas` is the key of the spec."""
    if shape is not None:
        write_basket_file(table, path, shape)
        return
    as_text = formulas == "escape" and format_of(path).name == "csv"
    write_table(escaped(table) if as_text else table, path, delimiter=delimiter)


def write_data_slices(
    slices: Slices, path: str | Path, *, delimiter: str | None, formulas: str = "keep"
) -> None:
    """Write a release that comes in slices, as `write_data` writes a table."""
    as_text = formulas == "escape" and format_of(path).name == "csv"
    write_slices(slices.changed(escaped) if as_text else slices, path, delimiter=delimiter)


def read_release(
    path: str | Path | DatabaseTable, shape: BasketShape | None, *, formulas: str, **reading: Any
) -> Source:
    """Read what `write_data` has written; texts that it escaped are as they were before."""
    file = read_data(path, shape, **reading)
    if formulas == "escape" and file.format == "csv":
        return file.holding(unescaped(file.table))
    return file


def write_rows(table: pa.Table, path: str | Path) -> None:
    """Write a table; its lists of items become texts, `a;b`, where the format has no lists."""
    if not format_of(path).holds_lists:
        for place, name in enumerate(table.column_names):
            if pa.types.is_list(table[name].type):
                texts = joined(table[name].combine_chunks(), ";")
                table = table.set_column(place, name, texts)
    write_table(table, path)
