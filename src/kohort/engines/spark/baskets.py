"""Baskets on a cluster: lines or arrays, the items that they have, and the different ones, counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.basket_cells import joined, split_texts
from kohort.data.baskets import Baskets, code_baskets
from kohort.data.counted_column import CountedColumn, PartColumn, counted_column
from kohort.engines.spark.failures import spark_failures
from kohort.engines.spark.source import ROW, SparkSource, source_of_lines
from kohort.engines.spark.values import MOST_VALUES, quoted
from kohort.engines.spark.workers import larger_batches, one_thread
from kohort.errors import InputError, UnsupportedError

__all__ = ["DistinctBaskets", "as_lines", "count_items", "distinct_baskets", "gather_baskets", "line_source"]

MOST_BASKETS, MOST_ITEMS = 5_000_000, 50_000_000
"""Different baskets, and items in them, that the driver holds."""

Batches = Iterator[pa.RecordBatch]
_DISTINCT = "basket binary, first long, n long, repeated long"


def line_source(spark: Any, path: str, column: str, separator: str) -> SparkSource:
    """The baskets of text files, one on each line, as a column of lists."""
    lines = source_of_lines(spark, path)

    def split(batches: Batches) -> Batches:
        for batch in batches:
            texts = pc.replace_substring_regex(batch.column("value"), "^\ufeff", "")
            yield pa.RecordBatch.from_arrays(
                [split_texts(texts, separator), batch.column(ROW)], [column, ROW]
            )

    with spark_failures(f"read {path}"):
        frame = lines.frame.mapInArrow(split, f"{quoted(column)} array<string>, {ROW} long")
    schema = pa.schema([(column, pa.list_(pa.string()))])
    return SparkSource(frame, (column,), schema, lines.held, lines.files)


def as_lines(frame: Any, column: str, separator: str) -> Any:
    """A dataframe of texts, `value`, each with the items of a basket."""

    def join(batches: Batches) -> Batches:
        for batch in batches:
            texts = pc.fill_null(joined(batch.column(0), separator), "")
            yield pa.RecordBatch.from_arrays([texts], ["value"])

    return frame.select(quoted(column)).mapInArrow(join, "value string")


def count_items(frame: Any, column: str) -> CountedColumn:
    """The different items of a column of lists, and how many records have each."""
    import pyspark.sql.functions as F

    kind = dict(frame.dtypes)[column]
    if not kind.startswith("array<"):
        raise InputError(
            f"Column {column!r} has the role items, but does not hold arrays. Split its texts first, such as "
            "with pyspark.sql.functions.split."
        )
    with spark_failures(f"count the items of {column!r}"):
        every = frame.select(F.explode(F.array_distinct(F.col(quoted(column)))).alias("item"))
        found = every.groupBy("item").count().limit(MOST_VALUES + 1).toArrow()
    if len(found) > MOST_VALUES:
        raise UnsupportedError(f"Column {column!r} has more than {MOST_VALUES:,} different items.")
    values, times = found.column("item").combine_chunks(), found.column("count").to_numpy()
    values = pa.concat_arrays(values.chunks) if isinstance(values, pa.ChunkedArray) else values
    if values.null_count:
        raise InputError(f"Column {column!r}: some items in its lists are missing. Remove them.")
    return counted_column(column, values, times)


def gather_baskets(frame: Any, items: CountedColumn) -> Any:
    """A dataframe of the different baskets: their codes, a first record, and how many records have them.

    frame  with a column of lists named as that of the items, and the numbers of the records
    """
    import pyspark.sql.functions as F

    def distinct(batches: Batches) -> Batches:
        one_thread()
        for batch in larger_batches(batches):
            yield from _counted(batch.column(0), batch.column(1), items)

    coded = frame.select(quoted(items.name), ROW).mapInArrow(distinct, _DISTINCT).groupBy("basket")
    sums = (F.min("first").alias("first"), F.sum("n").alias("n"), F.sum("repeated").alias("repeated"))
    return coded.agg(*sums)


def _counted(lists: pa.Array, numbers: pa.Array, items: CountedColumn) -> Batches:
    """The different baskets among some records; a missing list is null."""
    baskets = code_baskets(items.name, lists, known=items)
    ends = (4 * baskets.offsets).astype(np.int32)
    present = pa.array(~baskets.missing).buffers()[1]
    codes = pa.py_buffer(np.ascontiguousarray(baskets.items.codes, dtype=np.int32))
    keys = pa.Array.from_buffers(pa.binary(), len(baskets), [present, pa.py_buffer(ends), codes])
    table = pa.table({"basket": keys, "row": numbers}).group_by("basket", use_threads=False)
    found = table.aggregate([("row", "min"), ("row", "count")])
    repeated = np.zeros(len(found), dtype=np.int64)
    repeated[:1] = baskets.repeated
    columns = [found.column(name) for name in ("basket", "row_min", "row_count")]
    yield from pa.table([*columns, pa.array(repeated)], ["basket", "first", "n", "repeated"]).to_batches()


@dataclass(frozen=True, eq=False)
class DistinctBaskets:
    """The different baskets of a table, in the order in which they come first, and how often each occurs."""

    baskets: Baskets
    times: np.ndarray


def distinct_baskets(gathered: Any, items: CountedColumn) -> DistinctBaskets:
    """What was gathered, on the driver; refused where it does not fit."""
    import pyspark.sql.functions as F

    with spark_failures("gather the baskets"):
        n, size = gathered.agg(F.count(F.lit(1)), F.sum(F.length("basket"))).collect()[0]
    if n > MOST_BASKETS or (size or 0) > 4 * MOST_ITEMS:
        raise UnsupportedError(
            f"The table has {n:,} different baskets with {(size or 0) // 4:,} items: too many for the "
            f"search, which holds them on the driver (up to {MOST_BASKETS:,} baskets with {MOST_ITEMS:,} "
            "items). Put rare items into groups first, or leave out the longest baskets."
        )
    with spark_failures("gather the baskets"):
        found = gathered.toArrow().sort_by("first")
    cells = [basket or b"" for basket in found.column("basket").to_pylist()]
    codes = np.frombuffer(b"".join(cells), dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(cell) // 4 for cell in cells])]).astype(np.int64)
    missing = found.column("basket").is_null().to_numpy()
    repeated = int(found.column("repeated").to_numpy().sum())
    times = found.column("n").to_numpy()
    counted = np.bincount(codes, np.repeat(times, np.diff(offsets)), len(items.texts)).astype(np.int64)
    shared = items.texts, items.numbers, items.listed, items.apart
    column = PartColumn(items.name, items.kind, codes, *shared, counted)
    return DistinctBaskets(Baskets(items.name, column, offsets, missing, repeated), times)
