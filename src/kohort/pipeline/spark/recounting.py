"""The people of a published table on a cluster, counted once more: by other means than before the search."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from kohort.data.compact_column import CountedColumn
from kohort.engines.spark.coding import PERSON, counted_values
from kohort.engines.spark.failures import spark_failures
from kohort.engines.spark.values import quoted
from kohort.errors import InputError
from kohort.problem.sensitive import SensitiveAttribute


def recounted_people(
    published: Any, sensitive: Mapping[str, SensitiveAttribute]
) -> dict[str, dict[int, Fraction]]:
    """The share of people that has each value, per column; InputError unless it is as counted before.

    published  the records, with their persons
    """
    recounted = {}
    for attribute in sensitive.values():
        if attribute.overall is None:
            continue
        found = _shares(published, counted_values(attribute))
        total = int(attribute.overall.sum())
        compared = {code: Fraction(int(n), total) for code, n in enumerate(attribute.overall) if n}
        recounted[attribute.column.name] = found
        if found != compared:
            raise InputError(
                "The table changed while it was read: other people have the values of "
                f"{attribute.column.name!r}. Nothing was written. Run this again on a source that gives the "
                "same records at every reading."
            )
    return recounted


def _shares(published: Any, column: CountedColumn) -> dict[int, Fraction]:
    """The share of all people that has each value, everybody spread evenly over their records.

    People with as many records are added up first, so that what comes here does not grow with their number.
    """
    import pyspark.sql.functions as F

    value = F.col(quoted(column.name)).alias("value")
    with spark_failures(f"count the people of {column.name!r}"):
        times = published.groupBy(PERSON).agg(F.count("*").alias("times"))
        n_people = times.count()
        joined = published.select(PERSON, value).join(times, PERSON)
        found = joined.groupBy("value", "times").agg(F.count("*").alias("n")).toArrow()
    shares: dict[int, Fraction] = {}
    codes = column.codes_of(found.column("value")).tolist()
    for code, n, of in zip(codes, found.column("n").to_pylist(), found.column("times").to_pylist()):
        shares[code] = shares.get(code, Fraction(0)) + Fraction(n, of * n_people)
    return shares
