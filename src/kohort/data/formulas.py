"""Cells that a spreadsheet program would take for a formula: found, escaped for a file, and read back.

A text file of cells has no types: a spreadsheet program that opens it computes what begins with one of
`= + - @`, a tab or a line end, and a formula can start programs. An apostrophe before it makes it text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.arrow_values import is_text

if TYPE_CHECKING:
    from kohort.tables.table import Table

_BEGINS = r"^[=+\-@\t\r\n]"
_BEGINS_ESCAPED = r"^'*[=+\-@\t\r\n]"  # also with apostrophes before it, so that escaping can be undone
_JUST_A_NUMBER = r"^[+\-]?[0-9.,]*([eE][+\-]?[0-9]+)?%?$"


def formula_cells(dataset: Table) -> dict[str, int]:
    """The number of cells of each column, its name included, that spreadsheets take for formulas."""
    counts = {name: dataset.formulas_in(name) + count_formulas(pa.array([name])) for name in dataset.names}
    return {name: count for name, count in counts.items() if count}


def escaped(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before every text that begins like a formula; `unescaped` undoes it."""

    def change(texts: pa.Array) -> pa.Array:
        marked = pc.binary_join_element_wise(pa.scalar("'", texts.type), texts, pa.scalar("", texts.type))
        return pc.if_else(_is_formula(texts, begins=_BEGINS_ESCAPED), marked, texts)

    return _texts_changed(table, change)


def unescaped(table: pa.Table) -> pa.Table:
    """The table without the apostrophes that `escaped` has put before texts."""
    return _texts_changed(
        table, lambda texts: pc.replace_substring_regex(texts, r"^'('*[=+\-@\t\r\n])", r"\1")
    )


def _is_formula(texts: pa.Array, *, begins: str) -> pa.Array:
    """Whether each text begins like a formula and is more than a number; a missing text does not."""
    begin = pc.match_substring_regex(texts, begins)
    number = pc.match_substring_regex(texts, _JUST_A_NUMBER)
    return pc.fill_null(pc.and_(begin, pc.invert(number)), False)


def count_formulas(cells: pa.Array) -> int:
    """How many of these texts spreadsheets take for formulas."""
    texts = _plain(cells.dictionary if pa.types.is_dictionary(cells.type) else cells)
    begin = pc.fill_null(pc.match_substring_regex(texts, _BEGINS), False)
    if not pc.any(begin).as_py():
        return 0
    flags = _is_formula(texts, begins=_BEGINS)
    if pa.types.is_dictionary(cells.type):
        flags = flags.take(cells.indices)
    return pc.sum(flags).as_py() or 0


def _plain(texts: Any) -> Any:
    return texts.cast(pa.large_string()) if pa.types.is_string_view(texts.type) else texts


def _texts_changed(table: pa.Table, change: Callable[[pa.Array], pa.Array]) -> pa.Table:
    columns = [_changed(column, change) for column in table.columns]
    names = change(pa.array(table.column_names, pa.string())).to_pylist()
    return pa.table(columns, names=names)


def _changed(column: pa.ChunkedArray, change: Callable[[pa.Array], pa.Array]) -> pa.ChunkedArray:
    if not is_text(column.type):
        return column
    if not pa.types.is_dictionary(column.type):
        plain = _plain(column)
        return pa.chunked_array([change(chunk) for chunk in plain.chunks], plain.type)
    parts = [
        pa.DictionaryArray.from_arrays(chunk.indices, change(chunk.dictionary.cast(pa.large_string())))
        for chunk in column.chunks
    ]
    return pa.chunked_array(parts, pa.dictionary(column.type.index_type, pa.large_string()))
