"""People with several records on a cluster, counted exactly: who has what is dealt out by person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.algorithms.mondrian.region_people import PeopleView
from kohort.problem.promises import PeopleTally, PersonCells

PERSON_CELLS = "view int, class long, person long, value long, n long"


def cells_batch(view: int, cells: PersonCells, people: np.ndarray) -> pa.RecordBatch:
    """What people have in some records, as Spark takes it; `people` are those that the cells number."""
    return pa.RecordBatch.from_pydict(
        {
            "view": pa.array(np.full(len(cells.records), view, dtype=np.int32)),
            "class": pa.array(cells.class_of.astype(np.int64)),
            "person": pa.array(people[cells.person_of].astype(np.int64)),
            "value": pa.array(cells.value_of.astype(np.int64)),
            "n": pa.array(cells.records.astype(np.int64)),
        }
    )


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
