"""From a table on a cluster to a Problem: what every table goes through, and people and pseudonyms there.

People with several records are counted exactly: who has what is dealt out by person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.algorithms.mondrian.region_records import PeopleView, counts_of_tallies, views_of
from kohort.data.column import code_column
from kohort.errors import InputError, UnsupportedError
from kohort.job.people import refuse_missing_persons
from kohort.job.prepare import Prepared, prepare
from kohort.job.spark.records import PERSON, PERSON_CELLS, cells_batch, counted_values, tallied
from kohort.problem.promises import Model, RiskLimit
from kohort.problem.promises.exact import INT64_MAX
from kohort.problem.units import PeopleElsewhere, SensitiveAttribute
from kohort.statement import Statement
from kohort.tables.spark import SparkTable, quoted
from kohort.tables.spark_session import spark_failures
from kohort.treatments.identifiers import pseudonyms


def with_people(frame: Any, name: str, seed: int) -> tuple[Any, int]:
    """The records with a number for the person of each, in PERSON, and how many people there are.

    Refused where values of the column `name` are missing, or all are one person.
    """
    import pyspark.sql.functions as F

    person = F.col(quoted(name))
    number = F.xxhash64(F.lit(seed), person)
    missing = F.sum((person.isNull() | (F.trim(person.cast("string")) == "")).cast("long"))
    with spark_failures("count the people"):
        people, numbers, lacking = frame.agg(
            F.count_distinct(person), F.count_distinct(number), missing
        ).collect()[0]
    if people != numbers:
        raise InputError("Two people have one number, by an unlikely chance. Choose another seed.")
    refuse_missing_persons(name, lacking)
    if people == 1:
        raise InputError(
            f"Column {name!r} says whose record it is, and all records are of one person. Name the column "
            "that tells people apart."
        )
    return frame.withColumn(PERSON, number), people


def people_of_table(
    frame: Any, sensitive: Mapping[str, SensitiveAttribute], models: Sequence[Model], n_people: int
) -> PeopleElsewhere:
    """The people of a whole table, counted exactly where its records are."""
    columns = {name: counted_values(s) for name, s in sensitive.items()}
    contexts = {name: s.context for name, s in sensitive.items()}
    asked = [PeopleView(name, np.arange(s.n_values)) for name, s in sensitive.items()]
    views = [*asked, *views_of(models, contexts)]

    def cells(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            people, person = np.unique(batch.column(PERSON).to_numpy(), return_inverse=True)
            nowhere = np.zeros(batch.num_rows, dtype=np.int64)
            codes = {name: column.codes_of(batch.column(name)) for name, column in columns.items()}
            for place, view in enumerate(views):
                of_view = codes[view.attribute] if view.attribute else None
                yield cells_batch(place, view.cells(nowhere, person, of_view, 1), people)

    with spark_failures("count the people of the table"):
        records = frame.select(PERSON, *map(quoted, columns)).mapInArrow(cells, PERSON_CELLS)
        found = tallied(records, views, 1)
    spread = {}  # how often each value occurs in the one class there is
    for name, tally in zip(sensitive, found):
        counts = tally.spread()
        overall = np.zeros(counts.n_values, dtype=counts.count.dtype)
        overall[counts.value_of] = counts.count
        spread[name] = overall if int(overall.sum()) <= INT64_MAX else overall.astype(object)
    whole = counts_of_tallies(models, found[len(asked) :])
    return PeopleElsewhere(n_people, dict(zip(models, whole)), spread)


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
        return [*self.untouched, *(n for n, how in self.request.treatments.items() if how == "pseudonym")]

    @property
    def published_names(self) -> list[str]:
        """The published columns, in the order of the table."""
        dropped = set(self.roles.dropped(self.request.treatments))
        return [name for name in self.dataset.names if name not in dropped]


def prepare_on_spark(table: SparkTable, request: Statement) -> SparkPrepared:
    """Prepare a table on a cluster; what a cluster cannot do is refused at once."""
    refuse_on_spark(request)
    plain = prepare(table, request)
    found = SparkPrepared(**{field.name: getattr(plain, field.name) for field in fields(plain)})
    frame, person = table.records, plain.roles.only("person")
    if person is not None:
        frame, n_people = with_people(frame, person, request.seed)
        if n_people < table.n_records:
            units = people_of_table(frame, plain.sensitive, request.table_models, n_people)
            sensitive = {name: replace(s, units=units) for name, s in plain.sensitive.items()}
            found = replace(found, person=person, sensitive=sensitive, units=units)
    return replace(found, frame=_with_pseudonyms(frame, request, table.schema))


def refuse_on_spark(request: Statement) -> None:
    """Refuse what the Spark engine does not do, with what to do instead. Best called before long work."""
    if request.roles.having("items") or request.items:
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
    if request.events:
        yield "a table of events beside that of people"
    if request.linked or request.roles.only("household") is not None:
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


def _with_pseudonyms(frame: Any, request: Statement, schema: pa.Schema) -> Any:
    """The records with pseudonyms in the place of identifiers; workers get the key to make them."""
    from pyspark.sql.types import StringType, StructField, StructType

    joins = {n: request.joins.get(n) for n, how in request.treatments.items() if how == "pseudonym"}
    key = request.key
    if not joins:
        return frame
    for name in joins:
        pseudonyms(code_column(name, pa.array([], pa.string())), key)  # refused without a key
        kind = schema.field(name).type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)):
            raise UnsupportedError(
                f"The Spark engine makes pseudonyms of texts and whole numbers, and {name!r} is {kind}. Cast "
                "it first, or use engine: local."
            )
    kinds = [
        StructField(field.name, StringType() if field.name in joins else field.dataType)
        for field in frame.schema.fields
    ]

    def replaced(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = dict(zip(batch.schema.names, batch.columns))
            for name, join in joins.items():
                made = pseudonyms(code_column(name, columns[name]), key, join=join)
                columns[name] = made.cast(pa.string())
            yield pa.RecordBatch.from_pydict(columns)

    with spark_failures("make pseudonyms"):
        return frame.mapInArrow(replaced, StructType(kinds))
