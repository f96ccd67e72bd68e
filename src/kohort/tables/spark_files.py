"""A table that Spark reads: its records with numbers that do not depend on partitions or executors."""

from __future__ import annotations

import os.path
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from kohort.errors import InputError, did_you_mean
from kohort.files.checked import folder_hash
from kohort.tables.spark import ROW, SparkTable, quoted
from kohort.tables.spark_session import spark_failures

_RUN, _PART = "_kohort_run", "_kohort_part"
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


def source_of_path(spark: Any, path: str) -> SparkTable:
    """The table at a path that Spark reads: a file, or a folder of files.

    Records are numbered in the order of the files' names, and then as they are in the files.
    """
    kind, options = format_of_path(path)
    import pyspark.sql.functions as F

    with spark_failures(f"read {path}"):
        frame = spark.read.format(kind).options(**options).load(path)
        _refuse_names(frame.columns)
        files, run = InputFiles.at(spark, path), F.col("_metadata.file_path")
        if kind != "parquet":
            return _held(frame, run, files)
        # Parquet files say where in them a record is: they can be read again and again, by anybody
        return _numbered(
            frame, frame.select("*", *_place(run, F.lit(0), F.col("_metadata.row_index"))), files
        )


def source_of_frame(frame: Any, order_by: Sequence[str] = ()) -> SparkTable:
    """A dataframe of Spark's, sorted: its records have no order of their own."""
    _refuse_names(frame.columns)
    for name in order_by:
        if name not in frame.columns:
            raise InputError(f"The table has no column {name!r}. {did_you_mean(name, frame.columns)}")
    others = [
        f.name
        for f in frame.schema.fields
        if f.name not in order_by and f.dataType.typeName() not in _UNSORTED
    ]
    keys = [quoted(name) for name in (*order_by, *others)]
    import pyspark.sql.functions as F

    with spark_failures("sort the table"):
        return _held(frame.sort(*keys) if keys else frame, F.lit(""))


def _refuse_names(names: Sequence[str]) -> None:
    lower = [name.lower() for name in names]
    if twice := sorted({name for name in lower if lower.count(name) > 1}):
        raise InputError(f"Some column names are used more than once: {', '.join(map(repr, twice))}.")
    if own := [name for name in names if name.startswith("_kohort_")]:
        raise InputError(f"Column {own[0]!r} has a name that Kohort uses itself. Rename it.")


def _held(frame: Any, run: Any, files: InputFiles | None = None) -> SparkTable:
    """A table that is read once, and held by Spark: each partition is a run of records, in order.

    run  a column that says where records come from; runs are in its order, and then as they came
    """
    import pyspark.sql.functions as F
    from pyspark import StorageLevel

    number = F.monotonically_increasing_id()
    place = frame.select("*", *_place(run, F.shiftright(number, 33), number))
    held = place.persist(StorageLevel.MEMORY_AND_DISK)
    return _numbered(frame, held, files, held)


def _place(run: Any, part: Any, number: Any) -> list[Any]:
    """Columns that say where a record is: its run, the part of that, and its number among the records."""
    return [run.alias(_RUN), part.alias(_PART), number.alias(ROW)]


def _numbered(frame: Any, located: Any, files: InputFiles | None, held: Any = None) -> SparkTable:
    """The table, given the same records with their places, which become numbers from 0 on."""
    import pyspark.sql.functions as F

    counted = located.groupBy(_RUN, _PART).agg(F.min(ROW).alias("least"), F.count(F.lit(1)).alias("n"))
    firsts, first = [], 0
    for row in sorted(counted.collect(), key=lambda row: (row[_RUN], row["least"])):
        firsts.append((row[_RUN], row[_PART], first - row["least"]))
        first += row["n"]
    if not firsts:
        raise InputError("The table has no records: there is nothing to anonymize.")
    starts = frame.sparkSession.createDataFrame(firsts, [_RUN, _PART, "_kohort_first"])
    joined = located.join(F.broadcast(starts), [_RUN, _PART])
    number = (F.col("_kohort_first") + F.col(ROW)).alias(ROW)
    found = joined.select(*map(quoted, frame.columns), number)
    return SparkTable(found, frame.limit(0).toArrow().schema, first, held=held, files=files)


_UNSORTED = ("map", "variant", "calendarinterval", "interval")
_LARGE = 128 << 20  # bytes; an executor holds a smaller file as a whole to hash it


@dataclass(frozen=True, eq=False)
class InputFiles:
    """The files at a path, each with its length and when it was changed last."""

    path: str
    found: Mapping[str, tuple[int, Any]]

    @classmethod
    def at(cls, spark: Any, path: str) -> InputFiles:
        """The files that Spark reads at a path; their contents are not read."""
        rows = _binary(spark, path).select("path", "length", "modificationTime").collect()
        return cls(path, {row["path"]: (row["length"], row["modificationTime"]) for row in rows})

    def sha256(self, spark: Any) -> str:
        """The SHA-256 of the file or, of several, of what `sha256sum` prints for them in their folder.

        Executors hash files of up to 128 MB each; larger ones go through the driver, a piece at a time.
        Raises InputError where a file is another one than when the table was opened.
        """
        import pyspark.sql.functions as F

        with spark_failures("hash the original"):
            self._refuse_changed(spark)
            small = _binary(spark, self.path).filter(F.col("length") <= _LARGE)
            rows = small.select("path", F.sha2("content", 256).alias("sha256")).collect()
            hashes = {row["path"]: row["sha256"] for row in rows} | self._large(spark)
            self._refuse_changed(spark)
        if len(hashes) == 1:
            return next(iter(hashes.values()))
        folder = os.path.commonpath([str(PurePosixPath(path).parent) for path in hashes])
        names = {path: os.path.relpath(PurePosixPath(path), folder) for path in hashes}
        return folder_hash({names[path]: found for path, found in hashes.items()})

    def _refuse_changed(self, spark: Any) -> None:
        if InputFiles.at(spark, self.path).found != self.found:
            raise InputError(
                f"The files of {self.path} changed while they were read. Nothing was written. Run this again "
                "when nobody writes to them."
            )

    def _large(self, spark: Any) -> dict[str, str]:
        """The hashes of large files, which the driver's JVM reads as streams."""
        context, found = spark.sparkContext, {}
        for path in [path for path, (length, _) in self.found.items() if length > _LARGE]:
            place = context._jvm.org.apache.hadoop.fs.Path(path)
            stream = place.getFileSystem(context._jsc.hadoopConfiguration()).open(place)
            try:
                found[path] = context._jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream)
            finally:
                stream.close()
        return found


def _binary(spark: Any, path: str) -> Any:
    return spark.read.format("binaryFile").load(path)
