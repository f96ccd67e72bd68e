"""A number for each record that depends on its values alone: the same on every machine and in every order."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

_FACTOR, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)


def hashed_rows(columns: Iterable[pa.Array], n_records: int, seed: int = 0) -> np.ndarray:
    """A number for each record, which depends on the texts of its values and the seed. Of 64 bits.

    Each different value of a column is hashed once, then the numbers of a record's values are mixed.
    """
    found = np.zeros(n_records, dtype=np.uint64)
    for column in columns:
        found = (found ^ _hashed_column(column, str(seed).encode())) * _FACTOR
        found ^= found >> _SHIFT
    return found


def _hashed_column(column: pa.Array, key: bytes) -> np.ndarray:
    if pa.types.is_nested(column.type):
        column = pa.array([repr(value) for value in column.to_pylist()], pa.string())
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    values = column.dictionary
    texts = values.to_pylist() if _is_bytes(values.type) else values.cast(pa.string()).to_pylist()
    hashed = np.array([_hash(text, key) for text in [*texts, None]], dtype=np.uint64)
    codes = column.indices
    if codes.null_count:
        codes = codes.cast(pa.int32()).fill_null(len(texts))
    return hashed[codes.to_numpy()]


def _hash(value: Any, key: bytes) -> int:
    """A hash of a text, or of bytes; a missing value has one of its own."""
    data = b"\0" if value is None else b"\1" + (value if isinstance(value, bytes) else value.encode())
    return int.from_bytes(blake2b(data, digest_size=8, key=key[:64]).digest(), "little")


def _is_bytes(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
