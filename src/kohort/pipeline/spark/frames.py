"""The columns that go to workers and come back from them, as dataframes of Spark's need to know."""

from __future__ import annotations

from typing import Any

from kohort.engines.spark.coding import PERSON
from kohort.engines.spark.source import ROW
from kohort.pipeline.spark.prepare import SparkPrepared
from kohort.pipeline.spark.regions import ORIGINAL, REGION

__all__ = ["assigned_schema", "masked_names", "needed_columns", "published_schema"]


def masked_names(prepared: SparkPrepared) -> list[str]:
    """The columns that are published as a mask."""
    return [name for name, how in prepared.request.treatments.items() if how == "mask"]


def needed_columns(prepared: SparkPrepared) -> list[str]:
    """The columns that workers get."""
    quasi = [attribute.name for attribute in prepared.attributes]
    masked = masked_names(prepared)
    kept = [name for name in prepared.published_names if name not in masked]
    return [*dict.fromkeys([*quasi, *kept]), ROW, *([PERSON] if prepared.person is not None else [])]


def assigned_schema(records: Any) -> Any:
    """The columns of records with their regions."""
    from pyspark.sql.types import LongType, StructField, StructType

    return StructType([*records.schema.fields, StructField(REGION, LongType())])


def published_schema(prepared: SparkPrepared, records: Any) -> Any:
    """The published columns, and those that go along to be verified."""
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    kinds = {field.name: field.dataType for field in records.schema.fields}
    masked = masked_names(prepared)
    quasi = [attribute.name for attribute in prepared.attributes]
    fields = [
        StructField(name, StringType() if name in quasi or name in masked else kinds[name])
        for name in prepared.published_names
    ]
    fields += [StructField(f"{ORIGINAL}{number}", kinds[name]) for number, name in enumerate(quasi)]
    fields += [StructField(ROW, LongType())]
    return StructType([*fields, *([StructField(PERSON, LongType())] if prepared.person is not None else [])])
