"""From a table on a cluster to a Problem: what every table goes through, and people and pseudonyms there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import pyarrow as pa

from kohort.data.column import code_column
from kohort.errors import UnsupportedError
from kohort.job.prepare import Prepared, prepare
from kohort.pipeline.spark.people import people_of_table, with_people
from kohort.problem.promises import RiskLimit
from kohort.statement import Statement
from kohort.tables.spark import SparkTable
from kohort.tables.spark_session import spark_failures
from kohort.treatments.identifiers import pseudonyms


@dataclass(frozen=True, eq=False)
class SparkPrepared(Prepared):
    """A table on a cluster and what is asked of it.

    dataset the values of quasi-identifiers and sensitive columns are counted, once each
    frame   the records, with pseudonyms instead of identifiers, their numbers, and those of their persons
    person  the column that says whose record it is; None where every record is that of another person
    """

    dataset: SparkTable
    frame: Any = None
    person: str | None = None

    @property
    def carried(self) -> list[str]:
        """The columns that are published as `frame` has them: also identifiers, as pseudonyms."""
        return [*self.untouched, *_pseudonym_columns(self.request)]

    @property
    def published_names(self) -> list[str]:
        """The published columns, in the order of the table."""
        dropped = set(self.roles.dropped(self.request.treatments))
        return [name for name in self.dataset.names if name not in dropped]

    @property
    def masked(self) -> list[str]:
        """The columns that are published as a mask."""
        return [name for name, how in self.request.treatments.items() if how == "mask"]


def prepare_on_spark(table: SparkTable, request: Statement) -> SparkPrepared:
    """Prepare a table on a cluster; what a cluster cannot do is refused at once."""
    refuse_on_spark(request)
    plain = prepare(table, request)
    found = SparkPrepared(**{field.name: getattr(plain, field.name) for field in fields(plain)})
    frame, person, n_people = table.records, plain.roles.only("person"), None
    if person is not None:
        frame, n_people = with_people(frame, person, request.seed)
    if n_people is not None and n_people < table.n_records:
        units = people_of_table(frame, plain.sensitive, request.table_models, n_people)
        sensitive = {name: replace(s, units=units) for name, s in plain.sensitive.items()}
        found = replace(found, person=person, sensitive=sensitive, units=units)
    return replace(found, frame=_with_pseudonyms(frame, request, table.schema))


def refuse_on_spark(request: Statement) -> None:
    """Refuse what the Spark engine does not do, with what to do instead. Best called before long work."""
    if request.roles.having("items") or request.items is not None:
        raise UnsupportedError(
            "The Spark engine does not support sets of items: all different sets are searched together, in "
            "one place. Use engine: local."
        )
    for reason in _not_there(request):
        raise UnsupportedError(
            f"The Spark engine does not support {reason}. Leave it out, or use engine: local."
        )


def _not_there(request: Statement) -> Iterator[str]:
    """What is asked for that a cluster does not do, in words."""
    if request.events is not None:
        yield "a table of events beside that of people"
    if request.linked_by is not None or request.roles.only("household") is not None:
        yield "linked records or households"
    if request.roles.only("weight") is not None:
        yield "weights of records"
    if request.shuffle is False:
        yield "the original order of the records (shuffle: false): a cluster has none"
    if request.ledger is not None:
        yield "a ledger"
    if request.sample < 1:
        yield "a sample of the records"
    if set(request.publish.values()) - {"interval"}:
        yield "means or medians of columns"
    for name, treatment in request.treatments.items():
        if treatment == "shift" or name in request.perturbations:
            yield f"the treatment {treatment} of {name!r}"
    for model in request.models:
        if model.of_table or model.by_sampling or isinstance(model, RiskLimit):
            yield f"the promise {model.name}"


def _pseudonym_columns(request: Statement) -> list[str]:
    """The identifiers that are published as pseudonyms."""
    return [name for name, how in request.treatments.items() if how == "pseudonym"]


def _with_pseudonyms(frame: Any, request: Statement, schema: pa.Schema) -> Any:
    """The records with pseudonyms in the place of identifiers; workers get the key to make them."""
    from pyspark.sql.types import StringType, StructField, StructType

    names = _pseudonym_columns(request)
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
    kinds = [
        StructField(field.name, StringType() if field.name in names else field.dataType)
        for field in frame.schema.fields
    ]

    def replaced(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = dict(zip(batch.schema.names, batch.columns))
            for name, join in joins.items():
                made = pseudonyms(code_column(name, columns[name]), key, join=join)
                columns[name] = made.cast(pa.string())
            yield pa.RecordBatch.from_pydict(columns)

    joins, key = {name: request.joins.get(name) for name in names}, request.key
    with spark_failures("make pseudonyms"):
        return frame.mapInArrow(replaced, StructType(kinds))
