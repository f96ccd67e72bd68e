"""The values of columns on a cluster, counted; and a fingerprint that tells whether records changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kohort.data.column import refuse_uncodable
from kohort.data.compact_column import CountedColumn, counted_column
from kohort.engines.spark.failures import spark_failures
from kohort.engines.spark.source import SparkSource
from kohort.errors import InputError, UnsupportedError
from kohort.tables.spark import SparkTable

MOST_VALUES = 1 << 21
"""Distinct values that a column may have whose values the driver holds."""


def count_values(source: SparkSource, names: Sequence[str]) -> SparkTable:
    """The table, of which the values of some columns are counted: each by one group-by on the cluster."""
    columns: dict[str, CountedColumn] = {}
    for name in names:
        refuse_uncodable(name, source.schema.field(name).type)
        with spark_failures(f"count the values of {name!r}"):
            found = source.frame.groupBy(quoted(name)).count().limit(MOST_VALUES + 1).toArrow()
        if len(found) > MOST_VALUES:
            raise UnsupportedError(
                f"Column {name!r} has more than {MOST_VALUES:,} different values, and the driver holds those "
                "of quasi-identifiers and sensitive columns. Round or shorten them first, or give it the "
                "role identifier."
            )
        columns[name] = _counted(name, found)
    n_records = len(next(iter(columns.values())))
    for name, column in columns.items():
        if len(column) != n_records:
            raise InputError(
                f"The table changed while it was read: {n_records:,} records, and then {len(column):,} when "
                f"{name!r} was counted. Nothing was written. Run this again on a source that gives the same "
                "records at every reading."
            )
    return SparkTable(source.schema, n_records, columns)


def _counted(name: str, found: pa.Table) -> CountedColumn:
    values = found.column(0).combine_chunks()
    values = pa.concat_arrays(values.chunks) if isinstance(values, pa.ChunkedArray) else values
    return counted_column(name, values, found.column(1).to_numpy())


def count_people(frame: Any, name: str, person: Any) -> tuple[int, int]:
    """How many different people there are, and how many records have none.

    person  the column of numbers that stand for people: refused if two people had one number
    """
    import pyspark.sql.functions as F

    with spark_failures("count the people"):
        plain = F.col(quoted(name))
        blank = F.trim(plain.cast("string")) == ""
        missing = F.sum((plain.isNull() | blank).cast("long"))
        of_people = (F.count_distinct(plain), F.count_distinct(person), missing)
        people, numbers, lacking = frame.agg(*of_people).collect()[0]
    if people != numbers:
        raise InputError("Two people have one number, by an unlikely chance. Choose another seed.")
    return people, lacking


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
            digest = _digest(frame, names)
            low = digest.bitwiseAND(F.lit(0xFFFFFFFF))
            sums += [F.sum(F.shiftrightunsigned(digest, 32)), F.sum(low)]  # neither can overflow
        n_records, *halves = frame.agg(*sums).collect()[0]
    return [
        (int(n_records), ((high or 0) << 32) + (low or 0)) for high, low in zip(halves[::2], halves[1::2])
    ]


def _digest(frame: Any, columns: Sequence[str]) -> Any:
    """A hash of each record's values; two zeros of different signs are one value."""
    import pyspark.sql.functions as F

    kinds = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    hashed = [
        F.col(quoted(name)) + F.lit(0.0) if kinds[name] in ("float", "double") else F.col(quoted(name))
        for name in columns
        if kinds[name] not in ("map", "variant")
    ]
    return F.xxhash64(*hashed) if hashed else F.lit(0).cast("long")


def quoted(name: str) -> str:
    """A name as Spark takes it, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"
