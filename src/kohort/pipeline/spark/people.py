"""People with several records on a cluster: what can be promised to them, and who chooses the algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import lcm
from typing import Any

import numpy as np

from kohort.algorithms import ALGORITHMS, Run
from kohort.data.counted_column import CountedColumn
from kohort.engines.spark.coding import PERSON
from kohort.engines.spark.failures import spark_failures
from kohort.engines.spark.values import quoted
from kohort.errors import InfeasibleError, UnsupportedError
from kohort.pipeline.choose import Choice, choose
from kohort.pipeline.request import Request
from kohort.problem.models.exact import INT64_MAX
from kohort.problem.problem import Problem
from kohort.problem.sensitive import SensitiveAttribute
from kohort.recoding.groups import Groups
from kohort.recoding.recoding import Recoding

__all__ = ["counting_people", "refuse_for_people", "spread_over_people"]


def refuse_for_people(problem: Problem, n_people: int) -> None:
    """Refuse what is impossible, or not supported on a cluster, where people have several records."""
    if problem.k > n_people:
        raise InfeasibleError(
            f"k = {problem.k} is impossible: the {problem.n_records} records of the table are of "
            f"{n_people} people, so k can be at most {n_people}."
        )
    for model in problem.models:
        if model.compares_with_whole_table:
            raise UnsupportedError(
                f"Where people have several records, the Spark engine does not support {model.name}, which "
                "compares classes with the whole table. Leave it out, or use engine: local."
            )


def spread_over_people(
    frame: Any, sensitive: Mapping[str, SensitiveAttribute]
) -> dict[str, SensitiveAttribute]:
    """Sensitive columns with the numbers of people that models compare with: counted exactly.

    Everybody is spread evenly over their records. People with the same number of records are added up first,
    so that what comes to the driver does not grow with their number.
    """
    return {name: replace(s, overall=_overall(frame, s.column)) for name, s in sensitive.items()}


def _overall(frame: Any, column: Any) -> np.ndarray:
    """How often each value occurs, in units of a common multiple."""
    import pyspark.sql.functions as F
    from pyspark.sql import Window

    assert isinstance(column, CountedColumn)
    value = F.col(quoted(column.name))
    with spark_failures(f"count the people of {column.name!r}"):
        cells = frame.groupBy(PERSON, value.alias("value")).count()
        total = F.sum("count").over(Window.partitionBy(PERSON))
        sums = cells.select("value", "count", total.alias("total")).groupBy("value", "total")
        found = sums.agg(F.sum("count").alias("n")).toArrow()
    codes, totals = column.codes_of(found.column("value")), found.column("total").to_pylist()
    unit = lcm(*totals)
    overall = np.zeros(len(column.texts), dtype=object)
    for code, n, of in zip(codes.tolist(), found.column("n").to_pylist(), totals):
        overall[code] += n * (unit // of)
    return overall.astype(np.int64) if int(overall.sum()) <= INT64_MAX else overall


@dataclass(frozen=True)
class _ChosenThere:
    """The algorithm that is chosen where the records are, as one machine would choose it."""

    request: Request

    def refuse(self, problem: Problem) -> None:
        """Nothing is known yet."""

    def solve(self, problem: Problem, run: Run) -> Recoding:
        return choose(problem, self.request).solver.solve(problem, run)


def counting_people(choice: Choice, problem: Problem, request: Request, largest: int) -> Choice:
    """The choice for a table in which people have several records.

    largest  how many records a worker solves at a time

    A table is cut by rules that any two classes keep together if each of them does. Other promises, and other
    algorithms than mondrian, need all records in one region.
    """
    if not issubclass(ALGORITHMS[choice.name].recoding, Groups):
        raise UnsupportedError(
            f"Where people have several records, the Spark engine does not run {choice.name}. Choose "
            "mondrian, or engine: local."
        )
    kept = all(model.survives_unions_of_people for model in problem.models)
    if kept and choice.name == "mondrian":
        return choice
    if problem.n_records > largest:
        broken = [model.name for model in problem.models if not model.survives_unions_of_people]
        what = f"the promise {broken[0]}" if broken else f"the algorithm {choice.name}"
        raise UnsupportedError(
            f"Where people have several records, {what} needs all {problem.n_records:,} records in one "
            f"region, and a region has up to {largest:,}. Raise records_per_region if a worker's memory "
            "allows that, or use engine: local."
        )
    weight = {"diversify": {"w": request.diversify_weight}}
    there = replace(request, algorithm=choice.name) if request.algorithm == "auto" else request
    parameters = choice.parameters if kept else choice.parameters | weight
    return replace(choice, solver=_ChosenThere(there), parameters=parameters)
