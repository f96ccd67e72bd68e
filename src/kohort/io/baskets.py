"""Files of baskets: one a line, or long tables with one item a row; written back in the same shape."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.basket_cells import joined, split_texts
from kohort.data.dataset import Dataset
from kohort.data.formulas import escaped, unescaped
from kohort.errors import InputError
from kohort.io.compressed import DAMAGED, create_bytes, open_bytes, plain_suffix
from kohort.io.source_file import opened
from kohort.io.tables import TableFile, format_of, read_table, refuse_unreadable, write_table
from kohort.io.text_layout import detect_encoding

__all__ = ["BASKETS", "BasketShape", "read_data", "read_release", "write_data", "write_rows"]

BASKETS = "items"  # the column that a file of nothing but baskets makes
_SEPARATORS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True)
class BasketShape:
    """How a file holds baskets: one a line, separated (by spaces if not said); or one item a row, with id."""

    separator: str | None = None
    id: str | None = None
    item: str | None = None

    def __post_init__(self) -> None:
        if (self.id is None) != (self.item is None):
            raise InputError(
                "A long table of baskets needs both 'id' and 'item': the names of its two columns."
            )
        if self.id is not None and self.separator is not None:
            raise InputError(
                "'separator' is for files with one basket a line; leave it out beside 'id' and 'item'."
            )

    def separator_for(self, path: Path) -> str:
        return self.separator or _SEPARATORS.get(plain_suffix(path), " ")


def read_data(
    path: str | Path, shape: BasketShape | None = None, *, header_option: str = "header", **reading: Any
) -> TableFile:
    """A table, or with a shape a file of baskets; `reading` says how a table is read."""
    if shape is None:
        return read_table(path, header_option=header_option, **reading)
    header = reading.pop("header", None)
    if any(value is not None for value in reading.values()):
        raise InputError(
            "A file of baskets takes no delimiter, encoding or sheet. Say its separator in the spec."
        )
    if shape.id is not None:
        return _read_long(Path(path), shape, header, header_option)
    if header is not None:
        raise InputError(f"A file with one basket a line has no header: leave out --{header_option}.")
    return _read_baskets(Path(path), shape)


def write_data(
    table: pa.Table,
    path: str | Path,
    shape: BasketShape | None,
    *,
    delimiter: str | None,
    formulas: str = "keep",
) -> None:
    """Write a release in the shape in which its original came; `formulas` is the key of the spec."""
    if shape is None:
        as_text = formulas == "escape" and format_of(path) == "csv"
        write_table(escaped(table) if as_text else table, path, delimiter=delimiter)
    else:
        _write_baskets(table, Path(path), shape)


def read_release(path: str | Path, shape: BasketShape | None, *, formulas: str, **reading: Any) -> TableFile:
    """Read what `write_data` has written: texts that it escaped are as they were."""
    file = read_data(path, shape, **reading)
    if formulas == "escape" and file.format == "csv":
        return replace(file, table=unescaped(file.table))
    return file


def write_rows(table: pa.Table, path: str | Path) -> None:
    """Write a table whose lists of items become texts, `a;b`, where the format holds no lists."""
    if format_of(path) not in ("parquet", "arrow", "jsonl"):
        for place, name in enumerate(table.column_names):
            if pa.types.is_list(table[name].type):
                texts = joined(table[name].combine_chunks(), ";")
                table = table.set_column(place, name, texts)
    write_table(table, path)


def _read_baskets(path: Path, shape: BasketShape) -> TableFile:
    """A file of baskets as a table with one column of lists."""
    refuse_unreadable(path)
    with opened(path) as source:
        try:
            with open_bytes(source) as stream:
                raw = stream.read()
            encoding = detect_encoding(source)
            lines = raw.decode(encoding).removeprefix("\ufeff").splitlines()
        except (*DAMAGED, UnicodeError):
            raise InputError(f"{path} is damaged, or no text.") from None
    if not lines:
        raise InputError(f"{path} has no baskets.")
    lists = split_texts(pa.array(lines, pa.string()), shape.separator_for(path))
    table = pa.table({BASKETS: lists})
    return TableFile(table, "baskets", shape.separator_for(path), encoding, source.sha256)


def _write_baskets(table: pa.Table, path: Path, shape: BasketShape) -> None:
    lists = table[BASKETS].combine_chunks()
    if shape.id is not None:
        write_table(_as_long(lists, shape), path)
        return
    lines = pc.fill_null(joined(lists, shape.separator_for(path)), "")
    with create_bytes(path) as stream:
        stream.write("\n".join(lines.to_pylist()).encode() + b"\n")


def _read_long(path: Path, shape: BasketShape, header: bool | None, header_option: str) -> TableFile:
    file = read_table(path, header=header, header_option=header_option)
    dataset = Dataset(file.table)
    dataset.require([str(shape.id), str(shape.item)])
    extra = [name for name in dataset.names if name not in (shape.id, shape.item)]
    if extra:
        raise InputError(
            f"{path} has other columns than {shape.id!r} and {shape.item!r}: {', '.join(map(repr, extra))}. "
            "Remove them; what is known of a basket besides its items goes into a table with lists."
        )
    ids, items = dataset.column(str(shape.id)), dataset.column(str(shape.item))
    if items.has_null or ids.has_null:
        raise InputError(f"{path}: ids or items are missing in some rows. Remove these rows.")
    order = np.argsort(ids.codes, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(ids.counts)]).astype(np.int32)
    texts = pa.DictionaryArray.from_arrays(pa.array(items.codes[order]), pa.array(items.texts)).cast(
        pa.string()
    )
    table = pa.table({BASKETS: pa.ListArray.from_arrays(pa.array(offsets), texts)})
    return TableFile(table, file.format, file.delimiter, file.encoding, file.sha256)


def _as_long(lists: pa.ListArray, shape: BasketShape) -> pa.Table:
    """One item a row; baskets are numbered anew, since ids identify people."""
    basket = pc.add(pc.list_parent_indices(lists), 1)
    return pa.table({str(shape.id): basket, str(shape.item): lists.flatten()})
