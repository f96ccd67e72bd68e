"""The columns of published records, as dataframes of Spark's need to know them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kohort.engines.spark.coding import ORIGINAL, PERSON
from kohort.engines.spark.source import ROW
from kohort.pipeline.spark.prepare import SparkPrepared


def masked_names(prepared: SparkPrepared) -> list[str]:
    """The columns that are published as a mask."""
    return [name for name, how in prepared.request.treatments.items() if how == "mask"]


def published_schema(prepared: SparkPrepared, names: Sequence[str]) -> Any:
    """The types of published columns, and of those that go along to be verified."""
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    kinds = {field.name: field.dataType for field in prepared.frame.schema.fields}
    quasi = [attribute.name for attribute in prepared.attributes]
    kinds |= {f"{ORIGINAL}{number}": kinds[name] for number, name in enumerate(quasi)}
    kinds |= {name: StringType() for name in [*quasi, *masked_names(prepared)]}
    kinds |= {PERSON: LongType(), ROW: LongType()}
    return StructType([StructField(name, kinds[name]) for name in names])
