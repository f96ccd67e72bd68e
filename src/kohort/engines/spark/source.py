"""A table that Spark reads: its records with numbers that do not depend on partitions or executors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa

from kohort.engines.spark.failures import give_up, spark_failures
from kohort.engines.spark.input_files import InputFiles
from kohort.errors import InputError, did_you_mean

ROW = "_kohort_row"
_RUN = "_kohort_run"
FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".orc": "orc",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
}
_TEXT = {"header": True, "inferSchema": False, "escape": '"', "multiLine": True, "mode": "FAILFAST"}


@dataclass(frozen=True, eq=False)
class SparkSource:
    """The records of a table on a cluster.

    frame     with a column ROW: the number of each record, from 0 on
    names     the columns of the table
    schema    their types in Arrow
    held      what Spark holds of it, to be given up at the end; None where it is read again
    files     the files that it is read from, as they are when it is opened; None of a dataframe
    """

    frame: Any
    names: tuple[str, ...]
    schema: pa.Schema
    held: Any = None
    files: InputFiles | None = None

    def release(self) -> None:
        """Let Spark give up what it holds."""
        if self.held is not None:
            give_up(self.held)


def format_of_path(path: str) -> tuple[str, dict[str, Any]]:
    """The format of a path and the options to read and write it; a folder without an ending is Parquet."""
    suffixes = [s.lower() for s in PurePosixPath(path.rstrip("/")).suffixes]
    ending = next((s for s in reversed(suffixes) if s not in (".gz", ".bz2", ".zst", ".snappy")), ".parquet")
    if ending not in FORMATS:
        raise InputError(
            f"Spark does not read or write files that end in {ending!r}. {did_you_mean(ending, FORMATS)}"
        )
    options = dict(_TEXT) if FORMATS[ending] == "csv" else {}
    return FORMATS[ending], options | ({"sep": "\t"} if ending == ".tsv" else {})


def source_of_path(spark: Any, path: str) -> SparkSource:
    """The table at a path that Spark reads: a file, or a folder of files.

    Records are numbered in the order of the files' names, and then as they are in the files.
    """
    kind, options = format_of_path(path)
    with spark_failures(f"read {path}"):
        frame = spark.read.format(kind).options(**options).load(path)
        _refuse_names(frame.columns)
        files = InputFiles.at(spark, path)
        if kind == "parquet":
            return replace(_numbered_by_files(spark, frame), files=files)
        return replace(_numbered_by_runs(spark, frame, "_metadata.file_path"), files=files)


def source_of_frame(frame: Any, order_by: Sequence[str] = ()) -> SparkSource:
    """A dataframe of Spark's, sorted: its records have no order of their own.

    order_by  the columns to sort by first; then by all others that can be sorted
    """
    _refuse_names(frame.columns)
    for name in order_by:
        if name not in frame.columns:
            raise InputError(f"The table has no column {name!r}. {did_you_mean(name, frame.columns)}")
    others = [f.name for f in frame.schema.fields if f.name not in order_by and _sortable(f.dataType)]
    keys = [_quoted(name) for name in (*order_by, *others)]
    with spark_failures("sort the table"):
        return _numbered_by_runs(frame.sparkSession, frame.sort(*keys) if keys else frame, None)


def _refuse_names(names: Sequence[str]) -> None:
    lower = [name.lower() for name in names]
    if twice := sorted({name for name in lower if lower.count(name) > 1}):
        raise InputError(f"Some column names are used more than once: {', '.join(map(repr, twice))}.")
    if own := [name for name in names if name.startswith("_kohort_")]:
        raise InputError(f"Column {own[0]!r} has a name that Kohort uses itself. Rename it.")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _sortable(kind: Any) -> bool:
    return kind.typeName() not in ("map", "variant", "calendarinterval", "interval")


def _arrow_schema(frame: Any) -> pa.Schema:
    return frame.limit(0).toArrow().schema


def _numbered_by_files(spark: Any, frame: Any) -> SparkSource:
    """Parquet files say where in them a record is: it can be read again and again, by anybody."""
    import pyspark.sql.functions as F

    schema = _arrow_schema(frame)
    located = frame.select(
        "*", F.col("_metadata.file_path").alias(_RUN), F.col("_metadata.row_index").alias(ROW)
    )
    counted = sorted((row[_RUN], row["count"]) for row in located.groupBy(_RUN).count().collect())
    firsts, first = [], 0
    for path, n in counted:
        firsts.append((path, first))
        first += n
    if not firsts:
        raise InputError("The table has no records: there is nothing to anonymize.")
    starts = spark.createDataFrame(firsts, [_RUN, "_kohort_first"])
    joined = located.join(F.broadcast(starts), _RUN)
    number = (F.col("_kohort_first") + F.col(ROW)).alias(ROW)
    return SparkSource(joined.select(*map(_quoted, frame.columns), number), tuple(frame.columns), schema)


def _numbered_by_runs(spark: Any, frame: Any, key: str | None) -> SparkSource:
    """Other sources are read once, and held by Spark: each partition is a run of records, in order.

    key  a column that says where a run of records comes from; runs are in its order, and then as they came
    """
    import pyspark.sql.functions as F
    from pyspark import StorageLevel

    schema = _arrow_schema(frame)
    place = F.monotonically_increasing_id()
    run = F.lit("") if key is None else F.col(key)
    held = frame.select("*", run.alias(_RUN), place.alias(ROW)).persist(StorageLevel.MEMORY_AND_DISK)
    runs = held.groupBy(_RUN, F.shiftright(ROW, 33).alias("_kohort_part"))
    counted = runs.agg(F.min(ROW).alias("least"), F.count(F.lit(1)).alias("n")).collect()
    firsts, first = [], 0
    for row in sorted(counted, key=lambda row: (row[_RUN], row["least"])):
        firsts.append((row[_RUN], row["_kohort_part"], first - row["least"]))
        first += row["n"]
    if not firsts:
        raise InputError("The table has no records: there is nothing to anonymize.")
    starts = spark.createDataFrame(firsts, [_RUN, "_kohort_part", "_kohort_first"])
    parts = held.withColumn("_kohort_part", F.shiftright(ROW, 33))
    joined = parts.join(F.broadcast(starts), [_RUN, "_kohort_part"])
    number = (F.col("_kohort_first") + F.col(ROW)).alias(ROW)
    found = joined.select(*map(_quoted, frame.columns), number)
    return SparkSource(found, tuple(frame.columns), schema, held)
