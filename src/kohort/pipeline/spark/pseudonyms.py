"""Keyed pseudonyms of identifiers on a cluster: row by row, as on one machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from kohort.data.column import code_column
from kohort.engines.spark.failures import spark_failures
from kohort.errors import UnsupportedError
from kohort.pipeline.identifiers import pseudonyms
from kohort.pipeline.request import Request

__all__ = ["pseudonym_columns", "with_pseudonyms"]


def pseudonym_columns(request: Request) -> list[str]:
    """The identifiers that are published as pseudonyms."""
    return [name for name, how in request.treatments.items() if how == "pseudonym"]


def with_pseudonyms(frame: Any, request: Request, schema: pa.Schema) -> Any:
    """The records with pseudonyms in the place of identifiers; workers get the key to make them."""
    from pyspark.sql.types import StringType, StructField, StructType

    names = pseudonym_columns(request)
    if not names:
        return frame
    for name in names:
        pseudonyms(code_column(name, pa.array([], pa.string())), request.key)  # refused without a key
        kind = schema.field(name).type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)):
            raise UnsupportedError(
                f"The Spark engine makes pseudonyms of texts and whole numbers, and {name!r} is {kind}. Cast "
                "it first, or use engine: local."
            )
    fields = [
        StructField(field.name, StringType() if field.name in names else field.dataType)
        for field in frame.schema.fields
    ]
    joins = {name: request.joins.get(name) for name in names}
    with spark_failures("make pseudonyms"):
        return frame.mapInArrow(_replacing(joins, request.key), StructType(fields))


def _replacing(joins: Mapping[str, str | None], key: bytes | None) -> Any:
    def replaced(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = dict(zip(batch.schema.names, batch.columns))
            for name, join in joins.items():
                made = pseudonyms(code_column(name, columns[name]), key, join=join)
                columns[name] = made.cast(pa.string())
            yield pa.RecordBatch.from_pydict(columns)

    return replaced
