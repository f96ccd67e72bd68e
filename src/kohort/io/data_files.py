"""Records in files and databases, before and after: a table, or baskets, one per line or one item per row."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.baskets import joined, split_text, split_texts
from kohort.data.formulas import unescaped
from kohort.errors import InputError, UnsupportedError
from kohort.io.databases import DatabaseTable, is_url
from kohort.io.databases.records import DatabaseBatches
from kohort.io.formats import format_of, source_format
from kohort.io.formats.text_layout import detect_encoding, open_text
from kohort.io.source_file import DAMAGED, Files, create_bytes, open_bytes, opened, plain_suffix
from kohort.io.tables import read_table, write_table
from kohort.statement.items import BASKETS, BasketShape
from kohort.tables.source import Source


def read_data(path: str | Path | DatabaseTable, shape: BasketShape | None = None, **reading: Any) -> Source:
    """Read a table or, with a shape, a file of baskets; `reading` holds the options of `read_table`."""
    if isinstance(path, DatabaseTable):
        refuse_options_of_files(shape, reading)
        with closing(DatabaseBatches(path)) as batches:
            return table_of(batches, batches.whole())
    if is_url(path):
        raise InputError("This is the URL of a database: name a table or a query of it, by ko.database(...).")
    return read_table(path, **reading) if shape is None else read_basket_file(path, shape, **reading)


def refuse_options_of_files(shape: BasketShape | None, reading: Mapping[str, Any]) -> None:
    """Refuse what is said about a file where the records are those of a database."""
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


def write_data(table: pa.Table, path: str | Path, shape: BasketShape | None, **options: Any) -> None:
    """Write a release in the shape in which its original came; `options` are those of `write_table`."""
    if shape is not None:
        write_basket_file(table, path, shape)
    else:
        write_table(table, path, **options)


def read_release(
    path: str | Path | DatabaseTable, shape: BasketShape | None, *, formulas: str, **reading: Any
) -> Source:
    """Read what `write_data` has written; texts that it escaped are as they were before."""
    file = read_data(path, shape, **reading)
    return file.holding(unescaped(file.table)) if formulas == "escape" and file.format == "csv" else file


def write_rows(table: pa.Table, path: str | Path) -> None:
    """Write a table; its lists of items become texts, `a;b`, where the format has no lists."""
    if not format_of(path).holds_lists:
        for place, name in enumerate(table.column_names):
            if pa.types.is_list(table[name].type):
                texts = joined(table[name].combine_chunks(), ";")
                table = table.set_column(place, name, texts)
    write_table(table, path)


_SEPARATORS = {".csv": ",", ".tsv": "\t"}


def separator_for(shape: BasketShape, path: Path) -> str:
    """The separator of the items in this file."""
    return shape.separator or _SEPARATORS.get(plain_suffix(path), " ")


def read_basket_file(
    path: str | Path, shape: BasketShape, *, header_option: str = "header", **reading: Any
) -> Source:
    """Read a file of baskets as a table with one column of lists; `reading` may hold `header` only."""
    header = reading.pop("header", None)
    if any(value is not None for value in reading.values()):
        raise InputError(
            "A file of baskets takes no delimiter, encoding or sheet. Give its separator in the spec."
        )
    if shape.id is not None:
        return _read_long(Path(path), shape, header, header_option)
    if header is not None:
        raise InputError(f"A file with one basket per line has no header: leave out --{header_option}.")
    return _read_lines(Files.at(path), shape)


def write_basket_file(table: pa.Table, path: str | Path, shape: BasketShape) -> None:
    """Write the baskets of a table in the shape in which the originals came."""
    path = Path(path)
    lists = table[BASKETS].combine_chunks()
    if shape.id is not None:  # an item per row; baskets get new numbers, since their ids identify people
        basket = pc.add(pc.list_parent_indices(lists), 1)
        write_table(pa.table({str(shape.id): basket, str(shape.item): lists.flatten()}), path)
        return
    lines = pc.fill_null(joined(lists, separator_for(shape, path)), "")
    with create_bytes(path) as stream:
        stream.write("\n".join(lines.to_pylist()).encode() + b"\n")


def _read_lines(files: Files, shape: BasketShape) -> Source:
    """Read files with one basket per line, or a folder of tables with a column of lists."""
    path = files.path
    if files.is_folder and source_format(files).name != "csv":
        file = read_table(path)
        if file.table.column_names != [BASKETS] or not pa.types.is_list(file.table.schema.field(0).type):
            raise InputError(f"{path}: a table of nothing but baskets has one column, {BASKETS!r}, of lists.")
        return file
    separator = separator_for(shape, path if path.suffix else files.files[0])
    parts = {file: _lines_of(file, separator) for file in files.files}
    files.refuse_changed()
    table = pa.concat_tables([part.table for part in parts.values()])
    if not table.num_rows:
        raise InputError(f"{path} has no baskets.")
    sha256 = files.sha256({file: part.sha256 for file, part in parts.items()})
    return replace(parts[files.files[0]], records=table, sha256=sha256)


def _lines_of(path: Path, separator: str) -> Source:
    """Read a file that has one basket per line, or none at all."""
    with opened(path) as source:
        try:
            with open_bytes(source) as stream:
                raw = stream.read()
            encoding = detect_encoding(source)
            lines = raw.decode(encoding).removeprefix("\ufeff").splitlines()
        except (*DAMAGED, UnicodeError):
            raise InputError(f"{path} is damaged, or not a text file.") from None
    lists = split_texts(pa.array(lines, pa.string()), separator)
    table = pa.table({BASKETS: lists})
    return Source(table, "baskets", source.sha256, separator, encoding)


def _read_long(path: Path, shape: BasketShape, header: bool | None, header_option: str) -> Source:
    file = read_table(path, header=header, header_option=header_option)
    dataset = file.dataset
    dataset.require([str(shape.id), str(shape.item)])
    extra = [name for name in dataset.names if name not in (shape.id, shape.item)]
    if extra:
        raise InputError(
            f"{path} has other columns than {shape.id!r} and {shape.item!r}: {', '.join(map(repr, extra))}. "
            "Remove them; to publish more about a basket than its items, use a table with a column of lists."
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
    return replace(file, records=table, notes=())


# Is a text file one of baskets, a transaction per line, and what separates their items?
_SAMPLE_CHARACTERS, _SAMPLE_LINES, _LEAST_LINES = 1 << 20, 2000, 5
_LIKELY_SEPARATORS = (",", ";", "\t", "|", " ")
_ONE_SIZE = 0.8  # if more than this share of lines have equally many cells, they are rows of a table
_DISTINCT = 0.95  # the least share of baskets that name no item twice
_FEW_WORDS = 0.2  # distinct words among all: people's names and free text have more


def recognized_baskets(path: Path) -> BasketShape | None:
    """The shape of a file or folder with one basket a line; None for everything that may be a table."""
    files = Files.at(path)
    if source_format(files).name != "csv":
        return None
    lines = _first_lines(files.largest)
    usual = separator_for(BasketShape(), path)
    for separator in sorted(_LIKELY_SEPARATORS, key=lambda separator: separator != usual):
        if _hold_baskets(lines, separator):
            return BasketShape(None if separator == usual else separator)
    return None


def _first_lines(path: Path) -> list[str]:
    try:
        with open_text(path, detect_encoding(path)) as stream:
            text = stream.read(_SAMPLE_CHARACTERS)
    except UnicodeError:
        return []
    lines = text.removeprefix("\ufeff").splitlines()
    whole = lines[:-1] if len(text) == _SAMPLE_CHARACTERS else lines
    return [line for line in whole[:_SAMPLE_LINES] if line.strip()]


def _hold_baskets(lines: list[str], separator: str) -> bool:
    """Whether lines look like baskets: many lengths, no item twice, items in different places."""
    baskets = [split_text(" ".join(line.split()) if separator == " " else line, separator) for line in lines]
    sizes = Counter(map(len, baskets))
    if len(baskets) < _LEAST_LINES or max(sizes.values()) > _ONE_SIZE * len(baskets) or max(sizes) < 3:
        return False
    if sum(len(set(basket)) == len(basket) for basket in baskets) < _DISTINCT * len(baskets):
        return False
    items = [item for basket in baskets for item in basket]
    are_words = separator == " " and not all(item.isdecimal() for item in items)
    return _move_about(baskets) and not (are_words and len(set(items)) > _FEW_WORDS * len(items))


def _move_about(baskets: list[list[str]]) -> bool:
    """Whether most items that occur again stand in several places, as the values of a column never do."""
    places = defaultdict(list)
    for basket in baskets:
        for place, item in enumerate(basket):
            places[item].append(place)
    again = [len(set(found)) > 1 for found in places.values() if len(found) > 1]
    return bool(again) and sum(again) * 2 >= len(again)
