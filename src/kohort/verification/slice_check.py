"""Whether what is written, batch by batch, is what was verified: the same labels beside the same values.

The verdict on a table that is read in batches is about the codes of its first reading. The second one, from
which the release is written, is compared with these, record by record: then the verdict is about the file.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.compact_column import StoredValues
from kohort.data.published_dataset import PublishedDataset
from kohort.data.value_codes import long_decimals
from kohort.errors import InputError, InternalError

__all__ = ["SliceCheck"]

Rows = np.ndarray | slice


class SliceCheck:
    """Compares batches with a table that was verified.

    verified  the published table on which the verdict is
    """

    def __init__(self, verified: PublishedDataset) -> None:
        self.original = {name: _Known(values) for name, values in verified.original.held.items()}
        self.published = {
            name: _Known(StoredValues.of(values))
            for name, values in verified.replaced.items()
            if values is not None
        }
        self.names = verified.names
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
        for name in published.schema.names:
            if name in self.published or name in self.original:
                continue
            if not _same(published.column(name), original.column(name)):
                raise _wrong(f"column {name!r} was changed")

    def finish(self) -> None:
        """Refuse an original that ended early."""
        if self.seen != self.n_records:
            raise _changed(f"it had {self.n_records:,} records and now has {self.seen:,}")


class _Known:
    """The values of a column that was verified, numbered: equal values have one number."""

    def __init__(self, values: StoredValues) -> None:
        self.codes = values.codes
        plain = _comparable(values.dictionary)
        self.values = plain.unique().drop_null()
        missing = len(self.values)
        number = pc.fill_null(pc.index_in(plain, value_set=self.values), missing)
        self.number_of_code = np.append(number.to_numpy(zero_copy_only=False), missing).astype(np.int32)

    def are_at(self, rows: Rows, values: pa.Array) -> bool:
        """Whether these values are those of the given records."""
        found = self._numbers(values)
        known = self.number_of_code[self.codes[rows]]
        return found is not None and len(found) == len(known) and bool((found == known).all())

    def _numbers(self, values: pa.Array) -> np.ndarray | None:
        """The number of each value; None if there is one that is not known."""
        if pa.types.is_null(values.type):
            values = values.cast(pa.string())
        encoded = values if pa.types.is_dictionary(values.type) else long_decimals(values).dictionary_encode()
        plain = _comparable(encoded.dictionary)
        if plain.type != self.values.type:
            plain = plain.cast(self.values.type)
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


def _comparable(values: pa.Array) -> pa.Array:
    """The values with one zero, and no NaN, which is a missing value."""
    values = long_decimals(values)
    if not pa.types.is_floating(values.type):
        return values
    plain = values.cast(pa.float64())
    whole = pc.if_else(pc.is_nan(plain), pa.scalar(None, pa.float64()), plain)
    return pc.if_else(pc.equal(whole, 0.0), pa.scalar(0.0), whole)


def _same(left: pa.Array, right: pa.Array) -> bool:
    """Whether two columns are equal in every record; NaN is equal to NaN."""
    if left.equals(right):
        return True
    if left.type != right.type or not pa.types.is_floating(left.type):
        return False
    both = [pc.if_else(pc.is_nan(part), pa.scalar(None, part.type), part) for part in (left, right)]
    return both[0].equals(both[1])


def _changed(how: str) -> InputError:
    return InputError(
        f"The original was changed between its two readings: {how}. Nothing was written. Run this again once "
        "the file is complete."
    )


def _wrong(what: str) -> InternalError:
    return InternalError(
        f"The release is not what was verified: {what}. Nothing was written. Please report this."
    )
