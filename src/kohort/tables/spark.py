"""Many records in one cell of a dataframe of Spark's: Arrow tables as bytes, which Spark moves as they are.

Spark handles a row at a time; with some ten thousand records in a row, that costs next to nothing.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from kohort.data.arrow_values import is_bytes, value_type
from kohort.data.column import Column, refuse_uncodable
from kohort.data.compact_column import CountedColumn, counted_column, smallest_type
from kohort.errors import InputError, InternalError, UnsupportedError
from kohort.tables.source import RECORDS_PER_REGION
from kohort.tables.spark_session import give_up, spark_failures
from kohort.tables.table import Table

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
    if len(values) > 4 * len(places):
        found, codes = np.unique(places, return_inverse=True)
    else:
        present = np.zeros(len(values), dtype=bool)
        present[places] = True
        found, codes = np.flatnonzero(present), (np.cumsum(present) - 1)[places]
    values = values.take(pa.array(found))
    known = values.is_valid().to_numpy(zero_copy_only=False)
    kind = smallest_type(len(values))
    if known.all():
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(kind)), values)
    number = (np.cumsum(known) - 1).clip(0).astype(kind)
    return pa.DictionaryArray.from_arrays(pa.array(number[codes], mask=~known[codes]), values.drop_null())


def compact_dictionary(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """The same values with a dictionary of those alone that occur."""
    n_values = len(column.dictionary)
    if not column.indices.null_count:
        return dictionary_of_places(column.indices.to_numpy(), column.dictionary)
    places = column.indices.cast(pa.int32()).fill_null(n_values).to_numpy()
    return dictionary_of_places(
        places, pa.concat_arrays([column.dictionary, pa.nulls(1, column.dictionary.type)])
    )


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
    texts = values.to_pylist() if is_bytes(values.type) else values.cast(pa.string()).to_pylist()
    hashed = np.array([_hash(text, key) for text in [*texts, None]], dtype=np.uint64)
    codes = column.indices
    if codes.null_count:
        codes = codes.cast(pa.int32()).fill_null(len(texts))
    return hashed[codes.to_numpy()]


def _hash(value: Any, key: bytes) -> int:
    data = b"\0" if value is None else b"\1" + (value if isinstance(value, bytes) else value.encode())
    return int.from_bytes(blake2b(data, digest_size=8, key=key[:64]).digest(), "little")


def one_thread() -> None:
    """Let compiled code on a worker run in one thread, unless NUMBA_NUM_THREADS says otherwise.

    It is called before the first call of such code.
    """
    if "numba" not in sys.modules:
        os.environ.setdefault("NUMBA_NUM_THREADS", "1")


ROW = "_kohort_row"
CELL = "found binary"
MOST_VALUES = 1 << 21
"""Distinct values that a column may have whose values the driver holds."""

_UNITED_AT_ONCE = 16  # counts of parts that are united by one worker
T = TypeVar("T")
Batches = Iterator[pa.RecordBatch]


class SparkTable(Table):
    """A table whose records Spark reads. The values of a column are counted once somebody asks for it.

    records a dataframe with a column ROW: the number of each record, from 0 on
    held   what Spark holds of it, to be given up at the end; None where it is read again
    files  the files that it is read from, as they are when it is opened; None of a dataframe
    records_per_region  a region with at most as many records is solved by one worker
    """

    in_one_place = False
    records_per_region = RECORDS_PER_REGION

    def __init__(
        self, records: Any, schema: pa.Schema, n_records: int, *, held: Any = None, files: Any = None
    ) -> None:
        self.records = records
        self.schema = schema
        self.names = tuple(schema.names)
        self.n_records = n_records
        self.held, self.files = held, files

    def field(self, name: str) -> pa.Field:
        return self.schema.field(name)

    def arrow(self, name: str) -> pa.ChunkedArray:
        raise InternalError(f"The records of column {name!r} are on the cluster. Please report this.")

    def _coded(self, name: str) -> Column:
        refuse_uncodable(name, self.field(name).type)
        column = counted_there(
            self.records,
            name,
            "and the driver holds those of quasi-identifiers and sensitive columns. Round or shorten them "
            "first, or give it the role identifier.",
        )
        if len(column) != self.n_records:
            raise InputError(
                f"The table changed while it was read: {self.n_records:,} records, and then "
                f"{len(column):,} when {name!r} was counted. Nothing was written. Run this again on a source "
                "that gives the same records at every reading."
            )
        return column

    def sha256(self) -> str | None:
        return None if self.files is None else self.files.sha256(self.records.sparkSession)

    def release(self) -> None:
        """Let Spark give up what it holds."""
        if self.held is not None:
            give_up(self.held)


def counted_there(frame: Any, name: str, too_many: str) -> CountedColumn:
    """A column of which the distinct values are at hand, counted by one group-by; refused for `too_many`."""
    with spark_failures(f"count the values of {name!r}"):
        found = frame.groupBy(quoted(name)).count().limit(MOST_VALUES + 1).toArrow()
    if len(found) > MOST_VALUES:
        raise UnsupportedError(f"Column {name!r} has more than {MOST_VALUES:,} different values, {too_many}")
    values = found.column(0).combine_chunks()
    values = pa.concat_arrays(values.chunks) if isinstance(values, pa.ChunkedArray) else values
    return counted_column(name, values, found.column(1).to_numpy())


def quoted(name: str) -> str:
    """A name as Spark takes it, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True, eq=False)
class SparkParts:
    """A published table on a cluster, in parts of whole classes; each is one cell, as `packed` makes it.

    held     a dataframe of the numbers of parts and of these cells, which Spark holds
    names    the published columns
    hidden   those that go along with them: numbers of records and people, and original values
    kinds    the type of every column, as Spark takes it
    digests  what tells each part that was verified from any other
    """

    held: Any
    names: Sequence[str]
    hidden: Sequence[str]
    kinds: Mapping[str, Any]
    digests: Mapping[int, bytes]

    def map(self, make: Callable[[pa.Table], Iterator[pa.RecordBatch]], schema: Any) -> Any:
        """A dataframe of what workers make of each part."""
        digests = self.digests

        def made(batches: Batches) -> Batches:
            one_thread()
            for table in _verified_tables(batches, digests):
                yield from make(table)

        return self.held.select("part", "packed").mapInArrow(made, schema)

    def frame(self, *, hidden: bool = False) -> Any:
        """The published records as a dataframe; `hidden` columns go along where they are asked for."""
        from pyspark.sql.types import StructField, StructType

        names = [*self.names, *(self.hidden if hidden else [])]

        def opened(table: pa.Table) -> Batches:
            columns = map(table.column, names)
            plain = [column.cast(value_type(column.type)) for column in columns]
            yield from pa.table(plain, names=names).to_batches(max_chunksize=1 << 16)

        with spark_failures("look at the release"):
            return self.map(opened, StructType([StructField(name, self.kinds[name]) for name in names]))


def digest_of(data: Any) -> bytes:
    """What tells a part from any other."""
    return blake2b(data, digest_size=16).digest()


def _verified_tables(batches: Batches, digests: Mapping[int, bytes]) -> Iterator[pa.Table]:
    """The records of parts; one that was lost, and is not what was verified when made again, is refused."""
    for batch in batches:
        for part, data in zip(batch.column("part"), batch.column("packed")):
            if digest_of(data.as_buffer()) != digests.get(part.as_py()):
                raise InputError(
                    "A part of the release was lost with an executor, and came out otherwise when it was "
                    "made again. Nothing was written. Run this again, without a time limit if it recurs."
                )
            yield unpacked(data.as_buffer())


def cell(found: Any) -> pa.RecordBatch:
    """What was found, as a row of CELL."""
    return pa.RecordBatch.from_pydict({"found": pa.array([pickle.dumps(found, protocol=5)], pa.binary())})


def united(found: Any, n_parts: int, unite: Callable[[Sequence[T]], T]) -> T:
    """What was found in all parts, given a dataframe of cells; that of many is united by workers first."""

    def together(batches: Batches) -> Batches:
        if parts := _unpickled(batches):
            yield cell(unite(parts))

    if n_parts > _UNITED_AT_ONCE:
        found = found.repartition(-(-n_parts // _UNITED_AT_ONCE)).mapInArrow(together, CELL)
    return unite(_unpickled(found.toArrow().to_batches()))


def _unpickled(batches: Iterator[pa.RecordBatch] | Sequence[pa.RecordBatch]) -> list[Any]:
    return [pickle.loads(row.as_buffer()) for batch in batches for row in batch.column("found")]


def fingerprint(frame: Any, columns: Sequence[str]) -> tuple[int, int]:
    """How many records there are, and a sum over all of them that depends on all values of these columns.

    The sum is the same in any order of the records; another value anywhere changes it.
    """
    return fingerprints(frame, columns)[0]


def fingerprints(frame: Any, *columns: Sequence[str]) -> list[tuple[int, int]]:
    """The fingerprints of several choices of columns, in one pass."""
    import pyspark.sql.functions as F

    with spark_failures("compare the records"):
        sums = [F.count(F.lit(1))]
        for names in columns:
            digest = hash_of_values(frame, names)
            low = digest.bitwiseAND(F.lit(0xFFFFFFFF))
            sums += [F.sum(F.shiftrightunsigned(digest, 32)), F.sum(low)]  # neither can overflow
        n_records, *halves = frame.agg(*sums).collect()[0]
    return [
        (int(n_records), ((high or 0) << 32) + (low or 0)) for high, low in zip(halves[::2], halves[1::2])
    ]


def hash_of_values(frame: Any, columns: Sequence[str]) -> Any:
    """A hash of each record's values; two zeros of different signs are one value."""
    import pyspark.sql.functions as F

    kinds = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    hashed = [
        F.col(quoted(name)) + F.lit(0.0) if kinds[name] in ("float", "double") else F.col(quoted(name))
        for name in columns
        if kinds[name] not in ("map", "variant")
    ]
    return F.xxhash64(*hashed) if hashed else F.lit(0).cast("long")
