"""A column that comes in parts: each is coded by its own dictionary, and these are joined now and then."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.column import refuse_uncodable
from kohort.data.compact_column import StoredValues, smallest_type
from kohort.data.value_codes import long_decimals

__all__ = ["GrowingValues"]

_PENDING = 1 << 20  # entries of dictionaries that wait to be joined


class GrowingValues:
    """The values of a column so far; memory is that of the distinct values and of small codes."""

    def __init__(self, name: str, kind: pa.DataType) -> None:
        refuse_uncodable(name, kind)
        self.ordered = bool(pa.types.is_dictionary(kind) and kind.ordered)
        self._known: pa.Array | None = None
        self._parts: list[np.ndarray] = []  # codes of `_known`, plus 1; 0 where a value is missing
        self._pending: list[pa.Array] = []  # the dictionaries of the last parts
        self._waiting = 0

    def add(self, values: pa.Array) -> None:
        """Take in the next records."""
        if pa.types.is_null(values.type):
            values = values.cast(pa.string())
        encoded = values if pa.types.is_dictionary(values.type) else long_decimals(values).dictionary_encode()
        self._pending.append(encoded.dictionary)
        self._waiting += len(encoded.dictionary)
        self._parts.append(_small(encoded))
        if self._waiting > _PENDING:
            self._join()

    def values(self) -> StoredValues:
        """All values that were taken in. The parts are given up: nothing can be added afterwards."""
        self._join()
        dictionary = pa.array([], pa.string()) if self._known is None else self._known
        codes = np.empty(sum(map(len, self._parts)), dtype=smallest_type(len(dictionary) + 1))
        place = 0
        self._parts.reverse()
        while self._parts:
            part = self._parts.pop()
            own = codes[place : place + len(part)]
            np.subtract(part, 1, out=own, casting="unsafe")
            own[part == 0] = len(dictionary)
            place += len(part)
        return StoredValues(codes, dictionary, self.ordered)

    def _join(self) -> None:
        """Join the dictionaries of the pending parts to the known values, and number the parts by these."""
        if not self._pending:
            return
        known = [] if self._known is None else [self._known]
        dictionaries = [*known, *self._pending]
        joined = pa.concat_arrays([d.cast(dictionaries[0].type) for d in dictionaries]).dictionary_encode()
        number = pc.fill_null(pc.add(joined.indices.cast(pa.int64()), 1), 0).to_numpy(zero_copy_only=False)
        place = len(known[0]) if known else 0
        kind = smallest_type(len(joined.dictionary) + 1)
        first = len(self._parts) - len(self._pending)
        for which, dictionary in enumerate(self._pending, start=first):
            own = number[place : place + len(dictionary)]
            self._parts[which] = np.concatenate([[0], own]).astype(kind)[self._parts[which]]
            place += len(dictionary)
        self._known, self._pending, self._waiting = joined.dictionary, [], 0


def _small(encoded: pa.DictionaryArray) -> np.ndarray:
    """The codes of a dictionary, plus 1, in few bytes; 0 where the value is missing."""
    kind = smallest_type(len(encoded.dictionary) + 1)
    indices = encoded.indices
    if indices.null_count:
        indices = pc.fill_null(indices.cast(pa.int64()), -1)
    return (indices.to_numpy(zero_copy_only=False).astype(np.int32) + 1).astype(kind)
