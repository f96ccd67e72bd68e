"""Tables that are on many machines: `anonymize` for dataframes of Spark's. Needs kohort[spark], Java."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kohort import api
from kohort.errors import InputError
from kohort.extras import missing_package
from kohort.keywords import request_of
from kohort.pipeline import Request
from kohort.pipeline.spark.prepare import refuse_on_spark
from kohort.progress import shown_progress
from kohort.release.on_spark import RECORDS_PER_REGION, SparkRelease, make_spark_release
from kohort.sources import spec_and_folder
from kohort.tables.spark import SparkTable
from kohort.tables.spark_files import source_of_frame, source_of_path
from kohort.tables.spark_session import spark_session

__all__ = ["anonymize"]

_NOT_HERE = ("data", "events", "orphans", "stop", "header", "engine", "spec", "progress")


def anonymize(
    data: Any,
    *,
    spec: str | Path | Mapping[str, Any] | None = None,
    key: bytes | None = None,
    order_by: Sequence[str] = (),
    records_per_region: int = RECORDS_PER_REGION,
    progress: Any = None,
    **options: Any,
) -> SparkRelease:
    """Publish a table on a cluster without giving anybody away; nothing is collected but counts.

    Parameters
    ----------
    data
        A dataframe of Spark's, or a path that Spark reads.
    spec
        A release spec (file or mapping) instead of the options of `kohort.anonymize`.
    key
        The secret of pseudonyms, which executors get, too.
    order_by
        Of a dataframe: the columns to sort it by first. Its records have no order of their own, so they are
        sorted by these and then by all other columns; then the release does not depend on partitions.
    records_per_region
        How many records a worker solves at a time. The classes of mondrian do not depend on it.
    progress
        As of `kohort.anonymize`.
    options
        Those of `kohort.anonymize`: quasi_identifiers, sensitive, privacy, k, and so on.

    Returns a release whose `table` is a dataframe of Spark's, and whose `write` writes it to a path.
    """
    request = _request(spec, key, options)
    refuse_on_spark(request)
    with shown_progress(progress) as report:
        source = _source(data, order_by)
        try:
            return make_spark_release(source, request, progress=report, records_per_region=records_per_region)
        except BaseException:
            source.release()
            raise


def _request(
    spec: str | Path | Mapping[str, Any] | None, key: bytes | None, options: Mapping[str, Any]
) -> Request:
    """What is asked for."""
    if spec is not None:
        if options:
            raise InputError(f"The spec says it all: leave out {', '.join(map(repr, options))}.")
        read, beside = spec_and_folder(spec)
        return read.request(beside=beside, key=key, engine="spark")
    known = inspect.signature(api.anonymize).parameters
    for name in options:
        if name not in known or name in _NOT_HERE:
            raise InputError(f"kohort.spark.anonymize has no option {name!r}.")
    given = {name: parameter.default for name, parameter in known.items()}
    return request_of({**given, **options, "key": key, "engine": "spark"}, {})


def _source(data: Any, order_by: Sequence[str]) -> SparkTable:
    if isinstance(data, (str, Path)):
        if order_by:
            raise InputError("'order_by' is for dataframes: the records of files have an order.")
        return source_of_path(spark_session(), str(data))
    try:
        from pyspark.sql import DataFrame
    except ImportError:
        raise missing_package("kohort.spark needs", "spark") from None
    if not isinstance(data, DataFrame):
        raise InputError(f"A table is a dataframe of Spark's or a path, not {type(data).__name__}.")
    return source_of_frame(data, [order_by] if isinstance(order_by, str) else list(order_by))
