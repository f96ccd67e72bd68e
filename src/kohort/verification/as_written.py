"""Columns compared with what is written: a code must stand for the values that its records really have."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.data.compact_column import CompactColumn, StoredValues
from kohort.data.counting import stretches_of
from kohort.errors import InternalError, counted
from kohort.tables.table import Table
from kohort.verification.scale import exact_number
from kohort.verification.verdict import Caution


class AsWritten(Table):
    """A published table whose quasi-identifiers have a code for every text that is written.

    A reader of a text file sees three values in `30`, `30.0` and `30.00`, though they are one number: records
    that differ so are no class. In typed columns equal numbers are equal.
    """

    def __init__(self, table: Table, quasi_identifiers: Iterable[str]) -> None:
        self.table, self.apart = table, frozenset(quasi_identifiers)
        self.names, self.n_records = table.names, table.n_records

    def _coded(self, name: str) -> Column:
        stored = _stored(self.table.arrow(name))
        column = self.table._columns.get(name)
        if column is None or not column.is_part:  # whose codes are those of a larger table
            column = stored.column(name, apart=self.table._missing_texts(name))
        _check_codes(column, stored)
        return _texts_apart(column, stored) if name in self.apart else column

    def has_codes_of(self, column: Column, rows: np.ndarray) -> bool:
        """Whether the column of this name has the values of all records of another, in the order of `rows`.

        Then its codes are theirs, and it need not be coded.
        """
        if len(rows) < len(column) or self.is_coded(column.name) or column.is_part:
            return False
        taken = replace(column, codes=column.codes[rows])
        same = _spelled_alike(taken, self.table.arrow(column.name))
        self._columns.update({column.name: taken} if same else {})
        return same

    def sensitive_column(self, name: str) -> Column:
        column = super().sensitive_column(name)
        if column is not self.column(name):
            compare_codes(column, self.table.arrow(name))
        return column

    def field(self, name: str) -> pa.Field:
        return self.table.field(name)

    def arrow(self, name: str) -> pa.ChunkedArray:
        return self.table.arrow(name)

    def taken(self, name: str, rows: np.ndarray) -> pa.ChunkedArray | pa.Array:
        return self.table.taken(name, rows)

    def hands_on(self, name: str, other: Table) -> bool:
        return self.table.hands_on(name, other)


def compare_codes(column: Column, values: pa.ChunkedArray) -> None:
    """Raise InternalError where a value has two codes, or a code stands for another value. O(records)."""
    if not _spelled_alike(column, values):
        _check_codes(column, _stored(values))


def _spelled_alike(column: Column, values: pa.ChunkedArray) -> bool:
    """Whether every record has just the text, whole number or day of its code: the quick comparison."""
    quick = _is_text, pa.types.is_integer, pa.types.is_date32
    if len(set(column.texts)) < len(column.texts) or not any(kind(values.type) for kind in quick):
        return False
    if pa.types.is_string_view(values.type):  # of which Arrow takes no records
        values = values.cast(pa.string())
    try:
        meant = pa.array(column.texts, pa.string()).cast(values.type)
    except pa.ArrowInvalid:
        return False
    ends = np.cumsum([0, *map(len, values.chunks)]).tolist()
    stretches = zip(values.chunks, map(slice, ends[:-1], ends[1:]))
    return all(meant.take(pa.array(column.at(rows))).equals(chunk) for chunk, rows in stretches)


def _check_codes(column: Column, stored: StoredValues) -> None:
    """Raise InternalError where a value has two codes, or a code stands for another value."""
    texts, written = column.texts, [*_readable(stored.dictionary), None]
    number = {text: code for code, text in enumerate(texts)}
    code_of = np.array([number.get(_shown(value), -1) for value in written], dtype=np.int32)
    if len(number) == len(texts) and _stand_for(code_of, stored, column):
        return
    code_of[:] = -1  # some values are written in another way than the texts of their codes
    for places, codes in _beside(stored, column):
        code_of[places] = codes  # the last one, where they differ
    known = all(_is(texts[code], value) for code, value in zip(code_of.tolist(), written) if code >= 0)
    if not known or len(number) < len(texts) or not _stand_for(code_of, stored, column):
        raise InternalError(
            f"Column {column.name!r} was not read as it is written: its codes stand for other values. "
            "Nothing was written. Please report this."
        )


def _stand_for(code_of: np.ndarray, stored: StoredValues, column: Column) -> bool:
    """Whether every record has just the code of its value."""
    return all((code_of[places] == codes).all() for places, codes in _beside(stored, column))


def _shown(value: Any) -> str | None:
    return None if value is None else str(value)


def _stored(values: pa.ChunkedArray) -> StoredValues:
    """The distinct values of a column, and the place of each record's among them."""
    if pa.types.is_null(values.type) or pa.types.is_string_view(values.type):
        values = values.cast(pa.string())
    if pa.types.is_decimal(values.type) and values.type.bit_width < 128:  # which Arrow cannot distinguish
        values = values.cast(pa.decimal128(values.type.precision, values.type.scale))
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    chunks = encoded.unify_dictionaries().chunks or [pa.array([], encoded.type)]
    return StoredValues.of(chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks))


def _beside(stored: StoredValues, column: Column) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The places of values beside the codes of the same records, a stretch of records at a time.

    Of a column that looks its codes up by the very same places, each place is there once.
    """
    if isinstance(column, CompactColumn) and (code_of := column.code_of_stored(stored.codes)) is not None:
        used = np.flatnonzero(stored.counts)
        yield used, code_of[used]
        return
    for rows in stretches_of(len(stored)):
        yield stored.codes[rows], column.at(rows)


def _readable(dictionary: pa.Array) -> list[Any]:
    """The values as Python has them; floats in as many digits as their type has; None for other types."""
    if pa.types.is_floating(dictionary.type):
        shown = dictionary.to_numpy(zero_copy_only=False)
        return [None if value != value else Decimal(str(value)) for value in shown]
    kinds = pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_date
    readable = _is_text(dictionary.type) or any(kind(dictionary.type) for kind in kinds)
    return dictionary.to_pylist() if readable else [...] * len(dictionary)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _is(text: str | None, value: Any) -> bool:
    """Whether a code's text is that of a value: a number may be written in several ways."""
    if text is None or value is None or value is ...:  # times and bytes are compared by nobody
        return value is ... or text is value
    if isinstance(value, bool):
        return text.lower() == str(value).lower()
    if isinstance(value, (int, Decimal)):
        return exact_number(text) == value
    return text == str(value) or (
        exact_number(text) is not None and exact_number(text) == exact_number(value)
    )


def _texts_apart(column: Column, stored: StoredValues) -> Column:
    """The column with a code for every text; itself, where it has that already."""
    if not _is_text(stored.dictionary.type):
        return column
    written, used = [*stored.dictionary.to_pylist(), None], np.flatnonzero(stored.counts).tolist()
    texts = {written[place] for place in used} - {None}
    if len(texts) == sum(text is not None for text in column.texts):
        return column
    ordered = sorted(texts, key=lambda text: (exact_number(text) or 0, text))
    number = {text: code for code, text in enumerate(ordered)}
    again = np.array([number.get(text, len(ordered)) for text in written], dtype=np.int32)
    whole = Column(column.name, "string", again, (*ordered, *[None] * column.has_null), None)
    return stored.coded(whole, again)


def cautions_of_spelling(name: str, texts: Sequence[str | None], counts: np.ndarray) -> list[Caution]:
    """The caution about a column with a promise, if some of its values differ in spelling alone.

    texts   the values; None for a missing one
    counts  how many published records have each

    >>> [caution] = cautions_of_spelling("illness", ("flu", "Flu", "gout"), np.array([3, 1, 2]))
    >>> caution.records
    4
    """
    spelled = defaultdict(list)
    for code in np.flatnonzero(counts).tolist():
        spelled[_plain(texts[code])].append(code)
    alike = [code for codes in spelled.values() if len(codes) > 1 for code in codes]
    if not alike:
        return []
    records = int(counts[alike].sum())
    what = (
        f"{counted(len(alike), 'value')} of {name!r}, in {counted(records, 'record')}, differ from another "
        "one only in capitals, in spaces around them or in how their letters are encoded, or are empty where "
        "others are missing; its promise takes them for different values."
    )
    advice = "Write equal values alike, and missing ones in one way; then make the release again."
    return [Caution("spelled-alike", what, advice, column=name, records=records)]


def _plain(text: str | None) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text or "").strip().casefold())
