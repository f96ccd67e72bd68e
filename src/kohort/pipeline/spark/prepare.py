"""From a table on a cluster to a Problem: roles settled, values counted, hierarchies built on the driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kohort.data.column import code_column
from kohort.data.compact_column import CountedColumn
from kohort.data.hierarchy import Hierarchy
from kohort.engines.spark.coding import PERSON
from kohort.engines.spark.failures import spark_failures
from kohort.engines.spark.source import SparkSource
from kohort.engines.spark.values import count_people, count_values, quoted
from kohort.errors import InputError, UnsupportedError, counted
from kohort.job.columns import build_attributes, sensitive_attributes
from kohort.job.prepare import refuse_nulls, settled_roles
from kohort.pipeline.spark.people import people_of_table
from kohort.problem.attribute import Attribute
from kohort.problem.costs import cost_named
from kohort.problem.problem import Problem, refuse_many_attributes
from kohort.problem.promises import RiskLimit
from kohort.problem.roles import Roles
from kohort.problem.sensitive import SensitiveAttribute
from kohort.statement import Statement
from kohort.tables.spark import SparkTable
from kohort.treatments.identifiers import pseudonyms


@dataclass(frozen=True, eq=False)
class SparkPrepared:
    """A table on a cluster and what is asked of it.

    frame     the records, with pseudonyms instead of identifiers, their numbers, and those of their persons
    dataset   the values of quasi-identifiers and sensitive columns, counted
    person    the column that says whose record it is; None where every record is that of another person
    n_people  how many people the records are of; None likewise
    """

    frame: Any
    source: SparkSource
    dataset: SparkTable
    request: Statement
    roles: Roles
    attributes: tuple[Attribute, ...]
    sensitive: Mapping[str, SensitiveAttribute]
    problem: Problem
    person: str | None = None
    n_people: int | None = None

    @property
    def untouched(self) -> list[str]:
        """The columns that are published as they came."""
        return self.roles.untouched(self.request.treatments)

    @property
    def carried(self) -> list[str]:
        """The columns that are published as `frame` has them: also identifiers, as pseudonyms."""
        return [*self.untouched, *_pseudonym_columns(self.request)]

    @property
    def published_names(self) -> list[str]:
        """The published columns, in the order of the table."""
        dropped = set(self.roles.dropped(self.request.treatments))
        return [name for name in self.source.names if name not in dropped]

    @property
    def counted_sensitive(self) -> dict[str, CountedColumn]:
        return {name: s.column for name, s in self.sensitive.items()}  # type: ignore[misc]

    @property
    def sensitive_hierarchies(self) -> dict[str, Hierarchy]:
        return {name: s.hierarchy for name, s in self.sensitive.items() if s.hierarchy is not None}


def prepare_on_spark(source: SparkSource, request: Statement) -> SparkPrepared:
    """Prepare a table on a cluster; what a cluster cannot do is refused at once."""
    refuse_on_spark(request)
    roles = settled_roles(SparkTable(source.schema, 0, {}), request)
    quasi_identifiers = roles.having("quasi-identifier")
    refuse_many_attributes(len(quasi_identifiers))
    frame, person, n_people = _with_people(source, request, roles)
    dataset = count_values(source, [*quasi_identifiers, *roles.having("sensitive")])
    if n_people == dataset.n_records:
        person = n_people = None
    refuse_nulls([dataset], request, roles)
    sensitive, elsewhere = sensitive_attributes(dataset, request, roles, None), None
    if n_people is not None:
        sensitive, elsewhere = people_of_table(frame, sensitive, request.table_models, n_people)
    attributes = build_attributes(dataset, request, roles)
    problem = Problem(
        attributes=attributes,
        models=request.table_models,
        cost=cost_named(request.cost),
        sensitive=sensitive,
        suppression=request.suppression,
        seed=request.seed,
        elsewhere=elsewhere,
    )
    frame = _with_pseudonyms(frame, request, source.schema)
    return SparkPrepared(
        frame, source, dataset, request, roles, attributes, sensitive, problem, person, n_people
    )


def refuse_on_spark(request: Statement) -> None:
    """Refuse what the Spark engine does not do, with what to do instead. Best called before long work."""
    if request.roles.having("items") or request.items is not None:
        raise UnsupportedError(
            "The Spark engine does not support sets of items: all different sets are searched together, in "
            "one place. Use engine: local."
        )
    reason = None
    if request.events is not None:
        reason = "a table of events beside that of people"
    elif request.linked_by is not None or request.roles.only("household") is not None:
        reason = "linked records or households"
    elif request.roles.only("weight") is not None:
        reason = "weights of records"
    elif request.shuffle is False:
        reason = "the original order of the records (shuffle: false): a cluster has none"
    elif request.ledger is not None:
        reason = "a ledger"
    elif request.sample < 1:
        reason = "a sample of the records"
    elif set(request.publish.values()) - {"interval"}:
        reason = "means or medians of columns"
    for name, treatment in request.treatments.items():
        if treatment == "shift" or name in request.perturbations:
            reason = f"the treatment {treatment} of {name!r}"
    for model in request.models:
        if model.of_table or model.by_sampling or isinstance(model, RiskLimit):
            reason = f"the promise {model.name}"
    if reason is not None:
        raise UnsupportedError(
            f"The Spark engine does not support {reason}. Leave it out, or use engine: local."
        )


def _with_people(source: SparkSource, request: Statement, roles: Roles) -> tuple[Any, str | None, int | None]:
    """The records with a number for the person of each, where there is a column that says whose they are."""
    import pyspark.sql.functions as F

    name = roles.only("person")
    if name is None:
        return source.frame, None, None
    number = F.xxhash64(F.lit(request.seed), F.col(quoted(name)))
    people, missing = count_people(source.frame, name, number)
    if missing:
        raise InputError(
            f"Column {name!r} says whose record it is, and {counted(missing, 'record has', 'records have')} "
            "no value there. Fill them in, or leave these records out."
        )
    if people == 1:
        raise InputError(
            f"Column {name!r} says whose record it is, and all records are of one person. Name the column "
            "that tells people apart."
        )
    return source.frame.withColumn(PERSON, number), name, people


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
