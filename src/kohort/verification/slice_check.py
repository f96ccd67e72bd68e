"""Whether what is published is what was verified: the same values in the same records, column by column.

A verdict is about the table in memory, or about the codes of a first reading. A file is read back before it
gets its name, and a dataframe is looked at again; what is found there is compared with what was verified.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from kohort.data.compact_column import StoredValues
from kohort.errors import InputError, InternalError, KohortError, UnsupportedError
from kohort.tables.batches import PublishedTable
from kohort.verification.known_column import (
    HashedColumn,
    KnownColumn,
    Rows,
    VerifiedColumn,
    held_column,
    same_values,
)


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
        columns = dict(zip(verified.column_names, map(held_column, verified.columns)))
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
            if isinstance(column, HashedColumn) and not column.agrees:
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
