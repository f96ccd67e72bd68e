"""People with several records on a cluster: what can be promised to them, and who chooses the algorithm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.algorithms import ALGORITHMS, Run
from kohort.algorithms.mondrian.region_people import PeopleView, counts_of_tallies, views_of
from kohort.algorithms.uniting.counting_people import kept_by_whole_table
from kohort.engines.spark.coding import PERSON, counted_values
from kohort.engines.spark.failures import spark_failures
from kohort.engines.spark.people import PERSON_CELLS, cells_batch, tallied
from kohort.engines.spark.values import quoted
from kohort.errors import UnsupportedError
from kohort.job.choose import Choice, choose
from kohort.problem.people_elsewhere import PeopleElsewhere
from kohort.problem.problem import Problem
from kohort.problem.promises import ClassCounts, Model
from kohort.problem.promises.exact import INT64_MAX
from kohort.problem.sensitive import SensitiveAttribute
from kohort.recoding.groups import Groups
from kohort.recoding.recoding import Recoding
from kohort.statement import Statement


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


@dataclass(frozen=True)
class _ChosenThere:
    """The algorithm that is chosen where the records are, as one machine would choose it."""

    request: Statement

    def refuse(self, problem: Problem) -> None:
        """Nothing is known yet."""

    def solve(self, problem: Problem, run: Run) -> Recoding:
        return choose(problem, self.request).solver.solve(problem, run)


def counting_people(choice: Choice, problem: Problem, request: Statement, largest: int) -> Choice:
    """The choice for a table in which people have several records.

    largest  how many records a worker solves at a time

    Mondrian starts from the whole table as one class, and cuts it while people keep every promise. A promise
    that the whole table breaks, and any other algorithm, needs all records in one region: there groups are
    united until they keep it, and it may be any two of them. Where one region is enough, so are groups that
    are published alike.
    """
    if not issubclass(ALGORITHMS[choice.name].recoding, Groups):
        raise UnsupportedError(
            f"Where people have several records, the Spark engine does not run {choice.name}. Choose "
            "mondrian, or engine: local."
        )
    broken = [m.name for m in problem.models if m not in kept_by_whole_table(problem).models]
    united = ALGORITHMS[choice.name].people != "counts" or not problem.all_survive_unions
    weight = {"diversify": {"w": request.diversify_weight}} if united else {}
    choice = replace(choice, parameters=choice.parameters | weight)
    in_regions = problem.n_records > largest
    if choice.name == "mondrian" and not broken and (in_regions or problem.all_survive_unions):
        return choice
    if in_regions:
        what = f"the algorithm {choice.name}"
        if choice.name == "mondrian":
            what = f"the promise {broken[0]}, which the whole table as one class breaks,"
        raise UnsupportedError(
            f"Where people have several records, {what} needs all {problem.n_records:,} records in one "
            f"region, and a region has up to {largest:,}. Raise records_per_region if a worker's memory "
            "allows that, or use engine: local."
        )
    there = replace(request, algorithm=choice.name) if request.algorithm == "auto" else request
    return replace(choice, solver=_ChosenThere(there))
