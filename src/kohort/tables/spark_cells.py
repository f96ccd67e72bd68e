"""Many records in one cell of a dataframe of Spark's: Arrow tables as bytes, which Spark moves as they are.

Spark handles a row at a time; with some ten thousand records in a row, that costs next to nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.compact_column import smallest_type

_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


def packed(table: pa.Table) -> bytes:
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_COMPRESSED) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def unpacked(data: Any) -> pa.Table:
    """The table that was packed."""
    return pa.ipc.open_stream(data).read_all()


def joined_tables(tables: list[pa.Table]) -> pa.Table:
    """Tables one after the other, each column in one piece and with one dictionary."""
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def sorted_by(keys: np.ndarray, n_keys: int) -> tuple[np.ndarray, np.ndarray]:
    """The places of records in the order of their keys, and where each key starts, and the end. Stable."""
    small = keys.astype(np.uint16) if n_keys <= 1 << 16 else keys  # numpy sorts small numbers much faster
    order = np.argsort(small, kind="stable")
    return order, np.searchsorted(small[order], np.arange(n_keys + 1))


def dictionary_of_places(places: np.ndarray, values: pa.Array) -> pa.DictionaryArray:
    """The values at these places, with a dictionary of those alone that occur; a missing one is null."""
    found, codes = _numbered(places, len(values))
    return _dictionary(codes, values.take(pa.array(found)))


def compact_dictionary(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """The same values with a dictionary of those alone that occur."""
    n_values = len(column.dictionary)
    if not column.indices.null_count:
        return dictionary_of_places(column.indices.to_numpy(), column.dictionary)
    places = column.indices.cast(pa.int32()).fill_null(n_values).to_numpy()
    return dictionary_of_places(
        places, pa.concat_arrays([column.dictionary, pa.nulls(1, column.dictionary.type)])
    )


def _numbered(places: np.ndarray, n_values: int) -> tuple[np.ndarray, np.ndarray]:
    """The different places, sorted, and the number of each record's among them."""
    if n_values > 4 * len(places):
        return np.unique(places, return_inverse=True)
    present = np.zeros(n_values, dtype=bool)
    present[places] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[places]


def _dictionary(codes: np.ndarray, values: pa.Array) -> pa.DictionaryArray:
    known = values.is_valid().to_numpy(zero_copy_only=False)
    if known.all():
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(smallest_type(len(values)))), values)
    number = (np.cumsum(known) - 1).clip(0).astype(smallest_type(len(values)))
    return pa.DictionaryArray.from_arrays(pa.array(number[codes], mask=~known[codes]), values.drop_null())


def partition_keys(spark: Any, n_parts: int) -> list[int]:
    """For each of so many partitions a number that Spark deals to it and to no other one.

    `repartition` deals rows out by a hash of Spark's own: so Spark is asked for it.
    """
    import pyspark.sql.functions as F

    found: dict[int, int] = {}
    first, n_tried = 0, 8 * n_parts + 64
    while len(found) < n_parts:
        numbers = spark.range(first, first + n_tried, 1, 1)
        dealt = numbers.select("id", F.pmod(F.hash("id"), F.lit(n_parts)).alias("part")).toArrow().to_pydict()
        for key, part in zip(dealt["id"], dealt["part"]):
            found.setdefault(part, key)
        first += n_tried
    return [found[part] for part in range(n_parts)]


# Numbers for records that depend on their values alone: the same on every machine and in every order.

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


def one_thread() -> None:
    """Let compiled code on a worker run in one thread, unless NUMBA_NUM_THREADS says otherwise.

    It is called before the first call of such code.
    """
    if "numba" not in sys.modules:
        os.environ.setdefault("NUMBA_NUM_THREADS", "1")
