"""The work of a cluster on a region: it is solved as a problem of its own, and published where it is."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.algorithms import Run, Solver
from kohort.algorithms.mondrian.region_records import Regions
from kohort.job.publish import labelled
from kohort.kernels.compile_time import compile_clock
from kohort.pipeline.spark.arranging import LABELS, dealt, dealt_by_class, gathered
from kohort.pipeline.spark.coding import ORIGINAL, PERSON, counted_values
from kohort.problem.encoding.coded import Coded
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups
from kohort.tables.spark_cells import joined_tables, one_thread, sorted_by, unpacked

_REGION = "_kohort_region"
Batches = Iterator[pa.RecordBatch]


def units_of(regions: Regions, largest: int) -> np.ndarray:
    """Per node of the tree the unit that is dealt out to a worker: small regions are dealt out together.

    largest  records of a unit, at most, unless it is one region
    """
    unit = np.zeros(regions.tree.n_nodes, dtype=np.int64)
    n_units, room = 0, 0
    for node, size in sorted(regions.sizes.items()):
        if size > room:
            n_units, room = n_units + 1, largest
        unit[node], room = n_units - 1, room - size
    return unit


@dataclass(frozen=True, eq=False)
class RegionJob:
    """What workers need to know to solve and publish a region.

    problem    of the whole table
    units      per region the unit that is dealt out to a worker
    unit_keys  per unit the number by which Spark deals it out
    keys       per part of published records the number by which Spark deals it out
    seconds    the time limit of a region
    """

    problem: Problem
    solver: Solver
    regions: Regions
    units: np.ndarray
    unit_keys: Sequence[int]
    keys: Sequence[int]
    null_is_star: bool
    has_people: bool
    seconds: float | None = None

    def deal(self, batches: Batches) -> Batches:
        """The records of blocks, dealt out by unit."""
        one_thread()
        for batch in batches:
            for block, beside in zip(batch.column("block"), batch.column("beside")):
                yield self._dealt(pickle.loads(block.as_buffer()), unpacked(beside.as_buffer()))

    def _dealt(self, block: Any, beside: pa.Table) -> pa.RecordBatch:
        node = block.nodes(self.regions.tree)
        table = beside.append_column(_REGION, pa.array(node))
        return dealt(table, self.units[node], self.unit_keys, block.first)

    def solve(self, batches: Batches) -> Batches:
        """The published records of the units of a partition, which there is one of, dealt out by class."""
        one_thread()
        for _, table in gathered(batches):
            solved = [(self._labels(node, region), region) for node, region in _by_region(table)]
            yield dealt_by_class(*_joined_regions(solved), self.keys)

    def _labels(self, node: int, table: pa.Table) -> dict[str, pa.DictionaryArray]:
        problem = region_problem(self.problem, table, has_people=self.has_people)
        if node in self.regions.finished:
            return labels_of(problem, Groups(np.zeros(len(table), dtype=np.int64)), self.null_is_star)
        with compile_clock() as compiling:
            run = Run(time_limit=self.seconds, excluded=lambda: compiling.seconds)
            groups = self.solver.solve(problem, run)
        assert isinstance(groups, Groups)
        return labels_of(problem, groups, self.null_is_star)


def _by_region(table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """The records of each region of a unit, in order, without the column that says which it is."""
    place = table.column_names.index(_REGION)
    node = table.column(place).to_numpy()
    table = table.remove_column(place)
    if (node == node[0]).all():
        yield int(node[0]), table
        return
    order, start = sorted_by(node, int(node.max()) + 1)
    ordered = table.take(pa.array(order)).combine_chunks()
    for one in np.flatnonzero(np.diff(start)).tolist():
        yield one, ordered.slice(start[one], start[one + 1] - start[one]).combine_chunks()


def _joined_regions(
    solved: list[tuple[dict[str, pa.DictionaryArray], pa.Table]],
) -> tuple[dict[str, pa.DictionaryArray], pa.Table]:
    """The labels of several regions together, and their records."""
    if len(solved) == 1:
        return solved[0]
    kinds = pa.schema([(name, LABELS) for name in solved[0][0]])  # codes of one type
    labels = joined_tables([pa.table(found).cast(kinds) for found, _ in solved])
    return {name: labels.column(name).chunk(0) for name in labels.column_names}, joined_tables(
        [records for _, records in solved]
    )


def labels_of(problem: Problem, groups: Groups, null_is_star: bool) -> dict[str, pa.DictionaryArray]:
    """The published values of a region, by quasi-identifier."""
    return {a.name: labelled(groups.apply(a), groups.withheld, null_is_star) for a in problem.attributes}


def region_problem(whole: Problem, table: pa.Table, *, has_people: bool) -> Problem:
    """The problem of a region: its records, with the costs and the context of the whole table.

    table  the places of the values of its records, as `Coder.beside` gives them
    """
    attributes = tuple(
        replace(a, column=counted_values(a).part_at(table.column(f"{ORIGINAL}{n}").to_numpy()))
        for n, a in enumerate(whole.attributes)
    )
    persons = None
    if has_people:
        numbers = table.column(PERSON).to_numpy()
        persons = np.unique(numbers, return_inverse=True)[1]
    asked = {model.attribute for model in whole.models}
    sensitive = {
        name: replace(s, column=counted_values(s).part_at(table.column(name).to_numpy()), persons=persons)
        for name, s in whole.sensitive.items()
        if name in asked
    }
    problem = replace(
        whole,
        attributes=attributes,
        sensitive=sensitive,
        persons=persons,
        elsewhere=None,
        suppression=0.0,
    )
    coded = Coded(attributes, whole.cost)
    vars(coded)["tables"] = whole.coded.tables  # they count the values of the whole table
    vars(problem)["coded"] = coded
    return problem
