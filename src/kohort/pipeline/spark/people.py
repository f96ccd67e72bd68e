"""People with several records on a cluster, counted exactly: who has what is dealt out by person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.algorithms.mondrian.region_records import PeopleView, counts_of_tallies, views_of
from kohort.errors import InputError, counted
from kohort.pipeline.spark.coding import PERSON, counted_values
from kohort.problem.people_elsewhere import PeopleElsewhere
from kohort.problem.promises import ClassCounts, Model, PeopleTally, PersonCells
from kohort.problem.promises.exact import INT64_MAX
from kohort.problem.sensitive import SensitiveAttribute
from kohort.tables.spark import quoted
from kohort.tables.spark_session import spark_failures

PERSON_CELLS = "view long, class long, person long, value long, n long"


def numbers_batch(**columns: np.ndarray) -> pa.RecordBatch:
    """Whole numbers as Spark takes them."""
    return pa.RecordBatch.from_pydict({n: pa.array(found.astype(np.int64)) for n, found in columns.items()})


def cells_batch(view: int, cells: PersonCells, people: np.ndarray) -> pa.RecordBatch:
    """What people have in some records, as Spark takes it; `people` are those that the cells number."""
    found = {"view": np.full(len(cells.records), view), "class": cells.class_of}
    person, value = people[cells.person_of], cells.value_of
    return numbers_batch(**found, person=person, value=value, n=cells.records)


def tallied(cells: Any, views: Sequence[PeopleView], n_classes: int) -> list[PeopleTally]:
    """The people of all classes by value, for each view, given a dataframe of what they have.

    All that a person has is brought to one place. What comes to the driver is a row for each view, class,
    value and number of records that somebody has: it does not grow with the number of people.
    """
    import pyspark.sql.functions as F
    from pyspark.sql import Window

    whose = ["view", "class", "person"]
    of_values = cells.repartition(*whose).groupBy(*whose, "value").agg(F.sum("n").alias("n"))
    total = F.sum("n").over(Window.partitionBy(*whose)).alias("total")
    kinds = of_values.select("view", "class", "value", "n", total).groupBy("view", "class", "value", "total")
    found = kinds.agg(F.count("*").alias("people"), F.sum("n").alias("records")).toArrow()
    order = [(name, "ascending") for name in ("view", "class", "value", "total")]
    found = found.sort_by(order)
    view = found.column("view").to_numpy()
    names = ("class", "value", "total", "people", "records")
    columns = np.array([found.column(name).to_numpy() for name in names])
    tallies = []
    for place, asked in enumerate(views):
        class_of, value_of, of_person, people, records = columns[:, view == place]
        tallies.append(PeopleTally(class_of, value_of, of_person, people, records, n_classes, asked.n_values))
    return tallies


def with_people(frame: Any, name: str, seed: int) -> tuple[Any, int]:
    """The records with a number for the person of each, in PERSON, and how many people there are.

    name  the column that says whose record each is: refused where values are missing, or all are one person
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
    if lacking:
        raise InputError(
            f"Column {name!r} says whose record it is, and {counted(lacking, 'record has', 'records have')} "
            "no value there. Fill them in, or leave these records out."
        )
    if people == 1:
        raise InputError(
            f"Column {name!r} says whose record it is, and all records are of one person. Name the column "
            "that tells people apart."
        )
    return frame.withColumn(PERSON, number), people


def people_of_table(
    frame: Any, sensitive: Mapping[str, SensitiveAttribute], models: Sequence[Model], n_people: int
) -> tuple[dict[str, SensitiveAttribute], PeopleElsewhere]:
    """The sensitive columns and the people of a whole table, counted exactly where its records are.

    The columns get the numbers of people that models compare with: everybody spread evenly over their
    records.
    """
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
                of_view = None if view.attribute is None else codes[view.attribute]
                yield cells_batch(place, view.cells(nowhere, person, of_view, 1), people)

    with spark_failures("count the people of the table"):
        records = frame.select(PERSON, *map(quoted, columns)).mapInArrow(cells, PERSON_CELLS)
        found = tallied(records, views, 1)
    spread = {
        name: replace(s, overall=_overall(tally.spread()))
        for (name, s), tally in zip(sensitive.items(), found)
    }
    whole = counts_of_tallies(models, found[len(asked) :])
    return spread, PeopleElsewhere(n_people, dict(zip(models, whole)))


def _overall(spread: ClassCounts) -> np.ndarray:
    """How often each value occurs in the one class there is."""
    overall = np.zeros(spread.n_values, dtype=spread.count.dtype)
    overall[spread.value_of] = spread.count
    return overall if int(overall.sum()) <= INT64_MAX else overall.astype(object)
