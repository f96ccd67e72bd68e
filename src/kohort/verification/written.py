"""Columns compared with what is written: codes with values, and what is read back with what was verified.

A code must stand for the values that its records really have. A verdict is about the table in memory, or
about the codes of a first reading: so a file is read back before it gets its name, and a dataframe is looked
at again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.arrow_values import long_decimals
from kohort.data.column import Column
from kohort.data.compact_column import CompactColumn, StoredValues
from kohort.data.counting import stretches_of
from kohort.errors import InputError, InternalError, KohortError, UnsupportedError
from kohort.tables.batches import PublishedTable
from kohort.tables.table import Table
from kohort.verification.scale import exact_number

Rows = np.ndarray | slice


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
    code_of = np.array([number.get(None if v is None else str(v), -1) for v in written], dtype=np.int32)
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


def _stored(values: pa.ChunkedArray) -> StoredValues:
    """The distinct values of a column, and the place of each record's among them."""
    if pa.types.is_null(values.type) or pa.types.is_string_view(values.type):
        values = values.cast(pa.string())
    encoded = values if pa.types.is_dictionary(values.type) else long_decimals(values).dictionary_encode()
    return StoredValues.of(_one_chunk(encoded.unify_dictionaries()))


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


class SliceCheck:
    """Compares batches with a table that was verified.

    verified  the published table on which the verdict is
    """

    def __init__(self, verified: PublishedTable) -> None:
        self.original = {name: KnownColumn(values) for name, values in verified.original.held.items()}
        self.published = {
            name: KnownColumn(StoredValues.of(values))
            for name, values in verified.replaced.items()
            if values is not None
        }
        handed_on = [n for n in verified.names if n not in self.published and n not in self.original]
        self.handed_on = {name: HashedColumn(verified.field(name).type) for name in handed_on}
        self.names = verified.names
        self.rows = verified.rows
        self.n_records = verified.original.n_records
        self.seen = 0

    def compare_original(self, batch: pa.RecordBatch) -> None:
        """Refuse the next records of the original unless they are as they were when they were verified."""
        rows = slice(self.seen, self.seen + len(batch))
        self.seen += len(batch)
        if self.seen > self.n_records:
            raise _changed(f"it had {self.n_records:,} records and now has more")
        for name, known in self.original.items():
            if not known.are_at(rows, batch.column(name)):
                raise _changed(f"column {name!r} has other values than before")

    def compare_published(self, batch: pa.RecordBatch, rows: Rows) -> None:
        """Refuse a published batch whose labels, or protected values, are not those that were verified.

        rows  the originals of its records
        """
        if batch.schema.names != list(self.names):
            raise _wrong("other columns are published than were verified")
        for name in batch.schema.names:
            known = self.published.get(name) or self.original.get(name)
            if known is not None and not known.are_at(rows, batch.column(name)):
                raise _wrong(f"column {name!r} is not the one that was verified")

    def compare_untouched(self, published: pa.RecordBatch, original: pa.RecordBatch) -> None:
        """Refuse a published batch whose other columns differ from those of its originals."""
        for name, hashed in self.handed_on.items():
            if not same_values(published.column(name), original.column(name)):
                raise _wrong(f"column {name!r} was changed")
            hashed.add(published.column(name))

    def finish(self) -> None:
        """Refuse an original that ended early."""
        if self.seen != self.n_records:
            raise _changed(f"it had {self.n_records:,} records and now has {self.seen:,}")

    def of_written(self, place: str, *, holds_all: bool) -> WrittenCheck:
        """Compares what is read back with these batches, once all of them were compared."""
        known = {name: self.published.get(name) or self.original.get(name) for name in self.names}
        columns = {name: found or self.handed_on[name] for name, found in known.items()}
        n_records = self.n_records if self.rows is None else len(self.rows)
        return WrittenCheck(columns, n_records, place, holds_all=holds_all, rows=self.rows)


class WrittenCheck:
    """Compares what is read back of a release, part by part, with what was verified.

    columns    the published columns
    place      where it is read from, such as `the .xlsx file`
    holds_all  whether there every value and every record can be told from any other
    rows       the numbers by which the columns know the published records; None: they are in that order
    """

    def __init__(
        self,
        columns: Mapping[str, VerifiedColumn],
        n_records: int,
        place: str,
        *,
        holds_all: bool,
        rows: np.ndarray | None = None,
    ) -> None:
        self.columns, self.n_records, self.rows = columns, n_records, rows
        self.place, self.holds_all = place, holds_all
        self.seen = 0

    @classmethod
    def of(cls, verified: pa.Table, place: str, *, holds_all: bool) -> WrittenCheck:
        """Compares with a table in memory."""
        columns: dict[str, VerifiedColumn] = {
            name: KnownColumn(_stored(values))
            if pa.types.is_dictionary(values.type)
            else _WholeColumn(values)
            for name, values in zip(verified.column_names, verified.columns)
        }
        return cls(columns, verified.num_rows, place, holds_all=holds_all)

    def compare(self, part: pa.Table | pa.RecordBatch) -> None:
        """Refuse the next records unless they are those that were verified."""
        rows: Rows = slice(self.seen, self.seen + len(part))
        self.seen += len(part)
        if list(part.schema.names) != list(self.columns):
            raise self._refusal("The list of columns")
        if self.seen > self.n_records:
            raise self._refusal("The number of records")
        for name, known in self.columns.items():
            if not known.are_at(rows if self.rows is None else self.rows[rows], part.column(name)):
                raise self._refusal(f"Column {name!r}")

    def finish(self) -> None:
        """Refuse a table that ended early."""
        if self.seen != self.n_records:
            raise self._refusal("The number of records")
        for name, column in self.columns.items():
            if not column.agrees:
                raise self._refusal(f"Column {name!r}")

    def _refusal(self, what: str) -> KohortError:
        if self.holds_all:
            return _wrong(f"{what[0].lower()}{what[1:]} of {self.place} is another")
        return UnsupportedError(
            f"{what} does not come back from {self.place} as it was verified: this format does not "
            "distinguish everything that is in the release. Nothing was written. Write Parquet (.parquet)."
        )


def _changed(how: str) -> InputError:
    return InputError(
        f"The original was changed between its two readings: {how}. Nothing was written. Run this again once "
        "the file is complete."
    )


def _wrong(what: str) -> InternalError:
    return InternalError(
        f"The release is not what was verified: {what}. Nothing was written. Please report this."
    )


class VerifiedColumn:
    """A column that was verified."""

    agrees = True
    """Whether all that was read back is all that was published, where only that can be said."""

    def are_at(self, rows: Rows, values: pa.Array | pa.ChunkedArray) -> bool:
        """Whether these values are those of the given records."""
        raise NotImplementedError


class _WholeColumn(VerifiedColumn):
    """A column in memory."""

    def __init__(self, values: pa.ChunkedArray) -> None:
        self.values = values

    def are_at(self, rows: Rows, values: pa.Array | pa.ChunkedArray) -> bool:
        assert isinstance(rows, slice)
        known = plain_values(self.values.slice(rows.start, rows.stop - rows.start))
        found = _as_kind(values, known.type)
        return found is not None and same_values(_one_chunk(known), _one_chunk(found))


class HashedColumn(VerifiedColumn):
    """A column that is not held: what was published of it is hashed, and what is read back, too."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = _plain_kind(kind)
        self.published, self.found = hashlib.sha256(), hashlib.sha256()
        self.sizes = (hashlib.sha256(), hashlib.sha256())

    def add(self, values: pa.Array) -> None:
        """Take in the next published values."""
        self._hash(plain_values(values), self.published, self.sizes[0])

    def are_at(self, rows: Rows, values: pa.Array | pa.ChunkedArray) -> bool:
        found = _as_kind(values, self.kind)
        if found is not None:
            self._hash(_one_chunk(found), self.found, self.sizes[1])
        return found is not None

    @property
    def agrees(self) -> bool:  # type: ignore[override]
        sizes = [each.digest() for each in self.sizes]
        return self.published.digest() == self.found.digest() and sizes[0] == sizes[1]

    def _hash(self, values: pa.Array, bytes_: hashlib._Hash, sizes: hashlib._Hash) -> None:
        values = _comparable(values)
        if pa.types.is_nested(values.type) or pa.types.is_duration(values.type):
            values = pa.array([None if v is None else str(v) for v in values.to_pylist()], pa.string())
        texts = values.cast(pa.large_binary() if _is_binary(values.type) else pa.large_string())
        sizes.update(np.asarray(pc.fill_null(pc.binary_length(texts), -1)).astype(np.int64).tobytes())
        filled = pc.fill_null(texts, b"" if _is_binary(texts.type) else "")
        _, offsets, data = filled.buffers()
        ends = np.frombuffer(offsets, np.int64, filled.offset + len(filled) + 1)[filled.offset :]
        if data is not None:
            bytes_.update(memoryview(data)[ends[0] : ends[-1]])


class KnownColumn(VerifiedColumn):
    """The values of a column that was verified, numbered: equal values have one number."""

    def __init__(self, values: StoredValues) -> None:
        self.codes = values.codes
        plain = _comparable(values.dictionary)
        self.values = plain.unique().drop_null()
        missing = len(self.values)
        number = pc.fill_null(pc.index_in(plain, value_set=self.values), missing)
        self.number_of_code = np.append(number.to_numpy(zero_copy_only=False), missing).astype(np.int32)

    def are_at(self, rows: Rows, values: pa.Array | pa.ChunkedArray) -> bool:
        parts = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
        numbers = [self._numbers(part) for part in parts]
        known = self.number_of_code[self.codes[rows]]
        if any(part is None for part in numbers):
            return False
        found = np.concatenate([part for part in numbers if part is not None] or [known[:0]])
        return len(found) == len(known) and bool((found == known).all())

    def _numbers(self, values: pa.Array) -> np.ndarray | None:
        """The number of each value; None if there is one that is not known."""
        if pa.types.is_null(values.type):
            values = values.cast(pa.string())
        encoded = values if pa.types.is_dictionary(values.type) else long_decimals(values).dictionary_encode()
        plain = _as_kind(encoded.dictionary, self.values.type)
        if plain is None:
            return None
        plain = _comparable(plain)
        missing = len(self.values)
        number = pc.index_in(plain, value_set=self.values, skip_nulls=True)
        unknown = pc.and_(pc.is_null(number), pc.is_valid(plain))
        of_code = np.append(pc.fill_null(number, missing).to_numpy(zero_copy_only=False), missing)
        indices = pc.fill_null(encoded.indices.cast(pa.int32()), -1).to_numpy(zero_copy_only=False)
        if pc.any(unknown).as_py():
            used = np.bincount(indices + 1, minlength=len(of_code))[1:] > 0
            if (used & unknown.to_numpy(zero_copy_only=False)).any():
                return None
        return of_code.astype(np.int32)[indices]


def _plain_kind(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _plain_kind(kind.value_type)
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return pa.decimal128(kind.precision, kind.scale)
    return {"string_view": pa.large_string(), "binary_view": pa.large_binary()}.get(str(kind), kind)


def plain_values(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The values without dictionaries, views and extensions."""
    if pa.types.is_run_end_encoded(values.type):
        values = pc.run_end_decode(values)
    kind = _plain_kind(values.type)
    return values if kind == values.type else values.cast(kind)


def _one_chunk(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    chunks = [values] if isinstance(values, pa.Array) else values.chunks
    if len(chunks) == 1:
        return chunks[0]
    return pa.concat_arrays(chunks) if chunks else pa.array([], values.type)


def _as_kind(values: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array | pa.ChunkedArray | None:
    """Values that were read back, in the type in which they were verified; None where they have no such."""
    if isinstance(values, pa.ChunkedArray):
        parts = [_as_kind(chunk, kind) for chunk in values.chunks]
        return None if any(part is None for part in parts) else pa.chunked_array(parts, kind)
    if pa.types.is_dictionary(values.type):
        entries = _as_kind(values.dictionary, kind)
        return None if entries is None else entries.take(values.indices)
    values = plain_values(values)
    if values.type == kind:
        return values
    if _is_text(kind) and not _is_text(values.type) and not pa.types.is_null(values.type):
        return None  # 1 was "1" or "01"
    if pa.types.is_null(kind):
        return pa.nulls(len(values)) if values.null_count == len(values) else None
    try:
        if _is_text(values.type) and pa.types.is_temporal(kind):
            return _times_of(values, kind)
        return values.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _times_of(texts: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Dates and times of day as ISO texts have them, in the type in which they were verified."""
    if pa.types.is_time(kind):
        day, space = (pa.scalar(text, texts.type) for text in ("1970-01-01", " "))
        moments = pc.binary_join_element_wise(day, texts, space).cast(pa.timestamp("ns"))
        return moments.cast(pa.time64("ns")).cast(kind)
    unit = "ns" if getattr(kind, "unit", "") == "ns" else "us"
    return texts.cast(pa.timestamp(unit, getattr(kind, "tz", None))).cast(kind)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _is_binary(kind: pa.DataType) -> bool:
    return any(
        of(kind) for of in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    )


def _comparable(values: pa.Array) -> pa.Array:
    """The values with one zero, and no NaN, which is a missing value."""
    values = long_decimals(values)
    if not pa.types.is_floating(values.type):
        return values
    plain = values.cast(pa.float64())
    whole = pc.if_else(pc.is_nan(plain), pa.scalar(None, pa.float64()), plain)
    return pc.if_else(pc.equal(whole, 0.0), pa.scalar(0.0), whole)


def same_values(left: pa.Array, right: pa.Array) -> bool:
    """Whether two columns are equal in every record; NaN is equal to NaN."""
    if left.equals(right):
        return True
    if pa.types.is_nested(left.type):
        return left.type == right.type and str(left.to_pylist()) == str(right.to_pylist())
    if left.type != right.type or not pa.types.is_floating(left.type):
        return False
    both = [pc.if_else(pc.is_nan(part), pa.scalar(None, part.type), part) for part in (left, right)]
    return both[0].equals(both[1])
