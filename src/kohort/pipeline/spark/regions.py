"""The work of a cluster on a region: it is solved as a problem of its own, and published where it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.algorithms import Run, Solver
from kohort.algorithms.mondrian.region_tree import Regions
from kohort.data.counted_column import CountedColumn
from kohort.engines.spark.coding import PERSON, Coder
from kohort.engines.spark.source import ROW
from kohort.engines.spark.workers import larger_batches, one_thread
from kohort.kernels.compile_time import compile_clock
from kohort.pipeline.identifiers import MASK
from kohort.pipeline.publish import labelled
from kohort.problem.encoding.coded import Coded
from kohort.problem.encoding.tables import leaf_numbers
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

__all__ = ["ORIGINAL", "REGION", "RegionJob", "label_of_group", "masked_column", "region_problem"]

REGION = "_kohort_region"
ORIGINAL = "_kohort_original_"
_CHUNKS = 1 << 24


@dataclass(frozen=True, eq=False)
class RegionJob:
    """What workers need to know to solve and publish a region.

    problem    of the whole table
    labels     per region that is one group, the published value of each quasi-identifier
    names      the published columns
    masked     those that hide what they held
    largest    records of a chunk, where a region is one group
    seconds    the time limit of a region
    """

    problem: Problem
    solver: Solver
    regions: Regions
    coder: Coder
    labels: Mapping[int, Mapping[str, str | None]]
    names: Sequence[str]
    masked: Sequence[str]
    null_is_star: bool
    has_people: bool
    largest: int
    seconds: float | None = None

    def assign(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Records with their regions; one that is one group may be large, and is dealt out in chunks."""
        one_thread()
        for batch in larger_batches(batches):
            number = batch.column(ROW).to_numpy()
            node = self.regions.tree.nodes_of(self.coder.rows(batch), number).astype(np.int64)
            whole = np.isin(node, list(self.labels))
            chunk = np.where(whole, number // self.largest % (_CHUNKS - 1) + 1, 0)
            region = pa.array(node * _CHUNKS + chunk)
            yield pa.RecordBatch.from_arrays([*batch.columns, region], names=[*batch.schema.names, REGION])

    def solve(self, table: pa.Table) -> pa.Table:
        """The published records of a region, with their originals beside them."""
        one_thread()
        node = table.column(REGION)[0].as_py() // _CHUNKS
        table = table.take(pa.array(np.argsort(table.column(ROW).to_numpy(), kind="stable")))
        columns = self._labels(node, table)
        columns |= {name: masked_column(len(table)) for name in self.masked}
        shown = [columns[name] if name in columns else table.column(name) for name in self.names]
        beside = [table.column(attribute.name) for attribute in self.problem.attributes]
        hidden = [f"{ORIGINAL}{number}" for number in range(len(beside))]
        beside, hidden = [*beside, table.column(ROW)], [*hidden, ROW]
        if self.has_people:
            beside, hidden = [*beside, table.column(PERSON)], [*hidden, PERSON]
        return pa.Table.from_arrays([*shown, *beside], names=[*self.names, *hidden])

    def _labels(self, node: int, table: pa.Table) -> dict[str, Any]:
        if node in self.labels:
            zeros = _zeros(len(table))
            return {n: pa.array([label], pa.string()).take(zeros) for n, label in self.labels[node].items()}
        problem = region_problem(self.problem, table, has_people=self.has_people)
        with compile_clock() as compiling:
            run = Run(time_limit=self.seconds, excluded=lambda: compiling.seconds)
            recoding = self.solver.solve(problem, run)
        return {
            a.name: labelled(recoding.apply(a), recoding.withheld, self.null_is_star).cast(pa.string())
            for a in problem.attributes
        }


def masked_column(n: int) -> pa.Array:
    """The same mask for every record."""
    return pa.array([MASK]).take(_zeros(n))


def _zeros(n: int) -> pa.Array:
    return pa.array(np.zeros(n, dtype=np.int32))


def region_problem(whole: Problem, table: pa.Table, *, has_people: bool) -> Problem:
    """The problem of a region: its records, with the costs and the context of the whole table."""
    attributes = tuple(
        replace(attribute, column=_counted(attribute.column).part(table.column(attribute.name)))
        for attribute in whole.attributes
    )
    persons = None
    if has_people:
        numbers = table.column(PERSON).to_numpy()
        persons = np.unique(numbers, return_inverse=True)[1]
        persons = None if int(persons.max()) + 1 == len(persons) else persons
    asked = {model.attribute for model in whole.models}
    sensitive = {
        name: replace(s, column=_counted(s.column).part(table.column(name)), persons=persons)
        for name, s in whole.sensitive.items()
        if name in asked
    }
    problem = replace(whole, attributes=attributes, sensitive=sensitive, persons=persons, suppression=0.0)
    coded = Coded(attributes, whole.cost)
    vars(coded)["tables"] = whole.coded.tables  # they count the values of the whole table
    vars(problem)["coded"] = coded
    return problem


def _counted(column: Any) -> CountedColumn:
    assert isinstance(column, CountedColumn)
    return column


def label_of_group(
    problem: Problem, present: Sequence[np.ndarray], *, null_is_star: bool
) -> dict[str, str | None]:
    """The published value of each quasi-identifier of a group.

    present  per quasi-identifier and leaf, as the tables number them, whether some record has it
    """
    labels: dict[str, str | None] = {}
    for attribute, leaves in zip(problem.attributes, present):
        column = _counted(attribute.column)
        codes = np.flatnonzero(leaves[leaf_numbers(attribute)])
        shown = replace(attribute, column=replace(column, codes=codes))
        groups = Groups(np.zeros(len(codes), dtype=np.int64))
        found = labelled(groups.apply(shown), groups.withheld, null_is_star)
        labels[attribute.name] = found[0].as_py()
    return labels
