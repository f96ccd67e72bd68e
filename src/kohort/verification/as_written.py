"""Columns compared with what is written: a code must stand for the values that its records really have."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.column import Column
from kohort.data.counting import stretches_of
from kohort.errors import InternalError, counted
from kohort.tables.table import Table
from kohort.verification.scale import exact_number
from kohort.verification.verdict import Caution

Encoded = tuple[pa.Array, Sequence[pa.Array]]


class AsWritten(Table):
    """A published table whose quasi-identifiers have a code for every text that is written.

    A reader of a text file sees three values in `30`, `30.0` and `30.00`, though they are one number: records
    that differ so are no class. In typed columns equal numbers are equal.
    """

    def __init__(self, table: Table, quasi_identifiers: Iterable[str]) -> None:
        self.table, self.apart = table, frozenset(quasi_identifiers)
        self.names, self.n_records = table.names, table.n_records
        self._sensitive: dict[str, Column] = {}

    def _coded(self, name: str) -> Column:
        column = self.table.column(name)
        return _texts_apart(column, _encoded(self.table.arrow(name))) if name in self.apart else column

    def field(self, name: str) -> pa.Field:
        return self.table.field(name)

    def sensitive_column(self, name: str) -> Column:
        if name not in self._sensitive:
            self._sensitive[name] = self.table.sensitive_column(name)
            compare_codes(self._sensitive[name], self.table.arrow(name))
        return self._sensitive[name]

    def arrow(self, name: str) -> pa.ChunkedArray:
        return self.table.arrow(name)

    def taken(self, name: str, rows: np.ndarray) -> pa.ChunkedArray | pa.Array:
        return self.table.taken(name, rows)

    def hands_on(self, name: str, other: Table) -> bool:
        return self.table.hands_on(name, other)


def compare_codes(column: Column, values: pa.ChunkedArray) -> None:
    """Raise InternalError where a value has two codes, or a code stands for another value. O(records)."""
    if not _spelled_alike(column, values):
        _code_of_value(column, _encoded(values))


def _spelled_alike(column: Column, values: pa.ChunkedArray) -> bool:
    """Whether every record has just the text, or the whole number, of its code: the quick comparison."""
    different = len(set(column.texts)) == len(column.texts)
    if not different or not (_is_text(values.type) or pa.types.is_integer(values.type)):
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


def _code_of_value(column: Column, encoded: Encoded) -> np.ndarray:
    """The code of each distinct value (-1 where no record has it), and last that of a missing one."""
    texts, written = column.texts, [*_readable(encoded[0]), None]
    number = {text: code for code, text in enumerate(texts)}
    code_of = np.array([number.get(_shown(value), -1) for value in written], dtype=np.int32)
    if len(number) == len(texts) and _stand_for(code_of, encoded, column):
        return code_of
    code_of[:] = -1  # some values are written in another way than the texts of their codes
    for places, codes in _beside(encoded, column):
        code_of[places] = codes  # the last one, where they differ
    if not _stand_for(code_of, encoded, column):
        raise _misread(column)
    known = all(_is(texts[code], value) for code, value in zip(code_of.tolist(), written) if code >= 0)
    if not known or len(number) < len(texts):
        raise _misread(column)
    return code_of


def _stand_for(code_of: np.ndarray, encoded: Encoded, column: Column) -> bool:
    """Whether every record has just the code of its value."""
    return all((code_of[places] == codes).all() for places, codes in _beside(encoded, column))


def _shown(value: Any) -> str | None:
    return None if value is None else str(value)


def _encoded(values: pa.ChunkedArray) -> Encoded:
    """The distinct values of a column, and the place of each record's, in several parts."""
    if pa.types.is_null(values.type) or pa.types.is_string_view(values.type):
        values = values.cast(pa.string())
    if pa.types.is_decimal(values.type) and values.type.bit_width < 128:  # which Arrow cannot distinguish
        values = values.cast(pa.decimal128(values.type.precision, values.type.scale))
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    chunks = encoded.unify_dictionaries().chunks or [pa.array([], encoded.type)]
    return chunks[0].dictionary, [chunk.indices for chunk in chunks]


def _beside(encoded: Encoded, column: Column) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The places of values beside the codes of the same records, a stretch of records at a time."""
    dictionary, parts = encoded
    start = 0
    for part in parts:
        for rows in stretches_of(len(part)):
            places = part[rows.start : rows.stop]
            if places.null_count:
                places = pc.fill_null(places.cast(pa.int32()), len(dictionary))
            codes = column.at(slice(start + rows.start, start + rows.stop))
            yield places.to_numpy(zero_copy_only=False), codes
        start += len(part)


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


def _texts_apart(column: Column, encoded: Encoded) -> Column:
    """The column with a code for every text; itself, where it has that already."""
    dictionary, code_of = encoded[0], _code_of_value(column, encoded)
    if not _is_text(dictionary.type):
        return column
    written = dictionary.to_pylist()
    used = {text for text, code in zip(written, code_of.tolist()) if code >= 0 and text is not None}
    if len(used) == sum(text is not None for text in column.texts):
        return column
    texts = sorted(used, key=lambda text: (exact_number(text) or 0, text))
    number = {text: code for code, text in enumerate(texts)}
    again = np.array([number.get(text, len(texts)) for text in (*written, None)], dtype=np.int32)
    codes = np.concatenate([again[places] for places, _ in _beside(encoded, column)])
    return Column(column.name, "string", codes, (*texts, *[None] * column.has_null), None)


def _misread(column: Column) -> InternalError:
    return InternalError(
        f"Column {column.name!r} was not read as it is written: its codes stand for other values. "
        "Nothing was written. Please report this."
    )


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
